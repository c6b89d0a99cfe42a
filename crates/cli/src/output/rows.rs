//! Rows in the requested format.

use clap::ValueEnum;

use super::table::{Cell, Column, Table};
use super::{Line, clean};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// One document with a `schema` field
    Json,
    /// The rows as JSON, one per line
    Jsonl,
    /// Comma-separated values, for spreadsheets
    Csv,
    /// A Markdown table
    Md,
}

impl Format {
    /// Returns the requested format; `--json` overrides it.
    pub(crate) fn or_json(self, json: bool) -> Self {
        if json { Self::Json } else { self }
    }
}

/// Formats a CSV field, quoted if necessary. A value that a spreadsheet would run as a formula is prefixed
/// with an apostrophe, because session text is untrusted.
pub(crate) fn csv_field(text: &str) -> String {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let guard = if is_formula { "'" } else { "" };
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

/// Columns and rows that can be printed in several formats.
pub(crate) struct Rows {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Rows {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn table(&self, width: Option<usize>) -> Vec<Line> {
        let mut table = Table::new(self.columns.iter().copied());
        for row in &self.rows {
            table.row(row.iter().cloned());
        }
        table.lines(width)
    }

    /// Formats the rows as in RFC 4180, but with LF instead of CRLF, which every reader accepts.
    pub(super) fn csv(&self) -> String {
        let line =
            |cells: &[&str]| cells.iter().map(|text| csv_field(text)).collect::<Vec<_>>().join(",");
        let out = self.joined(line);
        // Programs know columns by names like those of fields in documents.
        let (names, rows) = out.split_once('\n').unwrap_or_default();
        format!("{}\n{rows}", names.to_lowercase().replace(' ', "_"))
    }

    pub(super) fn markdown(&self) -> String {
        let escape = |text: &str| clean::line(text).replace('\\', "\\\\").replace('|', "\\|");
        let line = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|text| escape(text)).collect();
            format!("| {} |", cells.join(" | "))
        };
        let mut out = self.joined(line);
        let rule = vec!["---"; self.columns.len()].join(" | ");
        let header = out.find('\n').map_or(out.len(), |at| at + 1);
        out.insert_str(header, &format!("| {rule} |\n"));
        out
    }

    fn joined(&self, line: impl Fn(&[&str]) -> String) -> String {
        let titles: Vec<&str> = self.columns.iter().map(Column::title).collect();
        let mut out = line(&titles) + "\n";
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(Cell::text).collect();
            out.push_str(&line(&cells));
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_read_it() {
        let mut rows = Rows::new([Column::text("a"), Column::text("B c")]);
        rows.row(["1,5".into(), "say \"hi\"".into()]);
        rows.row(["x|y".into(), "z".into()]);
        assert_eq!(rows.csv(), "a,b_c\n\"1,5\",\"say \"\"hi\"\"\"\nx|y,z\n");
        let fields = ["=1+1", "-3.5", "-x", "@a", "+1,5", "a=b", ""].map(csv_field);
        assert_eq!(fields, ["'=1+1", "-3.5", "'-x", "'@a", "\"'+1,5\"", "a=b", ""]);
        assert_eq!(
            rows.markdown(),
            "| a | B c |\n| --- | --- |\n| 1,5 | say \"hi\" |\n| x\\|y | z |\n"
        );
    }
}
