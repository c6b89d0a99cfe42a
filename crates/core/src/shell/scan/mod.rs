//! Scans any text, including text that is cut off, broken, or for another shell.
//!
//! It handles quotes, substitutions, heredocs, operators and the reserved words, and treats
//! everything else as words; so nothing is an error. Every step advances in the text, and nesting
//! is only followed to [`MAX_DEPTH`](super::MAX_DEPTH).

mod lex;

use std::mem;
use std::ops::Range;

use super::word::{is_assignment, unquote};
use super::{SimpleCommand, push};

pub(super) fn split(text: &str, depth: usize) -> Vec<SimpleCommand> {
    Scanner::new(text, depth).list(false)
}

/// Returns the length of the expansion or substitution at the beginning of `text`.
pub(super) fn expansion_len(text: &str) -> usize {
    let mut scanner = Scanner { measuring: true, ..Scanner::new(text, 0) };
    scanner.piece();
    scanner.at.min(text.len())
}

/// Returns the script of a backtick substitution, which is given with its backticks.
fn backtick_script(text: &str) -> String {
    let text = text.strip_prefix('`').unwrap_or(text);
    let text = text.strip_suffix('`').unwrap_or(text);
    let mut script = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = chars.next_if(|next| char == '\\' && matches!(next, '`' | '\\' | '$'));
        script.push(escaped.unwrap_or(char));
    }
    script
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    end: usize,
    depth: usize,
    /// Whether only the end of something is needed, not the commands.
    measuring: bool,
    frame: Frame,
}

/// The state of the list of commands that is being read.
#[derive(Default)]
struct Frame {
    commands: Vec<SimpleCommand>,
    /// The words of the command that is being read.
    words: Vec<Range<usize>>,
    /// The commands in its substitutions, each with the position where these start.
    inner: Vec<(usize, Vec<SimpleCommand>)>,
    /// The heredocs whose bodies start on the next line.
    heredocs: Vec<Heredoc>,
    /// The number of open parentheses.
    open: usize,
    cases: usize,
}

