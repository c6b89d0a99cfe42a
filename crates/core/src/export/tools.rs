//! The document `backstory.tools/1`, which every program that answers [`query::tools`](crate::query::tools) prints.

use serde::Serialize;

use super::plain::Plain;
use crate::number::rounded_percent;
use crate::query::failures;
use crate::query::tools::{Group, Row};
use crate::time::Time;

/// `backstory.tools/1`
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    group: &'static str,
    rows: Vec<RowOut<'a>>,
    failures: Vec<FailureOut<'a>>,
}

impl<'a> Document<'a> {
    /// Creates the document of an answer.
    pub fn new(group: Group, rows: &'a [Row], failures: &'a [failures::Row]) -> Self {
        Self {
            schema: "backstory.tools/1",
            group: group.name(),
            rows: rows.iter().map(|row| RowOut::new(row, group)).collect(),
            failures: failures.iter().map(FailureOut::new).collect(),
        }
    }
}

/// One row of the document.
#[derive(Debug, Serialize)]
pub struct RowOut<'a> {
    name: &'a str,
    label: &'a str,
    canonical: &'static str,
    category: &'static str,
    server: Option<&'a str>,
    calls: u64,
    success: u64,
    error: u64,
    cancelled: u64,
    unfinished: u64,
    lines_added: u64,
    lines_removed: u64,
}

impl<'a> RowOut<'a> {
    /// Creates a row.
    pub fn new(row: &'a Row, group: Group) -> Self {
        Self {
            name: if group == Group::Tool { &row.name.name } else { &row.key },
            label: &row.name.label,
            canonical: row.name.canonical,
            category: row.name.category,
            server: row.name.server.as_deref(),
            calls: row.counts.calls,
            success: row.counts.success,
            error: row.counts.error,
            cancelled: row.counts.cancelled,
            unfinished: row.counts.unfinished,
            lines_added: row.counts.lines_added,
            lines_removed: row.counts.lines_removed,
        }
    }
}

/// Returns the rows for spreadsheets. A group of several tools has no single label.
pub fn plain(rows: &[Row], group: Group) -> Plain {
    let has_label = group == Group::Tool;
    let names =
        ["calls", "ok", "error", "cancelled", "unfinished", "failed_percent", "added", "removed"];
    let mut out =
        Plain::new([group.name()].into_iter().chain(has_label.then_some("label")).chain(names));
    for Row { key, name, counts } in rows {
        let numbers = [
            counts.calls,
            counts.success,
            counts.error,
            counts.cancelled,
            counts.unfinished,
            rounded_percent(counts.error, counts.calls),
            counts.lines_added,
            counts.lines_removed,
        ];
        let texts = [key].into_iter().chain(has_label.then_some(&name.label)).cloned();
        out.row(texts.chain(numbers.map(|number| number.to_string())));
    }
    out
}

#[derive(Debug, Serialize)]
struct FailureOut<'a> {
    tool: &'a str,
    text: &'a str,
    count: u64,
    last: Option<Time>,
    session: &'a str,
    example: &'a str,
}

impl<'a> FailureOut<'a> {
    fn new(failure: &'a failures::Row) -> Self {
        let failures::Row { tool, text, count, last, session, example } = failure;
        Self { tool, text, count: *count, last: last.map(Time), session, example }
    }
}
