//! Splits PowerShell text into the commands it runs.
//!
//! Statements are commands or expressions. An expression does not name a program, but its brackets
//! contain statements. Nothing is an error, because the text may be cut off.

use super::{MAX_DEPTH, SimpleCommand, head, readable, split};

/// Words at the beginning of a statement that are not commands. A statement follows them.
const KEYWORDS: [&str; 27] = [
    "if",
    "elseif",
    "else",
    "foreach",
    "for",
    "while",
    "do",
    "until",
    "switch",
    "try",
    "catch",
    "finally",
    "return",
    "throw",
    "exit",
    "break",
    "continue",
    "begin",
    "process",
    "end",
    "trap",
    "default",
    "in",
    "data",
    "dynamicparam",
    "clean",
    "parallel",
];

/// Words that begin a definition; its name follows, up to a bracket.
const DEFINITIONS: [&str; 7] =
    ["function", "filter", "param", "class", "enum", "using", "workflow"];

/// The depth to which brackets are followed.
const DEEPEST: usize = 64;

/// Splits PowerShell text into the commands it runs, in order of appearance.
pub fn split_powershell(text: &str) -> Vec<SimpleCommand> {
    split_at(text, 0)
}

fn split_at(text: &str, depth: usize) -> Vec<SimpleCommand> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let text = readable(head(text));
    let mut scanner = Scanner { text: &text, at: 0, level: 0, depth, commands: Vec::new() };
    while scanner.at < text.len() {
        scanner.statements();
        // A closing bracket that was never opened.
        scanner.at += 1;
    }
    scanner.commands
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The number of open brackets.
    level: usize,
    /// The number of scripts that contain this one.
    depth: usize,
    commands: Vec<SimpleCommand>,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Reads statements up to a closing bracket or the end.
    fn statements(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b')' | b'}' => return,
                b';' | b'|' | b'\n' => self.at += 1,
                b'&' if self.rest().starts_with("&&") => self.at += 2,
                _ => self.statement(),
            }
            self.blank();
        }
    }

    /// Skips blanks, continued lines and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let length = match rest.as_bytes() {
                [b' ' | b'\t', ..] => 1,
                [b'`', b'\n', ..] => 2,
                [b'<', b'#', ..] => rest.find("#>").map_or(rest.len(), |end| end + 2),
                [b'#', ..] => rest.find('\n').unwrap_or(rest.len()),
                _ => return,
            };
            self.at += length;
        }
    }

    fn is_end(&self) -> bool {
        self.peek().is_none_or(|byte| matches!(byte, b')' | b'}' | b';' | b'|' | b'\n'))
            || self.rest().starts_with("&&")
    }

    /// Reads one statement of a pipeline.
    fn statement(&mut self) {
        self.blank();
        if self.is_end() {
            return;
        }
        let first = self.commands.len();
        let is_called = self.is_call_operator();
        if is_called {
            self.at += 1;
            self.blank();
        }
        // Inspected before it is read, because reading the contents of brackets twice would double
        // with each level.
        let begins = self.rest().split([' ', '\t', '\n', ';', '|']).next().unwrap_or_default();
        let is_bracket = begins.starts_with(['(', '{']);
        if is_bracket || (!is_called && is_expression(begins)) {
            return self.expression();
        }
        let keyword = begins.split(['(', '{']).next().unwrap_or_default();
        let lower = keyword.to_lowercase();
        if !is_called && DEFINITIONS.contains(&lower.as_str()) {
            self.at += keyword.len();
            return self.definition(&lower);
        }
        if !is_called && KEYWORDS.contains(&lower.as_str()) {
            self.at += keyword.len();
            return;
        }
        let name = self.word();
        self.blank();
        // The key of a table, followed by a statement.
        if !is_called && self.rest().starts_with('=') {
            self.at += 1;
            return;
        }
        let mut words = vec![name];
        loop {
            self.blank();
            if self.is_end() {
                break;
            }
            let word = self.word();
            if word.is_empty() {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            } else if let Some(needs_target) = redirection(word) {
                self.blank();
                if needs_target && !self.is_end() {
                    self.word();
                }
            } else {
                words.push(word);
            }
        }
        let inner = self.commands.split_off(first);
        self.push(&words);
        self.commands.extend(inner);
    }

    /// Returns whether `& program` or `. script` begins here, at the beginning of a statement.
    fn is_call_operator(&self) -> bool {
        let rest = self.rest();
        let is_dot = rest.starts_with(". ");
        is_dot || (rest.starts_with('&') && !rest.starts_with("&&"))
    }

    fn push(&mut self, words: &[&str]) {
        let program = program(words[0]);
        if program.is_empty() {
            return;
        }
        if let Some(script) = script(&program, words) {
            let inner = match program.to_lowercase().as_str() {
                "bash" | "sh" | "zsh" => split(&script),
                _ => split_at(&script, self.depth + 1),
            };
            if !inner.is_empty() {
                return self.commands.extend(inner);
            }
        }
        let text = words.join(" ").replace("`\n", "");
        self.commands.push(SimpleCommand { text, program });
    }

    /// Skips an expression; assigned values and the contents of brackets are statements.
    fn expression(&mut self) {
        while !self.is_end() {
            let from = self.at;
            let word = self.word();
            self.blank();
            if self.at == from {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
            let is_assignment =
                word.ends_with('=') && !word.starts_with(['"', '\'']) && !word.ends_with("==");
            if is_assignment || word.eq_ignore_ascii_case("in") {
                return;
            }
        }
    }

    /// Skips the name and the parameters of a definition.
    fn definition(&mut self, keyword: &str) {
        while !self.is_end() && self.peek() != Some(b'{') {
            if self.peek() == Some(b'(') {
                // Parameters: types, attributes and defaults.
                let known = self.commands.len();
                self.bracket();
                self.commands.truncate(known);
            } else {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
        }
        if matches!(keyword, "class" | "enum") && self.peek() == Some(b'{') {
            let known = self.commands.len();
            self.bracket();
            self.commands.truncate(known);
        }
    }

    /// Reads a word, with the strings and brackets in it. In an expression it ends after `=`.
    fn word(&mut self) -> &'a str {
        let from = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'|' | b')' | b'}' => break,
                b'&' if self.rest().starts_with("&&") => break,
                b'`' if self.rest().starts_with("`\n") => break,
                b'`' => self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8),
                b'@' if self.rest().starts_with("@'\n") => self.here("\n'@"),
                b'@' if self.rest().starts_with("@\"\n") => self.here("\n\"@"),
                b'\'' => self.single(),
                b'"' => self.double(),
                b'(' | b'{' => self.bracket(),
                b'=' if is_variable(&self.text[from..self.at]) => {
                    self.at += 1;
                    break;
                }
                _ => self.at += self.rest().chars().next().map_or(1, char::len_utf8),
            }
        }
        self.at = self.at.min(self.text.len());
        &self.text[from..self.at]
    }

    fn here(&mut self, end: &str) {
        self.at += self.rest().find(end).map_or(self.rest().len(), |at| at + end.len());
    }

    fn single(&mut self) {
        let end = self.rest()[1..].find('\'');
        self.at += end.map_or(self.rest().len(), |end| end + 2);
    }

    fn double(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'`' => self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8),
                b'$' if self.rest().starts_with("$(") => {
                    self.at += 1;
                    self.bracket();
                }
                _ => self.at += self.rest().chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    /// Reads the statements in a bracket.
    fn bracket(&mut self) {
        self.at += 1;
        if self.level >= DEEPEST {
            return;
        }
        self.level += 1;
        self.statements();
        self.level -= 1;
        self.at = (self.at + 1).min(self.text.len());
    }
}

