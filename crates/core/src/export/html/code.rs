//! Marks comments, strings, numbers and keywords in code.
//!
//! It distinguishes families of languages, not languages: enough to read by, and never wrong about where
//! text begins and ends, because every character of the code is written once and escaped.

use std::borrow::Cow;

use crate::export::escape::html;

/// The longest code that is marked; more would make a page slow to read and to draw.
const LONGEST_CODE: usize = 64 * 1024;

/// The signs of a family of languages.
struct Family {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    keywords: &'static [&'static str],
}

const C_LIKE: [&str; 62] = [
    "abstract",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "default",
    "defer",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "let",
    "loop",
    "match",
    "mod",
    "mut",
    "new",
    "nil",
    "null",
    "package",
    "private",
    "pub",
    "public",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "undefined",
    "use",
    "var",
    "while",
];

const SCRIPTS: [&str; 44] = [
    "and", "as", "async", "await", "begin", "case", "class", "continue", "def", "del", "do",
    "done", "elif", "else", "end", "esac", "except", "exec", "export", "fi", "finally", "for",
    "from", "function", "global", "if", "import", "in", "is", "lambda", "local", "module", "not",
    "or", "pass", "raise", "return", "then", "try", "unless", "until", "while", "with", "yield",
];

const SQL: [&str; 30] = [
    "alter", "and", "as", "by", "create", "delete", "distinct", "drop", "from", "group", "having",
    "in", "index", "insert", "into", "is", "join", "left", "limit", "not", "null", "on", "or",
    "order", "select", "set", "table", "update", "values", "where",
];

const FAMILIES: [Family; 4] = [
    Family {
        names: &[
            "rust",
            "rs",
            "js",
            "javascript",
            "ts",
            "typescript",
            "jsx",
            "tsx",
            "mjs",
            "java",
            "kotlin",
            "kt",
            "swift",
            "go",
            "c",
            "h",
            "cpp",
            "cc",
            "c++",
            "hpp",
            "cs",
            "csharp",
            "scala",
            "dart",
            "php",
            "zig",
            "proto",
            "css",
            "scss",
            "json",
            "jsonc",
            "json5",
        ],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '`'],
        keywords: &C_LIKE,
    },
    Family {
        names: &[
            "py",
            "python",
            "sh",
            "bash",
            "zsh",
            "shell",
            "console",
            "fish",
            "ruby",
            "rb",
            "perl",
            "pl",
            "toml",
            "yaml",
            "yml",
            "ini",
            "conf",
            "make",
            "makefile",
            "dockerfile",
            "docker",
            "r",
            "elixir",
            "ex",
            "nix",
            "tcl",
            "powershell",
            "ps1",
        ],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        keywords: &SCRIPTS,
    },
    Family {
        names: &["sql", "sqlite", "postgres", "mysql", "plpgsql"],
        line_comments: &["--"],
        block_comment: Some(("/*", "*/")),
        quotes: &['\'', '"'],
        keywords: &SQL,
    },
    Family {
        names: &["lua", "haskell", "hs", "elm", "ada"],
        line_comments: &["--"],
        block_comment: None,
        quotes: &['"'],
        keywords: &SCRIPTS,
    },
];

/// Returns code as HTML, with its parts marked if the language is known.
pub(super) fn highlighted<'a>(code: &'a str, language: &str) -> Cow<'a, str> {
    let language = language.to_ascii_lowercase();
    let family = FAMILIES.iter().find(|family| family.names.contains(&language.as_str()));
    match family.filter(|_| code.len() <= LONGEST_CODE) {
        Some(family) => Cow::Owned(family.mark(code)),
        None => html(code),
    }
}

impl Family {
    fn mark(&self, code: &str) -> String {
        let mut out = String::with_capacity(code.len() * 3 / 2);
        let mut rest = code;
        let mut before = '\n';
        while let Some(first) = rest.chars().next() {
            let (length, class) = self.token(rest, first, before);
            let (token, after) = rest.split_at(length);
            match class {
                Some(class) => {
                    out.push_str("<span class=\"hl-");
                    out.push_str(class);
                    out.push_str("\">");
                    out.push_str(&html(token));
                    out.push_str("</span>");
                }
                None => out.push_str(&html(token)),
            }
            before = token.chars().next_back().unwrap_or(before);
            rest = after;
        }
        out
    }

    /// Returns the length of the next token, at least one character, and its class.
    fn token(&self, rest: &str, first: char, before: char) -> (usize, Option<&'static str>) {
        let line = rest.find('\n').unwrap_or(rest.len());
        // In a shell, `#` begins a comment only after a blank; in an address it does not.
        let may_comment = !self.line_comments.contains(&"#") || before.is_whitespace();
        if may_comment
            && self.line_comments.iter().any(|mark| rest.starts_with(mark))
            && !(before == ':' && first == '/')
        {
            return (line, Some("c"));
        }
        if let Some((open, close)) = self.block_comment.filter(|(open, _)| rest.starts_with(open)) {
            let end = rest[open.len()..].find(close).map(|at| open.len() + at + close.len());
            return (end.unwrap_or(rest.len()), Some("c"));
        }
        if self.quotes.contains(&first) {
            return (string(rest, first), Some("s"));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if is_word(first) {
            let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let class = if first.is_ascii_digit() {
                Some("n")
            } else if self.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(word)) {
                Some("k")
            } else {
                None
            };
            return (length, class);
        }
        let is_plain = |c: char| is_word(c) || self.quotes.contains(&c) || "/#-".contains(c);
        let length = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| is_plain(*c) || *c == '\n')
            .map_or(rest.len(), |(at, _)| at);
        (length, None)
    }
}

/// Returns the length of a string. One that does not end on its line was none, except between backticks.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_marked() {
        let rust = highlighted("let x = \"a\\\"b\"; // 1 < 2\n", "rust");
        assert_eq!(
            rust,
            "<span class=\"hl-k\">let</span> x = <span class=\"hl-s\">&quot;a\\&quot;b&quot;</span>; \
             <span class=\"hl-c\">// 1 &lt; 2</span>\n"
        );
        assert_eq!(
            highlighted("curl http://a/#b 7 # c", "sh"),
            "curl http://a/#b <span class=\"hl-n\">7</span> <span class=\"hl-c\"># c</span>"
        );
        assert_eq!(highlighted("if <x>", "unknown"), "if &lt;x&gt;");
        assert_eq!(
            highlighted("SELECT 1 -- one", "SQL"),
            "<span class=\"hl-k\">SELECT</span> <span class=\"hl-n\">1</span> <span class=\"hl-c\">-- one</span>"
        );
        assert_eq!(highlighted("/* never ends", "js"), "<span class=\"hl-c\">/* never ends</span>");
    }

    proptest! {
        #[test]
        fn no_character_is_lost_or_left_unescaped(
            code in "([a-z0-9 \"'`/*#<>&\\\\\n-]|\\PC){0,60}",
            language in prop::sample::select(vec!["rust", "sh", "sql", "lua", "none"]),
        ) {
            let marked = highlighted(&code, language);
            let bare = FAMILIES.iter().fold(marked.replace("</span>", ""), |text, _| text);
            let bare = ["k", "s", "c", "n"].iter().fold(bare, |text, class| text.replace(&format!("<span class=\"hl-{class}\">"), ""));
            prop_assert_eq!(bare, html(&code));
        }
    }
}
