//! The screen: enters and leaves the terminal's full-screen mode, and writes what changed between frames.

use std::fmt::Write as _;
use std::io::{self, Write};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{cursor, execute, queue, terminal};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use unicode_width::UnicodeWidthStr;

/// A full-screen terminal, which is left when this is dropped.
pub(super) struct Screen {
    out: Box<dyn Write>,
    shown: Buffer,
    has_mouse: bool,
}

impl Screen {
    /// Enters full-screen mode on `out`.
    pub(super) fn enter(mut out: Box<dyn Write>, has_mouse: bool) -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        execute!(out, EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        if has_mouse {
            execute!(out, EnableMouseCapture)?;
        }
        Ok(Self { out, shown: Buffer::empty(Rect::ZERO), has_mouse })
    }

    /// Draws a frame and places the cursor; `paint` returns its position, if it is visible.
    pub(super) fn draw(
        &mut self,
        paint: impl FnOnce(&mut Buffer) -> Option<(u16, u16)>,
    ) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let area = Rect::new(0, 0, width, height);
        let mut frame = Buffer::empty(area);
        let cursor = paint(&mut frame);
        queue!(self.out, BeginSynchronizedUpdate, cursor::Hide)?;
        if self.shown.area != area {
            self.shown = Buffer::empty(area);
            queue!(self.out, terminal::Clear(terminal::ClearType::All))?;
        }
        self.out.write_all(changes(&self.shown, &frame).as_bytes())?;
        if let Some((x, y)) = cursor {
            queue!(self.out, cursor::MoveTo(x, y), cursor::Show)?;
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()?;
        self.shown = frame;
        Ok(())
    }

    /// Makes the next frame draw everything.
    pub(super) fn invalidate(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    /// Asks the terminal to copy a text.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.out, crossterm::clipboard::CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        if self.has_mouse {
            let _ = execute!(self.out, DisableMouseCapture);
        }
        let _ = execute!(self.out, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// Returns the text that turns one frame into the next.
fn changes(before: &Buffer, after: &Buffer) -> String {
    let mut out = String::new();
    let mut end: Option<(u16, u16)> = None;
    let mut style = anstyle::Style::new();
    for (x, y, cell) in before.diff_iter(after) {
        // Writing to a string cannot fail.
        if end != Some((x, y)) {
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        let wanted = style_of(cell);
        if wanted != style {
            let _ = write!(out, "{style:#}{wanted}");
            style = wanted;
        }
        out.push_str(cell.symbol());
        end = Some((x + u16::try_from(cell.symbol().width()).unwrap_or(1), y));
    }
    let _ = write!(out, "{style:#}");
    out
}

/// Returns the style of a cell; the colours of the terminal itself have no code.
fn style_of(cell: &Cell) -> anstyle::Style {
    let color = |color: Color| (color != Color::Reset).then(|| anstyle::Color::from(color));
    anstyle::Style::new()
        .fg_color(color(cell.fg))
        .bg_color(color(cell.bg))
        .effects(cell.modifier.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::style;

    #[test]
    fn only_what_changed_is_written() {
        let area = Rect::new(0, 0, 8, 2);
        let (before, mut after) = (Buffer::empty(area), Buffer::empty(area));
        assert_eq!(changes(&before, &after), "");
        after.set_string(1, 1, "日x", ratatui_core::style::Style::from(style::GOOD));
        assert_eq!(changes(&before, &after), "\x1b[2;2H\x1b[32m日x\x1b[0m");
    }
}