/// Returns whether a statement that begins with this word is an expression.
fn is_expression(word: &str) -> bool {
    let is_number = || {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_unit = matches!(digits.to_lowercase().as_str(), "" | "kb" | "mb" | "gb" | "l" | "d");
        is_unit || digits.starts_with([',', ')', '*', '/', '+', '-'])
    };
    match word.as_bytes().first() {
        Some(b'0'..=b'9') => is_number(),
        Some(first) => br#"$({[@"'!+-,="#.contains(first),
        None => true,
    }
}

/// Returns whether `=` after this text assigns: a variable, its parts, or an operator precedes it.
fn is_variable(text: &str) -> bool {
    text.is_empty()
        || text.starts_with(['$', '['])
        || matches!(text, "+" | "-" | "*" | "/" | "%" | "??")
}

/// Returns the name of a program without its folder and quotes.
fn program(word: &str) -> String {
    let plain: String = unquoted(word);
    match plain.as_str() {
        "%" => return "ForEach-Object".to_owned(),
        "?" => return "Where-Object".to_owned(),
        _ => {}
    }
    let name = plain.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    name.to_owned()
}

fn unquoted(word: &str) -> String {
    let inside = ['"', '\''].iter().find_map(|quote| {
        word.strip_prefix(*quote).map(|rest| (rest.strip_suffix(*quote).unwrap_or(rest), quote))
    });
    match inside {
        Some((inside, '\'')) => inside.replace("''", "'"),
        Some((inside, _)) => inside.replace("`\"", "\"").replace("\"\"", "\""),
        None => word.replace('`', ""),
    }
}

/// Returns the script that a shell is started with.
fn script(program: &str, words: &[&str]) -> Option<String> {
    let name = program.to_lowercase();
    let flags: &[&str] = match name.strip_suffix(".exe").unwrap_or(&name) {
        "powershell" | "pwsh" => &["-command", "-c"],
        "cmd" => &["/c", "/k"],
        "bash" | "sh" | "zsh" => &["-c", "-lc"],
        _ => return None,
    };
    let flag = words.iter().position(|word| flags.contains(&word.to_lowercase().as_str()))?;
    let rest = words.get(flag + 1..)?;
    Some(match rest {
        [one] => unquoted(one),
        many => many.join(" "),
    })
}

/// Returns whether the target of a redirection is the next word, or `None` if the word is not a
/// redirection.
fn redirection(word: &str) -> Option<bool> {
    let rest = word.strip_prefix(|c: char| c.is_ascii_digit() || c == '*').unwrap_or(word);
    let rest = rest.strip_prefix('>').or_else(|| rest.strip_prefix('<'))?;
    Some(rest.trim_start_matches('>').is_empty())
}
