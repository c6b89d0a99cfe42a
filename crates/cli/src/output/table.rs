//! A small table: columns aligned by what a terminal shows, cut to its width.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Line, clean, style};

const INDENT: usize = 2;
const GAP: usize = 2;
/// A column that may shrink keeps at least this much.
const NARROWEST: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    right: bool,
    shrinks: bool,
}

impl Column {
    pub(crate) fn text(title: &'static str) -> Self {
        Self { title, right: false, shrinks: false }
    }

    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// Right-aligned, so that digits stand below digits.
    pub(crate) fn number(title: &'static str) -> Self {
        Self { title, right: true, shrinks: false }
    }

    /// Text that is cut when the terminal is too narrow.
    pub(crate) fn long(title: &'static str) -> Self {
        Self { title, right: false, shrinks: true }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> Self {
        Self { text: clean::line(text.as_ref()).into_owned(), style }
    }
}

impl Cell {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row; it should have a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table, header first where any column has a title.
    pub(crate) fn lines(&self, terminal: Option<usize>) -> Vec<Line> {
        let widths = self.widths(terminal);
        let titles = self.columns.iter().map(|column| Cell::styled(style::DIM, column.title));
        let titles: Vec<Cell> = titles.collect();
        let header = titles.iter().any(|title| !title.text.is_empty()).then_some(&titles);
        header.into_iter().chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn widths(&self, terminal: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.title.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let Some(terminal) = terminal else { return widths };
        let gaps = INDENT + GAP * self.columns.len().saturating_sub(1);
        let mut over = (gaps + widths.iter().sum::<usize>()).saturating_sub(terminal);
        for (width, column) in widths.iter_mut().zip(&self.columns).rev() {
            if column.shrinks {
                let less = over.min(width.saturating_sub(NARROWEST));
                *width -= less;
                over -= less;
            }
        }
        widths
    }

    fn line(&self, row: &[Cell], widths: &[usize]) -> Line {
        let mut line = Line::new().text(" ".repeat(INDENT));
        let last = row.len().saturating_sub(1);
        for (n, ((cell, width), column)) in row.iter().zip(widths).zip(&self.columns).enumerate() {
            let text = cut(&cell.text, *width);
            let space = " ".repeat(width.saturating_sub(text.width()));
            line = if column.right {
                line.text(space).styled(cell.style, text)
            } else if n == last {
                line.styled(cell.style, text)
            } else {
                line.styled(cell.style, text).text(space)
            };
            if n != last {
                line = line.text(" ".repeat(GAP));
            }
        }
        line
    }
}

/// The text within a width, `…` for what had to go.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_by_what_is_shown() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }

    #[test]
    fn numbers_right_and_the_long_column_shrinks() {
        let mut table =
            Table::new([Column::text("NAME"), Column::number("FILES"), Column::long("PATH")]);
        table.row(["日本".into(), "7".into(), "/a/very/long/path".into()]);
        table.row(["x\x1b".into(), "1,234".into(), "/b".into()]);
        let show = |width| {
            let lines = table.lines(width);
            let text = lines.iter().map(|line| anstream::adapter::strip_str(line.as_str()));
            text.map(|line| line.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            show(None),
            ["  NAME  FILES  PATH", "  日本      7  /a/very/long/path", "  x     1,234  /b"]
        );
        assert_eq!(show(Some(27))[1], "  日本      7  /a/very/lon…");
        assert_eq!(
            show(Some(5))[1],
            "  日本      7  /a/very…",
            "never narrower than it makes sense"
        );
    }
}
