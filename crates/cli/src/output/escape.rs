//! Escapes JSON for a terminal.
//!
//! Programs get our JSON unchanged. On a terminal, the characters of `clean::is_unsafe` are written as `\u`
//! escapes: the document stays equal, and it cannot control the terminal. In JSON such characters occur
//! only inside strings, where an escape is always allowed; the white space between tokens is passed
//! through.

use std::io::{self, Write};

use super::clean;

pub(super) struct Escaping<W: Write> {
    out: W,
    /// The first bytes of a character that the last write did not complete.
    pending: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, pending: Vec::new() }
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(at, c)| is_escaped(*c, &rest[*at..])) {
            self.out.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        self.out.write_all(rest.as_bytes())
    }
}

/// Returns whether a character must be escaped on a terminal; `rest` begins with it. A carriage return is
/// allowed only at the end of a line, because elsewhere it would let one text overwrite another. Characters
/// without a width are escaped, because they could hide something.
fn is_escaped(c: char, rest: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !rest.starts_with("\r\n"),
        '\u{ad}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => clean::is_unsafe(c),
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let taken = std::mem::take(&mut self.pending);
        for chunk in taken.utf8_chunks() {
            self.pass(chunk.valid())?;
            let invalid = chunk.invalid();
            let at_end = invalid.as_ptr_range().end == taken.as_ptr_range().end;
            // At most three bytes can be the beginning of a character.
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
    fn nothing_overwrites_or_hides() {
        let mut out = Vec::new();
        Escaping::new(&mut out).write_all("a\r\nb\rc\u{200b}\u{e0041}\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\r\nb\\u000dc\\u200b\\udb40\\udc41\n");
    }

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
