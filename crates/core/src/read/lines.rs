//! Splits a stream into lines without ever keeping more than one in memory.
//!
//! A session log is live: the agent appends to it while it is being read, and it can be a gigabyte
//! long. So there is no memory map (a truncation under it is fatal) and no whole-file buffer, only
//! a window that grows to the longest line. Lines end at `\n`, `\r\n` or a lone `\r`, like those of
//! Node's `readline` with `crlfDelay: Infinity`; never at U+2028 or U+2029.

use std::io::{self, Read};

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};
use serde::{Deserialize, Serialize};

use super::block::BLOCK;
use super::buffer::Buffer;

/// Small enough to stay in the processor's cache.
const WINDOW: usize = 64 * 1024;

/// The length of the longest line, in bytes. Node has no longer strings, so no agent that runs on
/// it can have read more.
pub const LONGEST_LINE: usize = 0x1FFF_FFE8;

/// The number of bytes kept of a longer line.
const BEGINNING: usize = 1024;

/// One line, without its line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'b> {
    /// Counted from 1.
    pub number: u64,
    /// The position of its first byte in the file.
    pub offset: u64,
    /// The complete line, or the beginning of one that is too long.
    pub bytes: &'b [u8],
    /// Whether only its beginning is in `bytes`.
    pub is_too_long: bool,
    /// False for a last line without a line ending, whose writer may not be finished. A final `\r`
    /// does not end a line either, because a `\n` may follow.
    pub terminated: bool,
}

impl<'b> Line<'b> {
    /// Returns a line that is complete.
    pub fn whole(number: u64, offset: u64, bytes: &'b [u8]) -> Self {
        Self { number, offset, bytes, is_too_long: false, terminated: true }
    }
}

/// A position between two lines from which reading can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The offset in bytes.
    pub offset: u64,
    /// The number of the next line.
    pub line: u64,
}

impl Default for Position {
    fn default() -> Self {
        Self { offset: 0, line: 1 }
    }
}

/// Reads lines from a stream.
pub struct Lines<R> {
    input: R,
    buffer: Buffer,
    /// The unread bytes are `buffer[start..end]`; there is no line ending before `scanned`.
    start: usize,
    end: usize,
    scanned: usize,
    /// The number of bytes of the current line that are not in the buffer.
    skipped: usize,
    longest: usize,
    at: Position,
    exhausted: bool,
}

impl<R: Read> Lines<R> {
    /// Reads lines from `input`, which must be positioned at `from`.
    pub fn new(input: R, from: Position) -> Self {
        let mut buffer = Buffer::new();
        if buffer.len() < WINDOW {
            buffer.resize(WINDOW, 0);
        }
        Self {
            input,
            buffer,
            start: 0,
            end: 0,
            scanned: 0,
            skipped: 0,
            longest: LONGEST_LINE,
            at: from,
            exhausted: false,
        }
    }

    /// Returns the next line, or `None` at the end of the input.
    #[expect(clippy::should_implement_trait, reason = "a line borrows the window")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let Some((length, ending)) = self.find_line()? else {
            return Ok(None);
        };
        let first = self.start;
        let here = self.at;
        let skipped = std::mem::take(&mut self.skipped);
        self.start += length + ending;
        self.scanned = self.start;
        self.at.offset += (skipped + length + ending) as u64;
        self.at.line += 1;
        Ok(Some(Line {
            number: here.line,
            offset: here.offset,
            bytes: &self.buffer[first..first + length],
            is_too_long: skipped > 0,
            // An unterminated `\r` is counted into `ending` only at the end of the input.
            terminated: ending > 0 && !(self.exhausted && self.is_last_cr(first + length, ending)),
        }))
    }

    /// Returns the position after the last line that was returned.
    pub fn position(&self) -> Position {
        self.at
    }

    fn is_last_cr(&self, at: usize, ending: usize) -> bool {
        ending == 1 && self.buffer[at] == b'\r' && at + 1 == self.end
    }

    /// Returns the length of the next line and of its ending.
    fn find_line(&mut self) -> io::Result<Option<(usize, usize)>> {
        loop {
            let unread = &self.buffer[self.scanned..self.end];
            if let Some(found) = ending(unread) {
                let at = self.scanned + found;
                let length = at - self.start;
                if self.buffer[at] == b'\n' {
                    return Ok(Some((length, 1)));
                }
                if at + 1 < self.end {
                    return Ok(Some((length, if self.buffer[at + 1] == b'\n' { 2 } else { 1 })));
                }
                self.scanned = at;
                if !self.fill()? {
                    return Ok(Some((length, 1)));
                }
            } else {
                self.scanned = self.end;
                if !self.fill()? {
                    let length = self.end - self.start;
                    return Ok((length > 0).then_some((length, 0)));
                }
            }
        }
    }

    /// Reads more bytes after the unread ones. Returns false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.exhausted {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() && !self.grow() {
            self.skip();
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.exhausted = true;
                    return Ok(false);
                }
                Ok(read) => {
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes room for more of the line. Returns false if it is too long.
    fn grow(&mut self) -> bool {
        let more = (self.buffer.len() * 2).min(self.longest);
        let length = self.buffer.len();
        if self.skipped > 0 || more <= length {
            return false;
        }
        let has_room = self.buffer.try_reserve_exact(more - length).is_ok();
        if has_room {
            self.buffer.resize(more, 0);
        }
        has_room
    }

    /// Discards the line except for its beginning and the bytes that have not been scanned.
    fn skip(&mut self) {
        let kept = BEGINNING.min(self.scanned);
        self.buffer.copy_within(self.scanned..self.end, kept);
        self.skipped += self.scanned - kept;
        self.end -= self.scanned - kept;
        self.scanned = kept;
        self.buffer.truncate(WINDOW);
        self.buffer.shrink_to_fit();
    }
}

