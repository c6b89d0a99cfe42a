//! Redacts a stream of any length in bounded memory.

use std::io::{self, Read, Write};

use super::apply::Redactor;
use super::rule::REACH;
use super::scan::{Found, floor};

/// The number of bytes to read at a time.
const CHUNK: usize = 1024 * 1024;

/// The number of written bytes to keep, so that the text before a match is available.
const BEHIND: usize = 1024;

impl Redactor<'_> {
    /// Copies `input` to `output` without its secrets. Bytes that are not UTF-8 are copied unchanged.
    pub fn stream(
        &mut self,
        input: &mut impl Read,
        output: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        self.stream_by(CHUNK, input, output)
    }

    fn stream_by(
        &mut self,
        chunk: usize,
        input: &mut impl Read,
        output: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        let (mut held, mut out): (Vec<u8>, Vec<u8>) = Default::default();
        // The number of held bytes that have already been written.
        let mut done = 0;
        loop {
            let read = input.by_ref().take(chunk as u64).read_to_end(&mut held)?;
            let is_last = read == 0;
            // A match that begins before this position ends within the held bytes.
            let until = if is_last { held.len() } else { held.len().saturating_sub(2 * REACH) };
            if until > done || is_last {
                out.clear();
                let mut window = Window { done, until, out: &mut out };
                window.pass(self, &held);
                done = window.done;
                output.write_all(&out)?;
                let keep = done.saturating_sub(BEHIND);
                held.drain(..keep);
                done -= keep;
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// The part of the held bytes that is written now.
struct Window<'a> {
    done: usize,
    until: usize,
    out: &'a mut Vec<u8>,
}

impl Window<'_> {
    fn pass(&mut self, redactor: &mut Redactor, held: &[u8]) {
        // Invalid UTF-8 is rare, so the bytes to write are usually all valid.
        let valid = simdutf8::compat::from_utf8(held);
        let valid =
            valid.or_else(|error| simdutf8::compat::from_utf8(&held[..error.valid_up_to()]));
        if let Ok(text) = valid
            && text.len() >= self.until
        {
            return self.text(redactor, text, 0);
        }
        let mut start = 0;
        for piece in held.utf8_chunks() {
            let text = piece.valid();
            self.text(redactor, text, start);
            start += text.len();
            let end = start + piece.invalid().len();
            if self.done <= start && start < self.until {
                self.out.extend_from_slice(&held[self.done..end]);
                self.done = end;
            }
            start = end;
        }
    }

    /// Writes valid text that begins at offset `start` of the held bytes.
    fn text(&mut self, redactor: &mut Redactor, text: &str, start: usize) {
        if start + text.len() <= self.done || start >= self.until {
            return;
        }
        let begin = self.done.saturating_sub(start);
        let end = floor(text, self.until - start);
        let is_new = |found: &Found| found.at >= begin && found.at < end;
        let found: Vec<Found> = redactor.scan(text).into_iter().filter(is_new).collect();
        let end = found.last().map_or(end, |last| end.max(last.range.end)).max(begin);
        let text = &text[begin..end];
        if found.is_empty() {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            let moved: Vec<Found> = found
                .into_iter()
                .map(|found| Found {
                    range: found.range.start - begin..found.range.end - begin,
                    ..found
                })
                .collect();
            self.out.extend_from_slice(redactor.replace(text, &moved).as_bytes());
        }
        self.done = start + end;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;

    fn by(rules: &Rules, chunk: usize, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Redactor::new(rules).stream_by(chunk, &mut &*bytes, &mut out).unwrap();
        out
    }

    #[test]
    fn the_same_however_it_is_cut() {
        let rules = Rules::embedded().unwrap();
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let key = format!(
            "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(40)
        );
        let mut text = String::new();
        for n in 0..400 {
            text.push_str(&"ordinary words é ".repeat(n % 37));
            text.push_str(if n % 3 == 0 { &key } else { &token });
            text.push_str(if n % 2 == 0 { "\n" } else { " " });
        }
        let whole = Redactor::new(&rules).text(&text).into_owned();
        assert_eq!(whole.matches("[redacted:github-token:1]").count(), 266);
        assert_eq!(whole.matches("[redacted:private-key:1]").count(), 134);
        for chunk in [1000, 4096, 99_991, CHUNK] {
            assert!(by(&rules, chunk, text.as_bytes()) == whole.as_bytes(), "in pieces of {chunk}");
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        let rules = Rules::embedded().unwrap();
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let bytes =
            [b"\xff\xfe ", token.as_bytes(), b" \xc3", token.as_bytes(), b"\xe2\x82"].concat();
        let marker = b"[redacted:github-token:1]".as_slice();
        let want = [b"\xff\xfe ", marker, b" \xc3", marker, b"\xe2\x82"].concat();
        assert_eq!(by(&rules, CHUNK, &bytes), want);
        assert_eq!(by(&rules, 7, &bytes), want);
    }
}
