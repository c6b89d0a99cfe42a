//! Rows in the requested format.

use backstory_core::export::plain::Plain;
use clap::ValueEnum;

use super::Line;
use super::table::{Cell, Column, Table};

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

    /// Returns the rows for other programs.
    pub(super) fn plain(&self) -> Plain {
        let name = |column: &Column| column.title().to_lowercase().replace(' ', "_");
        let mut plain = Plain::new(self.columns.iter().map(name));
        for row in &self.rows {
            plain.row(row.iter().map(Cell::text));
        }
        plain
    }
}
