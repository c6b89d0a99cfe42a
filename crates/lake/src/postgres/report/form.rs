//! The form of a report: for people, or for programs.

use std::io::Write;

use backstory_core::export::plain::Plain;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::error::{Error, Result};

/// The flags of local commands for the form of an answer.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// Print one JSON document with a `schema` field, for programs
    #[arg(long)]
    json: bool,

    /// The format of the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Form {
    /// Returns the requested format; `--json` overrides it.
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
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

/// Prints a document.
pub(super) fn print_json(out: &mut dyn Write, document: &impl Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)
        .map_err(|error| Error::Output(error.into()))?;
    Ok(out.write_all(b"\n")?)
}

/// Prints rows as JSON, one per line.
pub(super) fn print_lines(
    out: &mut dyn Write,
    rows: impl IntoIterator<Item = impl Serialize>,
) -> Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, &row).map_err(|error| Error::Output(error.into()))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Prints rows for other programs: as CSV, otherwise as Markdown.
pub(super) fn print_plain(out: &mut dyn Write, rows: &Plain, format: Format) -> Result<()> {
    let text = if format == Format::Csv { rows.csv() } else { rows.markdown() };
    Ok(out.write_all(text.as_bytes())?)
}
