//! Text of a limited width, measured as a terminal draws it.

use std::ops::Range;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::clean;

/// Text in one style.
pub(super) type Piece = (Style, String);

const JOINER: char = '\u{200d}';

/// Splits a text into clusters: characters that are drawn in one place, such as a letter with its accents or an
/// emoji with its modifiers.
fn clusters(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let mut starts = Vec::new();
    let (mut last, mut flags) = (None, 0);
    for (at, c) in text.char_indices() {
        let joins = c.width().unwrap_or(0) == 0
            || matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
            || last == Some(JOINER)
            || (is_flag(c) && flags % 2 == 1);
        if !joins || at == 0 {
            starts.push(at);
            flags = 0;
        }
        flags += usize::from(is_flag(c));
        last = Some(c);
    }
    (0..starts.len()).map(move |n| {
        let end = starts.get(n + 1).copied().unwrap_or(text.len());
        &text[starts[n]..end]
    })
}

/// Returns the number of bytes of the longest beginning that is at most `width` wide.
pub(super) fn beginning(text: &str, width: usize) -> usize {
    let mut used = 0;
    let fits = clusters(text).take_while(|cluster| {
        used += cluster.width();
        used <= width
    });
    fits.map(str::len).sum()
}

/// Cuts a text to a width, with `…` at the cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    format!("{}…", &text[..beginning(text, width.saturating_sub(1))])
}

/// Cuts a text at its front to a width.
pub(crate) fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = clusters(text).rev().take_while(|cluster| {
        used += cluster.width();
        used <= width
    });
    let length: usize = fits.map(str::len).sum();
    format!("…{}", &text[text.len() - length..])
}

/// Returns a line of a text around a place, and a line with a marker below that place.
pub(super) fn point(text: &str, at: &Range<usize>, room: usize) -> (String, String) {
    let part = |range: Range<usize>| text.get(range).map(clean::line).unwrap_or_default();
    let before = cut_front(&part(0..at.start), room / 2);
    let bad = part(at.clone());
    let left = room.saturating_sub(before.width());
    let rest = cut(&format!("{bad}{}", part(at.end..text.len())), left);
    let mark = "^".repeat(bad.width().clamp(1, left.max(1)));
    (format!("{before}{rest}"), format!("{}{mark}", " ".repeat(before.width())))
}

/// Wraps styled text at spaces, in a first line of at most `first` columns and further ones of at most `rest`. Only a
/// word that is wider than a line is broken.
pub(super) fn wrap(pieces: &[Piece], first: usize, rest: usize) -> Vec<Vec<Piece>> {
    let mut wrapper = Wrapper { lines: vec![Vec::new()], used: 0, room: first, rest };
    let mut word: Vec<(Style, &str)> = Vec::new();
    let mut space: Option<(Style, &str)> = None;
    for (style, text) in pieces {
        for part in parts(text) {
            if part.starts_with(' ') {
                wrapper.word(space.take(), &word);
                word.clear();
                space = Some((*style, part));
            } else {
                word.push((*style, part));
            }
        }
    }
    wrapper.word(space, &word);
    wrapper.lines
}

/// Splits a text into runs of spaces and runs of other characters.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_space = rest.starts_with(' ');
        let end = rest.find(|c: char| (c == ' ') != is_space).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

struct Wrapper {
    lines: Vec<Vec<Piece>>,
    /// The columns used in the last line.
    used: usize,
    /// The columns of the last line, and of every line after it.
    room: usize,
    rest: usize,
}

impl Wrapper {
    /// Adds a word after a space.
    fn word(&mut self, space: Option<(Style, &str)>, word: &[(Style, &str)]) {
        let width: usize = word.iter().map(|(_, text)| text.width()).sum();
        if word.is_empty() {
            return;
        }
        let gap = space.map_or(0, |(_, space)| space.len());
        if self.used > 0 && self.used + gap + width > self.room && width <= self.rest {
            self.break_line();
        } else if let Some((style, space)) = space {
            // An indentation never takes more than half of the line.
            let most = if self.used == 0 { self.room / 2 } else { self.left() };
            self.push(style, &space[..gap.min(most)]);
        }
        for (style, text) in word {
            self.fill(*style, text);
        }
    }

