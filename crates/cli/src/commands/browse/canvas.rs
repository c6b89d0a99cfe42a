//! Writes styled text into a frame.

use anstyle::Style;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style as CellStyle};
use unicode_width::UnicodeWidthStr;

use crate::output::{Line, style};

/// A frame to draw on.
pub(super) struct Canvas<'a> {
    pub(super) buffer: &'a mut Buffer,
    /// Whether colours are used; bold, dim and reverse always are.
    pub(super) has_color: bool,
}

impl Canvas<'_> {
    pub(super) fn width(&self) -> u16 {
        self.buffer.area.width
    }

    pub(super) fn height(&self) -> u16 {
        self.buffer.area.height
    }

    fn style(&self, style: Style) -> CellStyle {
        let style = if self.has_color { style } else { Style::new().effects(style.get_effects()) };
        CellStyle::from(style)
    }

    /// Writes a text on a line, in at most `room` columns; returns the column after it.
    pub(super) fn text(&mut self, x: u16, y: u16, room: u16, style: Style, text: &str) -> u16 {
        if y >= self.height() || x >= self.width() {
            return x;
        }
        let style = self.style(style);
        self.buffer.set_stringn(x, y, text, usize::from(room), style).0
    }

    /// Writes a line of styled pieces; returns the column after it.
    pub(super) fn line(&mut self, x: u16, y: u16, room: u16, line: &Line) -> u16 {
        let mut at = x;
        for (style, text) in line.pieces() {
            at = self.text(at, y, room.saturating_sub(at - x), *style, text);
        }
        at
    }

    /// Highlights a part of a line.
    pub(super) fn select(&mut self, x: u16, y: u16, width: u16) {
        let area = Rect::new(x, y, width, 1).intersection(self.buffer.area);
        self.buffer.set_style(area, CellStyle::new().add_modifier(Modifier::REVERSED));
    }

    /// Marks every place of a line, from a column on, that contains some words in lower case.
    pub(super) fn mark(&mut self, x: u16, y: u16, words: &str) {
        let area = Rect::new(x, y, self.width(), 1).intersection(self.buffer.area);
        let mut text = String::new();
        // The column of each byte.
        let mut columns = Vec::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = self.buffer[(x, y)].symbol().to_lowercase();
            text.push_str(&symbol);
            columns.resize(text.len(), x);
            // A wide letter is in two cells.
            x += u16::try_from(symbol.width()).unwrap_or(1).max(1);
        }
        let style = self.style(style::FOUND);
        for (at, found) in text.match_indices(words) {
            let end = columns.get(at + found.len()).copied().unwrap_or(area.right());
            for x in columns[at]..end {
                self.buffer[(x, y)].set_style(style);
            }
        }
    }

    /// Empties an area.
    pub(super) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
        }
    }
}
