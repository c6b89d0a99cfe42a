//! One line of output: sanitized text with styles.

use std::fmt::Write;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::clean;
use super::text::{self, Piece};

/// The narrowest width that lines are wrapped to.
const NARROWEST: usize = 20;

/// A line of text, the only thing that can be printed as text. Everything that is added to it is sanitized.
#[derive(Debug, Default, Clone)]
pub(crate) struct Line {
    pieces: Vec<Piece>,
    /// The text before every further line if this one has to be wrapped.
    hang: Option<String>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn text(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new(), text)
    }

    pub(crate) fn styled(mut self, style: Style, text: impl AsRef<str>) -> Self {
        if !text.as_ref().is_empty() {
            self.pieces.push((style, clean::line(text.as_ref()).into_owned()));
        }
        self
    }

    /// Sets the text before every further line if this one has to be wrapped; without it, they are indented like the
    /// first.
    pub(crate) fn hang(self, hang: impl AsRef<str>) -> Self {
        Self { hang: Some(clean::line(hang.as_ref()).into_owned()), ..self }
    }

    /// Appends another line to this one.
    pub(super) fn append(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    pub(super) fn is_blank(&self) -> bool {
        self.pieces.iter().all(|(_, text)| text.trim().is_empty())
    }

    /// Returns the line cut to a width, with `…` at the cut.
    pub(crate) fn cut(mut self, width: Option<usize>) -> Self {
        let Some(width) = width.filter(|width| self.width() > *width) else { return self };
        let mut left = width.saturating_sub(1);
        let over = self.pieces.iter().position(|(_, text)| match left.checked_sub(text.width()) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        if let Some((_, text)) = over.and_then(|over| self.pieces.get_mut(over)) {
            text.truncate(text::beginning(text, left));
            text.push('…');
        }
        self.pieces.truncate(over.map_or(usize::MAX, |over| over + 1));
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// Returns the text in pieces of one style each.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the text without styles.
    pub(crate) fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Wraps the line at words to a width.
    pub(crate) fn wrapped(self, width: usize) -> Vec<Self> {
        let width = width.max(NARROWEST);
        if self.width() <= width {
            return vec![self];
        }
        let hang = self.hang.clone().unwrap_or_else(|| " ".repeat(self.indent()));
        let hang = text::cut(&hang, width / 2);
        let mut lines = text::wrap(&self.pieces, width, width - hang.width());
        for line in lines.iter_mut().skip(1) {
            line.insert(0, (Style::new(), hang.clone()));
        }
        lines.into_iter().map(|pieces| Self { pieces, hang: None }).collect()
    }

    /// Returns the number of spaces that it begins with.
    fn indent(&self) -> usize {
        let mut spaces = 0;
        for (_, text) in &self.pieces {
            let own = text.len() - text.trim_start_matches(' ').len();
            spaces += own;
            if own < text.len() {
                break;
            }
        }
        spaces
    }

    /// Returns the text with the escape sequences of its styles.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        for (style, text) in &self.pieces {
            // Writing to a string cannot fail.
            let _ = write!(out, "{style}{text}{style:#}");
        }
        out
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::style;

    fn show(lines: &[Line]) -> Vec<String> {
        let plain = |line: &Line| anstream::adapter::strip_str(&line.render()).to_string();
        lines.iter().map(plain).collect()
    }

    #[test]
    fn further_lines_are_indented_like_the_first() {
        let line = Line::new().text("  ").styled(style::DIM, "one two three four five six");
        assert_eq!(show(&line.wrapped(20)), ["  one two three four", "  five six"]);
        let line = Line::new().text("┊ one two three four five six").hang("┊ ");
        assert_eq!(show(&line.wrapped(20)), ["┊ one two three four", "┊ five six"]);
    }

    #[test]
    fn a_line_is_cut_across_its_styles() {
        let line = || Line::new().text("one ").styled(style::NAME, "two").text(" three");
        assert_eq!(show(&[line().cut(Some(8)), line().cut(Some(7))]), ["one two…", "one tw…"]);
        assert_eq!(show(&[line().cut(Some(13)), line().cut(None)]), ["one two three"; 2]);
    }
}