    /// Adds a piece of a word, broken where a line ends.
    fn fill(&mut self, style: Style, text: &str) {
        let mut left = text;
        while self.used + left.width() > self.room {
            match beginning(left, self.left()) {
                // A single character can be wider than the line.
                0 if self.used == 0 => break,
                0 => self.break_line(),
                end => {
                    self.push(style, &left[..end]);
                    left = &left[end..];
                    self.break_line();
                }
            }
        }
        self.push(style, left);
    }

    /// Returns the free columns of the last line.
    fn left(&self) -> usize {
        self.room.saturating_sub(self.used)
    }

    fn push(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        self.used += text.width();
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut() {
            Some((last, so_far)) if *last == style => so_far.push_str(text),
            _ => line.push((style, text.to_owned())),
        }
    }

    fn break_line(&mut self) {
        self.lines.push(Vec::new());
        (self.used, self.room) = (0, self.rest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Letters, wide letters, marks, emoji with modifiers, flags and spaces.
    const ANY: &str = "(\\PC|[a-z ]{1,9}|[\u{65e5}\u{672c}]{1,9}|e\u{301}|👩\u{200d}👧\u{200d}👦|❤\u{fe0f}|👍🏽|🇯🇵| ){0,40}";

    fn lines(text: &str, first: usize, rest: usize) -> Vec<String> {
        let lines = wrap(&[(Style::new(), text.to_owned())], first, rest);
        let join = |line: Vec<Piece>| line.into_iter().map(|(_, text)| text).collect();
        lines.into_iter().map(join).collect()
    }

    #[test]
    fn texts_are_cut_by_what_is_shown() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut_front("日本語", 4), "…語");
        assert_eq!(cut("a👩\u{200d}👧\u{200d}👦bc", 4), "a👩\u{200d}👧\u{200d}👦…");
        assert_eq!(cut("🇯🇵🇫🇷🇩🇪", 4), "🇯🇵…");
    }

    #[test]
    fn a_place_is_pointed_at_within_the_room() {
        let text = "one two three four";
        let (line, mark) = point(text, &(4..7), 40);
        assert_eq!((line.as_str(), mark.as_str()), (text, "    ^^^"));
        let (line, mark) = point(text, &(14..18), 10);
        assert_eq!((line.as_str(), mark.as_str()), ("…ree four", "     ^^^^"));
        let (line, mark) = point(text, &(18..18), 10);
        assert_eq!((line.as_str(), mark.as_str()), ("…four", "     ^"));
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(lines("one two three", 7, 7), ["one two", "three"]);
        assert_eq!(lines("  one two", 7, 7), ["  one", "two"]);
        assert_eq!(lines("one  two", 8, 8), ["one  two"]);
        assert_eq!(lines("see /a/long/path", 9, 6), ["see /a/lo", "ng/pat", "h"]);
        assert_eq!(lines("日本語の文章です", 6, 6), ["日本語", "の文章", "です"]);
        let styled = [(Style::new().bold(), "bold".to_owned()), (Style::new(), ", x".to_owned())];
        assert_eq!(wrap(&styled, 5, 5).len(), 2, "a comma stays with its word");
    }

    proptest! {
        #[test]
        fn a_cut_text_is_never_too_wide(text in ANY, width in 1_usize..30) {
            prop_assert!(cut(&text, width).width() <= width);
            prop_assert!(cut_front(&text, width).width() <= width);
        }

        #[test]
        fn wrapping_keeps_every_character_but_spaces(text in ANY, width in 4_usize..30) {
            let lines = lines(&text, width, width);
            for line in &lines {
                prop_assert!(line.width() <= width, "{:?}", line);
            }
            let solid = |text: &str| text.replace(' ', "");
            prop_assert_eq!(solid(&lines.concat()), solid(&text));
        }
    }
}
