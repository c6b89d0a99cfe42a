//! A small table: columns are aligned by display width and fitted to the terminal.

use anstyle::Style;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::text::{cut, cut_front};
use super::{Line, clean, number, style};

const INDENT: usize = 2;
const GAP: usize = 2;
/// The minimum width of a column that may shrink.
const NARROWEST: usize = 8;
/// Columns are dropped before one shrinks below this width.
const READABLE: usize = 24;
/// The maximum width when stdout is not a terminal.
const ENOUGH: usize = 200;
/// The narrowest terminal that tables are fitted to.
const LEAST: usize = 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    right: bool,
    shrinks: Option<End>,
    /// Whether other columns are dropped before this one gets less than half of the terminal.
    is_main: bool,
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
        Self { title, right: false, shrinks: None, is_main: false, spare: 0 }
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

    /// The column that people read first: it keeps half of the terminal if it needs it.
    pub(crate) fn main(title: &'static str) -> Self {
        Self { is_main: true, ..Self::long(title) }
    }

    /// A column of paths, which are cut at the front because their end identifies them best.
    pub(crate) fn path(title: &'static str) -> Self {
        Self { shrinks: Some(End::Front), ..Self::text(title) }
    }

    /// Marks a column that is dropped when the terminal is too narrow, the highest number first.
    pub(crate) fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Returns the width at which other columns are dropped rather than shrinking this one further.
    fn comfort(&self, width: usize, terminal: usize) -> usize {
        match self.shrinks {
            None => width,
            Some(_) if self.is_main => width.min(terminal / 2),
            Some(_) => width.min(READABLE),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    /// The text where room is scarce.
    short: Option<String>,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> Self {
        Self { text: clean::line(text.as_ref()).into_owned(), short: None, style }
    }

    /// Sets a shorter text for a narrow terminal.
    pub(crate) fn or(self, short: impl AsRef<str>) -> Self {
        Self { short: Some(clean::line(short.as_ref()).into_owned()), ..self }
    }

    /// Formats the time since a moment: `10 hours ago`, or `10h` where room is scarce.
    pub(crate) fn age(at: Option<Timestamp>, now: Timestamp) -> Self {
        let text = at.map(|at| number::relative(at, now)).unwrap_or_default();
        Self::from(text).or(at.map(|at| number::age(at, now)).unwrap_or_default())
    }

    /// Formats a number: `1,234,567`, or `1.2M` where room is scarce.
    pub(crate) fn count(number: u64) -> Self {
        Self::from(number::count(number)).or(number::brief(number))
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn shown(&self, short: bool) -> &str {
        self.short.as_deref().filter(|_| short).unwrap_or(&self.text)
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
        let fit = match terminal {
            Some(terminal) => self.fit(terminal.max(LEAST)),
            None => self.whole(),
        };
        let titles = self.columns.iter().map(|column| Cell::styled(style::DIM, column.title));
        let titles: Vec<Cell> = titles.collect();
        let header = titles.iter().any(|title| !title.text.is_empty()).then_some(&titles);
        // Columns that may not be dropped can be too many for a narrow terminal.
        let width = terminal.map(|terminal| terminal.max(LEAST));
        let rows = header.into_iter().chain(&self.rows);
        rows.map(|row| self.line(row, &fit).cut(width)).collect()
    }

    fn widths(&self, short: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.title.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown(short).width());
            }
        }
        widths
    }

    /// Returns every column, with long texts cut.
    fn whole(&self) -> Fit {
        let mut widths = self.widths(false);
        for (width, column) in widths.iter_mut().zip(&self.columns) {
            if column.shrinks.is_some() {
                *width = (*width).min(ENOUGH);
            }
        }
        Fit { shown: used(&widths), widths, short: false }
    }

    /// Chooses what is shown in a terminal: everything if it fits, then short forms, then fewer columns.
    fn fit(&self, terminal: usize) -> Fit {
        let widths = self.widths(false);
        let mut fit = Fit { shown: used(&widths), widths, short: false };
        while self.needs(&fit, terminal) > terminal {
            let spare = fit.shown.iter().copied().max_by_key(|n| self.columns[*n].spare);
            let spare = spare.filter(|n| self.columns[*n].spare > 0);
            match spare {
                _ if !fit.short => fit = Fit { widths: self.widths(true), short: true, ..fit },
                Some(spare) => fit.shown.retain(|n| *n != spare),
                None => break,
            }
        }
        self.shrink(&mut fit, terminal);
        fit
    }

    /// Returns the width at which every column can be read.
    fn needs(&self, fit: &Fit, terminal: usize) -> usize {
        let comfort = |n: &usize| self.columns[*n].comfort(fit.widths[*n], terminal);
        fit.shown.iter().map(comfort).sum::<usize>() + margins(&fit.shown)
    }

    /// Shrinks the columns that may, the widest first and the main one last; if that is not enough, any but the first.
    fn shrink(&self, fit: &mut Fit, terminal: usize) {
        let Fit { shown, widths, .. } = fit;
        for n in shown.iter() {
            widths[*n] = widths[*n].min(terminal);
        }
        let may_shrink = |n: usize| self.columns[n].shrinks.is_some();
        let comfort: Vec<usize> =
            (0..widths.len()).map(|n| self.columns[n].comfort(widths[n], terminal)).collect();
        let stages: [&dyn Fn(usize) -> Option<usize>; 4] = [
            &|n| (may_shrink(n) && !self.columns[n].is_main).then_some(comfort[n]),
            &|n| may_shrink(n).then_some(comfort[n]),
            &|n| may_shrink(n).then_some(NARROWEST),
            &|n| Some(if n == shown[0] { NARROWEST } else { 1 }),
        ];
        let needed = |widths: &[usize]| shown.iter().map(|n| widths[*n]).sum::<usize>();
        for least in stages {
            while needed(widths) + margins(shown) > terminal {
                let can = |n: &usize| least(*n).is_some_and(|least| widths[*n] > least);
                match shown.iter().copied().filter(can).max_by_key(|n| widths[*n]) {
                    Some(widest) => widths[widest] -= 1,
                    None => break,
                }
            }
        }
    }

    fn line(&self, row: &[Cell], fit: &Fit) -> Line {
        let mut line = Line::new().text(" ".repeat(INDENT));
        let is_filled = |n: &usize| row.get(*n).is_some_and(|cell| !cell.text.is_empty());
        let last = fit.shown.iter().copied().rev().find(is_filled).unwrap_or_default();
        for n in fit.shown.iter().copied().filter(|n| *n <= last) {
            let (Some(cell), width, column) = (row.get(n), fit.widths[n], &self.columns[n]) else {
                continue;
            };
            let text = match column.shrinks {
                Some(End::Front) => cut_front(cell.shown(fit.short), width),
                _ => cut(cell.shown(fit.short), width),
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

/// The columns that are shown, their widths, and whether cells are in their short form.
struct Fit {
    shown: Vec<usize>,
    widths: Vec<usize>,
    short: bool,
}

/// Returns the columns that are not empty.
fn used(widths: &[usize]) -> Vec<usize> {
    (0..widths.len()).filter(|n| widths[*n] > 0).collect()
}

fn margins(shown: &[usize]) -> usize {
    INDENT + GAP * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_right_and_the_long_column_shrinks() {
        let mut table =
            Table::new([Column::text("NAME"), Column::number("FILES"), Column::long("PATH")]);
        table.row(["日本".into(), "7".into(), "/a/very/long/path".into()]);
        table.row(["x\x1b".into(), "1,234".into(), "/b".into()]);
        let show = |width| {
            let lines = table.lines(width);
            let plain = |line: &Line| anstream::adapter::strip_str(&line.render()).to_string();
            lines.iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(
            show(None),
            ["  NAME  FILES  PATH", "  日本      7  /a/very/long/path", "  x     1,234  /b"]
        );
        assert_eq!(show(Some(27))[1], "  日本      7  /a/very/lon…");
        assert_eq!(show(Some(5))[1], "  日本      7  /a/v…", "never narrower than 20 columns");
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
            anstream::adapter::strip_str(&lines[1].render()).to_string()
        };
        assert_eq!(show(90), "  2026-08-01  1,234,567         1    $2  /a/long/path/to/it");
        assert_eq!(show(56), "  2026-08-01  1,234,567    $2  /a/long/path/to/it");
        assert_eq!(show(40), "  2026-08-01    $2  /a/long/path/to/it");
        assert_eq!(show(30), "  2026-08-01    $2  …ath/to/it");
    }

    #[test]
    fn titles_keep_half_of_the_terminal() {
        let mut table = Table::new([
            Column::number(""),
            Column::text("UPDATED"),
            Column::number("TOKENS").spare(2),
            Column::text("PROJECT").spare(1),
            Column::main("TITLE"),
        ]);
        let title = "a title that is as long as sixty columns, or a little longer";
        let age = Cell::from("10 hours ago").or("10h");
        table.row(["@1".into(), age, "123,456".into(), "harbor".into(), title.into()]);
        let show = |width| {
            let lines = table.lines(Some(width));
            anstream::adapter::strip_str(&lines[1].render()).to_string()
        };
        assert_eq!(show(120), format!("  @1  10 hours ago  123,456  harbor   {title}"));
        assert_eq!(
            show(72),
            "  @1  10h      123,456  harbor   a title that is as long as sixty colum…"
        );
        assert_eq!(show(60), "  @1  10h      harbor   a title that is as long as sixty co…");
        assert_eq!(show(40), "  @1  10h      a title that is as long …");
    }

    proptest::proptest! {
        #[test]
        fn no_row_is_wider_than_the_terminal(
            cells in proptest::collection::vec("\\PC{0,40}", 5),
            kinds in proptest::collection::vec(0..5_usize, 5),
            width in LEAST..200,
        ) {
            let kinds = kinds.iter().enumerate().map(|(n, kind)| match kind {
                0 => Column::main("TITLE"),
                1 => Column::path("PATH"),
                2 => Column::number("TOKENS").spare(u8::try_from(n).unwrap()),
                3 => Column::long("TEXT").spare(1),
                _ => Column::text("PROJECT"),
            });
            let mut table = Table::new(kinds);
            table.row(cells.iter().map(Cell::from));
            for line in table.lines(Some(width)) {
                let line = anstream::adapter::strip_str(&line.render()).to_string();
                proptest::prop_assert!(line.width() <= width, "{:?}", line);
            }
        }
    }
}
