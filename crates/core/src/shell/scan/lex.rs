//! Reads words: quotes, expansions and substitutions.

use std::ops::Range;

use super::super::{MAX_DEPTH, split_at};
use super::{Scanner, backtick_script, is_meta};

impl Scanner<'_> {
    /// Reads a word. It is empty only before an operator.
    pub(super) fn word(&mut self) -> Range<usize> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.ahead(1) == Some(b'(') => self.substitution(),
                // Inside a word, only patterns and arrays contain it, and calls in other languages.
                b'(' if self.at > start && !self.is_function(start) => self.balanced(),
                byte if is_meta(byte) => break,
                _ => self.piece(),
            }
        }
        start..self.at
    }

    /// Returns whether the word that starts there names a function, which `()` after it indicates.
    fn is_function(&self, start: usize) -> bool {
        self.ahead(1) == Some(b')') && !self.text[start..self.at].ends_with('=')
    }

    /// Skips one character, or a whole quote or expansion.
    pub(super) fn piece(&mut self) {
        match (self.peek(), self.ahead(1)) {
            (Some(b'\''), _) => self.single_quoted(),
            (Some(b'$'), Some(b'\'')) => {
                self.at += 2;
                while self.peek().is_some_and(|byte| byte != b'\'') {
                    self.step(1 + usize::from(self.peek() == Some(b'\\')));
                }
                self.step(1);
            }
            (Some(b'"'), _) => {
                self.at += 1;
                while let Some(byte) = self.peek() {
                    if byte == b'"' {
                        break;
                    }
                    self.quoted_piece(byte);
                }
                self.step(1);
            }
            (Some(byte), _) => self.quoted_piece(byte),
            (None, _) => {}
        }
    }

    /// Skips one character or expansion between double quotes, where single quotes have no meaning.
    pub(super) fn quoted_piece(&mut self, byte: u8) {
        let next = self.ahead(1);
        match byte {
            b'\\' => self.step(2),
            b'`' => self.backticks(),
            b'$' if self.depth >= MAX_DEPTH => self.at += 1,
            b'$' if next == Some(b'(') && self.ahead(2) == Some(b'(') => {
                self.at += 1;
                self.depth += 1;
                self.balanced();
                self.depth -= 1;
            }
            b'$' if next == Some(b'(') => self.substitution(),
            b'$' if next == Some(b'{') => {
                self.at += 2;
                self.depth += 1;
                while self.peek().is_some_and(|byte| byte != b'}') {
                    self.piece();
                }
                self.depth -= 1;
                self.step(1);
            }
            b'$' => {
                self.at += 1;
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            }
            _ => self.at += 1,
        }
    }

    fn step(&mut self, by: usize) {
        self.at = (self.at + by).min(self.end);
    }

    fn single_quoted(&mut self) {
        let inside = self.at + 1;
        let in_word = self.text[..self.at].ends_with(char::is_alphanumeric);
        self.at = match self.text[inside..self.end].find('\'') {
            Some(len) => inside + len + 1,
            // An apostrophe in text that is not shell.
            None if in_word => inside,
            None => self.end,
        };
    }

    /// Reads `$(…)`, `<(…)` or `>(…)`, from its first character on.
    fn substitution(&mut self) {
        let start = self.at;
        if self.depth >= MAX_DEPTH {
            self.at += 1;
            return;
        }
        self.at += 2;
        self.depth += 1;
        let commands = self.list(true);
        self.depth -= 1;
        self.frame.inner.push((start, commands));
    }

    fn backticks(&mut self) {
        let start = self.at;
        self.at += 1;
        while self.peek().is_some_and(|byte| byte != b'`') {
            self.step(1 + usize::from(self.peek() == Some(b'\\')));
        }
        self.step(1);
        if !self.measuring {
            let script = backtick_script(&self.text[start..self.at]);
            self.frame.inner.push((start, split_at(&script, self.depth + 1)));
        }
    }

    /// Skips parentheses and their contents.
    pub(super) fn balanced(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {
                    self.piece();
                    continue;
                }
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }
}
