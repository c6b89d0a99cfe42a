//! Prints the tables of reports for people.

use std::io::Write;

use backstory_core::clean;

use crate::error::Result;

/// A table whose first columns are text and whose others are numbers.
pub(super) struct Table {
    texts: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with headings; the first `texts` columns are text.
    pub(super) fn new<'a>(headings: impl IntoIterator<Item = &'a str>, texts: usize) -> Self {
        Self { texts, rows: vec![headings.into_iter().map(str::to_owned).collect()] }
    }

    /// Adds a row. Control characters are removed, because others wrote the text.
    pub(super) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| clean::one_line(cell).collect()).collect());
    }

    /// Prints the table.
    pub(super) fn print(&self, out: &mut dyn Write) -> Result<()> {
        let width = |cell: &String| cell.chars().count();
        let columns = self.rows.first().map_or(0, Vec::len);
        let widths: Vec<usize> = (0..columns)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(width).max().unwrap_or(0))
            .collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                if at < self.texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
