//! JSON on its way to a terminal.
//!
//! A program that reads our JSON gets it as it is. On a terminal the characters of
//! `clean::is_unsafe` are written as `\u` escapes: the document stays
//! equal, and the terminal stays honest. In JSON they can stand only inside strings, so an escape
//! is always allowed; the white space between tokens is passed on.

use std::io::{self, Write};

use super::clean;

pub(super) struct Escaping<W: Write> {
    out: W,
    /// The beginning of a character that the last write did not finish.
    pending: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, pending: Vec::new() }
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
            self.out.write_all(&rest.as_bytes()[..at])?;
            write!(self.out, "\\u{:04x}", u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.out.write_all(rest.as_bytes())
    }
}

fn is_escaped(c: char) -> bool {
    clean::is_unsafe(c) && !matches!(c, '\n' | '\r' | '\t')
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let taken = std::mem::take(&mut self.pending);
        for chunk in taken.utf8_chunks() {
            self.pass(chunk.valid())?;
            let invalid = chunk.invalid();
            let at_end = invalid.as_ptr_range().end == taken.as_ptr_range().end;
            // At most three bytes can still become a character.
            if at_end && invalid.len() < 4 && !invalid.is_empty() {
                self.pending = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.out.write_all("\u{FFFD}".as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_document_without_the_danger() {
        let text = "{\"a\": \"\u{7f}\u{9b}31m\u{202E}é🥛\"}\n";
        for size in 1..text.len() {
            let mut out = Vec::new();
            let mut writer = Escaping::new(&mut out);
            for piece in text.as_bytes().chunks(size) {
                writer.write_all(piece).unwrap();
            }
            let got = String::from_utf8(out).unwrap();
            assert_eq!(got, "{\"a\": \"\\u007f\\u009b31m\\u202eé🥛\"}\n", "pieces of {size}");
            let (got, want): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(&got).unwrap(), serde_json::from_str(text).unwrap());
            assert_eq!(got, want);
        }
    }
}