/// Returns the position of the first `\n` or `\r`.
fn ending(bytes: &[u8]) -> Option<usize> {
    dispatch!(Level::new(), simd => find_ending(simd, bytes))
}

#[expect(clippy::inline_always, reason = "it is compiled for the processor of its caller")]
#[inline(always)]
fn find_ending<S: Simd>(simd: S, bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (n, block) in blocks.iter().enumerate() {
        let block = u8x64::simd_from(simd, *block);
        let found = (block.simd_eq(b'\n') | block.simd_eq(b'\r')).to_bitmask();
        if found != 0 {
            return Some(n * BLOCK + found.trailing_zeros() as usize);
        }
    }
    let last = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    Some(bytes.len() - rest.len() + last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields one byte at a time, the hardest case for endings that span two reads.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn split(bytes: &[u8]) -> Vec<(u64, u64, String, bool)> {
        let mut lines = Lines::new(Trickle(bytes), Position::default());
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            out.push((line.number, line.offset, text, line.terminated));
        }
        out
    }

    #[test]
    fn every_kind_of_ending() {
        let got = split(b"a\nbb\r\nc\rd\r\r\ne");
        let want = [
            (1, 0, "a", true),
            (2, 2, "bb", true),
            (3, 6, "c", true),
            (4, 8, "d", true),
            (5, 10, "", true),
            (6, 12, "e", false),
        ];
        let got: Vec<_> = got.iter().map(|(n, o, t, e)| (*n, *o, t.as_str(), *e)).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn a_last_carriage_return_may_be_half_an_ending() {
        assert_eq!(split(b"a\r"), [(1, 0, "a".to_owned(), false)]);
        assert_eq!(split(b"a\r\n"), [(1, 0, "a".to_owned(), true)]);
    }

    #[test]
    fn endings_at_any_place() {
        for length in 0..3 * BLOCK {
            let mut bytes = vec![b'x'; length];
            assert_eq!(ending(&bytes), None, "{length}");
            for (at, byte) in (0..length).rev().zip([b'\n', b'\r'].into_iter().cycle()) {
                bytes[at] = byte;
                assert_eq!(ending(&bytes), Some(at), "{length}");
            }
        }
    }

    #[test]
    fn paragraph_separators_do_not_end_a_line() {
        assert_eq!(split("a\u{2028}b\u{2029}c".as_bytes()).len(), 1);
    }

    #[test]
    fn a_line_longer_than_the_window() {
        let long = vec![b'x'; WINDOW * 5 + 3];
        let mut bytes = long.clone();
        bytes.extend_from_slice(b"\ny\n");
        let mut lines = Lines::new(bytes.as_slice(), Position::default());
        assert_eq!(lines.next().unwrap().unwrap().bytes, long);
        let second = lines.next().unwrap().unwrap();
        assert_eq!((second.bytes, second.offset), (&b"y"[..], long.len() as u64 + 1));
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let long = vec![b'x'; WINDOW * 5 + 3];
        for ending in [&b"\n"[..], b"\r\n", b"\r"] {
            let bytes = [b"a\n", &long[..], ending, b"y\n", &long].concat();
            let mut lines = Lines::new(bytes.as_slice(), Position::default());
            lines.longest = WINDOW * 2;
            assert_eq!(lines.next().unwrap().unwrap().bytes, b"a");
            let cut = lines.next().unwrap().unwrap();
            assert!(cut.is_too_long && cut.terminated && long.starts_with(cut.bytes));
            let next = lines.next().unwrap().unwrap();
            let offset = (2 + long.len() + ending.len()) as u64;
            assert_eq!((next.bytes, next.offset, next.number), (&b"y"[..], offset, 3));
            assert!(!next.is_too_long);
            let last = lines.next().unwrap().unwrap();
            assert!(last.is_too_long && !last.terminated && long.starts_with(last.bytes));
            assert_eq!(lines.next().unwrap(), None);
            assert_eq!(lines.position().offset, bytes.len() as u64);
        }
    }

    #[test]
    fn a_line_of_the_greatest_length_is_whole() {
        for (more, is_too_long) in [(0, false), (1, true)] {
            let long = [&vec![b'x'; WINDOW * 2 + more][..], b"\n"].concat();
            let mut lines = Lines::new(long.as_slice(), Position::default());
            lines.longest = WINDOW * 2 + 1;
            assert_eq!(lines.next().unwrap().unwrap().is_too_long, is_too_long, "{more}");
        }
    }
}