struct Heredoc {
    delimiter: String,
    indented: bool,
    literal: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, depth: usize) -> Self {
        let frame = Frame::default();
        Self { text, at: 0, end: text.len(), depth, measuring: false, frame }
    }

    fn peek(&self) -> Option<u8> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<u8> {
        let at = self.at + by;
        if at < self.end { self.text.as_bytes().get(at).copied() } else { None }
    }

    /// Reads commands to the end of the text, or to the parenthesis that closes them.
    fn list(&mut self, closed: bool) -> Vec<SimpleCommand> {
        let outer = mem::take(&mut self.frame);
        while let Some(byte) = self.peek() {
            let next = self.ahead(1);
            match byte {
                b'\\' | b'`' if next == Some(b'\n') => self.at += 2,
                // `in` may be on the next line.
                b'\n' if self.first_word() == Some("case") => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.finish();
                    self.heredoc_bodies();
                }
                b'#' => self.skip_while(|byte| byte != b'\n'),
                b';' => self.semicolon(),
                b'<' | b'>' if next != Some(b'(') => self.redirect(),
                b'&' if next == Some(b'>') => {
                    self.at += 1;
                    self.redirect();
                }
                b'&' | b'|' => {
                    self.at += 1;
                    self.finish();
                }
                b'(' => self.open(),
                b')' => {
                    self.at += 1;
                    if closed && self.frame.open == 0 {
                        break;
                    }
                    self.frame.open = self.frame.open.saturating_sub(1);
                    self.finish();
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => self.command_word(),
            }
        }
        self.finish();
        mem::replace(&mut self.frame, outer).commands
    }

    /// Finishes a command with the words read so far.
    fn finish(&mut self) {
        let words = mem::take(&mut self.frame.words);
        let inner = mem::take(&mut self.frame.inner);
        if self.measuring {
            return;
        }
        let commands = &mut self.frame.commands;
        let script = match words.first().map(|word| &self.text[word.clone()]) {
            None | Some("for" | "select" | "case" | "function") => None,
            Some(_) => push(self.text, &words, self.depth, commands),
        };
        for (start, inner) in inner {
            if !script.as_ref().is_some_and(|script| script.contains(&start)) {
                commands.extend(inner);
            }
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    fn semicolon(&mut self) {
        let start = self.at;
        self.skip_while(|byte| matches!(byte, b';' | b'&'));
        self.finish();
        if self.frame.cases > 0 && self.at > start + 1 {
            self.case_pattern();
        }
    }

    fn open(&mut self) {
        let first = self.first_word();
        if self.ahead(1) == Some(b'(') && matches!(first, None | Some("for")) {
            self.balanced();
        } else if self.ahead(1) == Some(b')') {
            // The name of a function.
            self.at += 2;
            self.frame.words.clear();
        } else {
            if matches!(first, Some("time" | "coproc")) {
                self.frame.words.clear();
            }
            self.at += 1;
            self.finish();
            self.frame.open += 1;
        }
    }

    fn first_word(&self) -> Option<&'t str> {
        self.frame.words.first().map(|word| &self.text[word.clone()])
    }

    /// Reads the next word of a command. Reserved words and assignments do not count.
    fn command_word(&mut self) {
        let word = self.word();
        let raw = &self.text[word.clone()];
        match (self.first_word(), raw) {
            (Some("case"), "in") => {
                self.finish();
                self.frame.cases += 1;
                self.case_pattern();
            }
            (Some("time" | "coproc" | "function"), "{") => self.frame.words.clear(),
            (Some("for" | "select"), "do") if self.frame.words.len() == 2 => self.finish(),
            (None, "esac") => self.frame.cases = self.frame.cases.saturating_sub(1),
            (None, "[[") => self.test(),
            (
                None,
                "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "{"
                | "}" | "!",
            ) => {}
            (None, raw) if is_assignment(raw) => {}
            _ => self.frame.words.push(word),
        }
    }

    /// Skips the pattern of a `case`, up to its parenthesis.
    fn case_pattern(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.at += 1;
                    return;
                }
                b'#' => self.skip_while(|byte| byte != b'\n'),
                byte if is_meta(byte) => self.at += 1,
                _ => {
                    let word = self.word();
                    if &self.text[word] == "esac" {
                        self.frame.cases -= 1;
                        return;
                    }
                }
            }
        }
    }

    /// Skips the rest of `[[ … ]]`.
    fn test(&mut self) {
        while let Some(byte) = self.peek() {
            if is_meta(byte) {
                self.at += 1;
            } else {
                let word = self.word();
                if &self.text[word] == "]]" {
                    return;
                }
            }
        }
    }

    fn redirect(&mut self) {
        // The descriptor directly precedes it.
        if let Some(last) = self.frame.words.last()
            && last.end == self.at
            && self.text[last.clone()].bytes().all(|byte| byte.is_ascii_digit())
        {
            self.frame.words.pop();
        }
        let start = self.at;
        while matches!(self.peek(), Some(b'<' | b'>'))
            && self.at < start + 3
            && (self.at == start || self.ahead(1) != Some(b'('))
        {
            self.at += 1;
        }
        let heredoc = &self.text[start..self.at] == "<<";
        let indented = heredoc && self.peek() == Some(b'-');
        if indented || matches!(self.peek(), Some(b'&' | b'|')) {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b' ' | b'\t'))
            || self.text[self.at..self.end].starts_with("\\\n")
        {
            self.at += 1 + usize::from(self.peek() == Some(b'\\'));
        }
        let target = self.word();
        if heredoc && !target.is_empty() {
            let raw = &self.text[target];
            let literal = raw.contains(['\'', '"', '\\']);
            self.frame.heredocs.push(Heredoc { delimiter: unquote(raw), indented, literal });
        }
    }

    /// Reads the bodies that start here; only their substitutions count.
    fn heredoc_bodies(&mut self) {
        for heredoc in mem::take(&mut self.frame.heredocs) {
            let start = self.at;
            let mut end = self.end;
            while self.at < self.end {
                let rest = &self.text[self.at..self.end];
                let line = rest.split('\n').next().unwrap_or(rest);
                let indent = if heredoc.indented {
                    line.len() - line.trim_start_matches('\t').len()
                } else {
                    0
                };
                let is_end = line[indent..] == heredoc.delimiter;
                let line_start = self.at;
                self.at = (self.at + line.len() + 1).min(self.end);
                if is_end {
                    end = line_start;
                    break;
                }
            }
            if !heredoc.literal {
                let after = (mem::replace(&mut self.at, start), mem::replace(&mut self.end, end));
                self.data();
                (self.at, self.end) = after;
            }
        }
    }

    fn data(&mut self) {
        while let Some(byte) = self.peek() {
            self.quoted_piece(byte);
        }
        self.finish();
    }
}

fn is_meta(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b";&|<>()".contains(&byte)
}
