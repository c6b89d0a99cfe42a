//! Finds the end of the text that a regex may examine.
//!
//! Keywords come in order, so the ends of lines and words are cached: every byte is read once, not once for
//! each keyword before it.

use std::collections::VecDeque;
use std::ops::Range;

use super::scan::floor;

/// The number of lines, including escaped ones, that a regex may examine. Text further away is unrelated to
/// the keyword.
const LINES: usize = 4;

/// The next ends of lines and words in one text.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The part of the text whose line ends are known, and their positions.
    lined: Range<usize>,
    ends: VecDeque<usize>,
    /// A part of the text without the end of a word.
    word: Range<usize>,
}

impl Windows {
    /// Returns the lines from a position on, at most `reach` bytes.
    pub(super) fn lines<'t>(
        &mut self,
        text: &'t str,
        start: usize,
        reach: usize,
    ) -> Option<&'t str> {
        let bytes = text.as_bytes();
        let limit = floor(text, start + reach);
        if !(self.lined.start..=self.lined.end).contains(&start) {
            (self.lined, self.ends) = (start..start, VecDeque::new());
        }
        self.lined.start = start;
        while self.ends.front().is_some_and(|end| *end < start) {
            self.ends.pop_front();
        }
        while self.ends.len() < LINES && self.lined.end < limit {
            let rest = &bytes[self.lined.end..limit];
            let Some(found) = memchr::memchr2(b'\n', b'\\', rest) else {
                self.lined.end = limit;
                break;
            };
            let at = self.lined.end + found;
            if bytes[at] == b'\n' || bytes.get(at + 1) == Some(&b'n') {
                self.ends.push_back(at);
            }
            self.lined.end = at + 1;
        }
        let end = self.ends.get(LINES - 1).map_or(limit, |end| limit.min(*end));
        text.get(start..end)
    }

    /// Returns the text from a position up to white space or a quote, at most `reach` bytes.
    pub(super) fn word<'t>(
        &mut self,
        text: &'t str,
        start: usize,
        reach: usize,
    ) -> Option<&'t str> {
        let limit = floor(text, start + reach);
        if !(self.word.start..=self.word.end).contains(&start) {
            self.word = start..start;
        }
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<".contains(byte);
        let rest = text.as_bytes().get(self.word.end..limit).unwrap_or_default();
        self.word.end += rest.iter().position(ends).unwrap_or(rest.len());
        text.get(start..limit.min(self.word.end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is cached changes nothing, in whatever order texts are asked for.
        #[test]
        fn a_window_depends_on_its_place_only(
            text in "([a-zé \"<]|\n|\\\\n){0,60}",
            asked in proptest::collection::vec((0..60usize, 0..40usize), 1..20),
        ) {
            let mut windows = Windows::default();
            for (start, reach) in asked {
                let start = floor(&text, start);
                let lines = windows.lines(&text, start, reach);
                prop_assert_eq!(lines, Windows::default().lines(&text, start, reach));
                let word = windows.word(&text, start, reach);
                prop_assert_eq!(word, Windows::default().word(&text, start, reach));
            }
        }
    }
}
