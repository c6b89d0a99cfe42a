//! The document `backstory.usage/1`, which every program that answers [`query::usage`](crate::query::usage) prints.

use serde::Serialize;

use super::json::UsageRow;
use super::plain::Plain;
use crate::model::{Bucket, Usage};
use crate::pricing::Bill;
use crate::query::usage::{Answer, Row, Sum};

/// `backstory.usage/1`. Blocks (`B`) are described in rows, and whatever else a program adds (`M`) at the end.
#[derive(Debug, Serialize)]
pub struct Document<'a, B, M> {
    schema: &'static str,
    group: &'a str,
    tz: String,
    view: &'static str,
    rows: Vec<RowOut<'a, B>>,
    total: SumOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    unrecorded: Option<UsageRow>,
    faults: Faults,
    pricing: Pricing<'a>,
    #[serde(flatten)]
    more: M,
}

/// The circumstances of an answer.
#[derive(Debug)]
pub struct Basis<'a> {
    /// The name of the group.
    pub group: &'a str,
    /// The name of the time zone.
    pub tz: String,
    /// Whether only calls count that the agent would still load.
    pub current: bool,
    /// Records that could not be read.
    pub faults: Faults,
    /// The date of the price table.
    pub table_date: String,
}

impl<'a, B, M> Document<'a, B, M> {
    /// Creates the document of an answer; `rows` are its rows.
    pub fn new(basis: Basis<'a>, answer: &'a Answer, rows: Vec<RowOut<'a, B>>, more: M) -> Self {
        let unrecorded: &Usage = &answer.unrecorded;
        Self {
            schema: "backstory.usage/1",
            group: basis.group,
            tz: basis.tz,
            view: if basis.current { "current" } else { "full" },
            rows,
            total: SumOut::new(&answer.total),
            unrecorded: (unrecorded.total() > 0).then(|| UsageRow::new(unrecorded)),
            faults: basis.faults,
            pricing: Pricing {
                table_date: basis.table_date,
                unpriced_models: &answer.unpriced_models,
            },
            more,
        }
    }
}

/// One row of the document.
#[derive(Debug, Serialize)]
pub struct RowOut<'a, B> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    sum: SumOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<B>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<RowOut<'a, B>>,
}

impl<'a, B> RowOut<'a, B> {
    /// Creates a row; `block` describes its window of time, if rows are windows.
    pub fn new(row: &'a Row, block: Option<B>) -> Self {
        Self {
            key: &row.key,
            text: row.text.as_deref(),
            sum: SumOut::new(&row.sum),
            block,
            models: row.models.iter().map(|model| RowOut::new(model, None)).collect(),
        }
    }
}

/// Returns the rows for spreadsheets.
pub fn plain(rows: &[Row]) -> Plain {
    let buckets = Bucket::ALL.map(Bucket::name);
    let last = ["total", "cost_usd", "at_least", "unpriced_calls"];
    let mut out = Plain::new(["key", "calls", "sessions"].into_iter().chain(buckets).chain(last));
    for Row { key, sum, .. } in rows {
        let buckets = Bucket::ALL.map(|bucket| sum.usage.get(bucket));
        let numbers =
            [sum.calls, sum.sessions].into_iter().chain(buckets).chain([sum.usage.total()]);
        let mut cells = vec![key.clone()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.push(sum.bill.usd.map(|usd| usd.to_string()).unwrap_or_default());
        cells.push(sum.bill.at_least.to_string());
        cells.push(sum.bill.unpriced.to_string());
        out.row(cells);
    }
    out
}

#[derive(Debug, Serialize)]
struct SumOut {
    calls: u64,
    sessions: u64,
    #[serde(flatten)]
    usage: UsageRow,
    #[serde(flatten)]
    cost: Bill,
    undated_calls: u64,
}

impl SumOut {
    fn new(sum: &Sum) -> Self {
        Self {
            calls: sum.calls,
            sessions: sum.sessions,
            usage: UsageRow::new(&sum.usage),
            cost: sum.bill,
            undated_calls: sum.undated,
        }
    }
}

/// Records that could not be read.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Faults {
    /// The number of files.
    pub files: u64,
    /// The number of records.
    pub records: u64,
}

#[derive(Debug, Serialize)]
struct Pricing<'a> {
    table_date: String,
    unpriced_models: &'a [String],
}
