//! A small table: columns are aligned by display width and cut to the terminal.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Line, clean, style};

const INDENT: usize = 2;
const GAP: usize = 2;
/// The minimum width of a column that may shrink.
const NARROWEST: usize = 8;
/// Columns are dropped before one shrinks below this width.
const READABLE: usize = 24;
/// The maximum width when stdout is not a terminal.
const ENOUGH: usize = 200;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    right: bool,
    shrinks: Option<End>,
    /// The order in which columns are dropped when there is not enough room, the highest first; 0 is never
    /// dropped.
    spare: u8,
}

/// The end at which a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl Column {
    pub(crate) fn text(title: &'static str) -> Self {
        Self { title, right: false, shrinks: None, spare: 0 }
    }

    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// A right-aligned column, so that digits line up.
    pub(crate) fn number(title: &'static str) -> Self {
        Self { right: true, ..Self::text(title) }
    }

    /// A column of text that is cut when the terminal is too narrow.
    pub(crate) fn long(title: &'static str) -> Self {
        Self { shrinks: Some(End::Back), ..Self::text(title) }
    }

    /// A column of paths, which are cut at the front because their end identifies them best.
    pub(crate) fn path(title: &'static str) -> Self {
        Self { shrinks: Some(End::Front), ..Self::text(title) }
    }

    /// Marks a column that is dropped when the terminal is too narrow, the highest number first.
    pub(crate) fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
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

    /// Adds a row, which should have one cell per column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the lines of the table, with a header if any column has a title.
    pub(crate) fn lines(&self, terminal: Option<usize>) -> Vec<Line> {
        let mut widths = self.widths();
        let shown = fit(&self.columns, &mut widths, terminal);
        let titles = self.columns.iter().map(|column| Cell::styled(style::DIM, column.title));
        let titles: Vec<Cell> = titles.collect();
        let header = titles.iter().any(|title| !title.text.is_empty()).then_some(&titles);
        header.into_iter().chain(&self.rows).map(|row| self.line(row, &widths, &shown)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.title.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        widths
    }

    fn line(&self, row: &[Cell], widths: &[usize], shown: &[usize]) -> Line {
        let mut line = Line::new().text(" ".repeat(INDENT));
        let is_filled = |n: &usize| row.get(*n).is_some_and(|cell| !cell.text.is_empty());
        let last = shown.iter().copied().rev().find(is_filled).unwrap_or_default();
        for n in shown.iter().copied().filter(|n| *n <= last) {
            let (Some(cell), width, column) = (row.get(n), &widths[n], &self.columns[n]) else {
                continue;
            };
            let text = match column.shrinks {
                Some(End::Front) => cut_front(&cell.text, *width),
                _ => cut(&cell.text, *width),
            };
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

/// Returns the columns that fit, and shrinks those that can shrink.
fn fit(columns: &[Column], widths: &mut [usize], terminal: Option<usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..columns.len()).filter(|n| widths[*n] > 0).collect();
    let Some(terminal) = terminal else {
        for (width, column) in widths.iter_mut().zip(columns) {
            if column.shrinks.is_some() {
                *width = (*width).min(ENOUGH);
            }
        }
        return shown;
    };
    let over = |shown: &[usize], widths: &[usize]| {
        let gaps = INDENT + GAP * shown.len().saturating_sub(1);
        (gaps + shown.iter().map(|n| widths[*n]).sum::<usize>()).saturating_sub(terminal)
    };
    let slack = |widths: &[usize], least: usize| -> usize {
        let shrink = columns.iter().zip(widths).filter(|(column, _)| column.shrinks.is_some());
        shrink.map(|(_, width)| width.saturating_sub(least)).sum()
    };
    while over(&shown, widths) > slack(widths, READABLE) {
        let spare = shown.iter().copied().max_by_key(|n| columns[*n].spare);
        match spare.filter(|n| columns[*n].spare > 0) {
            Some(spare) => shown.retain(|n| *n != spare),
            None => break,
        }
    }
    let mut over = over(&shown, widths);
    for n in shown.iter().copied().rev().filter(|n| columns[*n].shrinks.is_some()) {
        let less = over.min(widths[n].saturating_sub(NARROWEST));
        widths[n] -= less;
        over -= less;
    }
    shown
}

/// Cuts a text at its front to a width.
fn cut_front(text: &str, width: usize) -> String {
    let turned = |text: &str| text.chars().rev().collect::<String>();
    if text.width() <= width { text.to_owned() } else { turned(&cut(&turned(text), width)) }
}

/// Cuts a text to a width, with `…` at the cut.
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

    #[test]
    fn what_there_is_no_room_for_is_left_out() {
        let mut table = Table::new([
            Column::text("DAY"),
            Column::number("CACHED").spare(1),
            Column::number("THOUGHTS").spare(2),
            Column::number("COST"),
            Column::path("PATH"),
        ]);
        table.row([
            "2026-08-01".into(),
            "1,234,567".into(),
            "1".into(),
            "$2".into(),
            "/a/long/path/to/it".into(),
        ]);
        let show = |width| {
            let lines = table.lines(Some(width));
            anstream::adapter::strip_str(lines[1].as_str()).to_string()
        };
        assert_eq!(show(90), "  2026-08-01  1,234,567         1    $2  /a/long/path/to/it");
        assert_eq!(show(56), "  2026-08-01  1,234,567    $2  /a/long/path/to/it");
        assert_eq!(show(40), "  2026-08-01    $2  /a/long/path/to/it");
        assert_eq!(show(30), "  2026-08-01    $2  …ath/to/it");
    }
}
