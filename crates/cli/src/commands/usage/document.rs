//! The answer for programs: `backstory.usage/1`, and its rows alone.

use backstory_core::export::json::UsageRow;
use backstory_core::model::Bucket;
use backstory_core::pricing::Bill;
use backstory_core::query::usage::{Row, Sum};
use serde::Serialize;

use super::Page;
use super::blocks::BlockOut;
use super::footer::Prompts;
use crate::commands::budget::{Pace, Standing};
use crate::commands::show::ViewArg;
use crate::output::rows::Rows;
use crate::output::{Cell, Column};

/// `backstory.usage/1`
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    group: &'static str,
    tz: String,
    view: &'static str,
    rows: Vec<RowOut<'a>>,
    total: SumOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    unrecorded: Option<UsageRow>,
    faults: Faults,
    pricing: Pricing<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<&'a Standing>,
    /// The cost of the current month with the same filters, and its forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<&'a Pace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Prompts>,
}

#[derive(Serialize)]
pub(super) struct RowOut<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    sum: SumOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<BlockOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<RowOut<'a>>,
}

impl<'a> RowOut<'a> {
    fn new(row: &'a Row) -> Self {
        Self {
            key: &row.key,
            text: row.text.as_deref(),
            sum: SumOut::new(&row.sum),
            block: None,
            models: row.models.iter().map(RowOut::new).collect(),
        }
    }
}

#[derive(Serialize)]
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

#[derive(Serialize)]
pub(super) struct Faults {
    pub(super) files: u64,
    pub(super) records: u64,
}

#[derive(Serialize)]
struct Pricing<'a> {
    table_date: String,
    unpriced_models: &'a [String],
}

impl Page<'_> {
    /// Returns the rows for programs.
    pub(super) fn rows_out(&self) -> impl Iterator<Item = RowOut<'_>> {
        let rows = self.answer.rows.iter().enumerate();
        rows.map(|(at, row)| RowOut { block: self.block_out(at), ..RowOut::new(row) })
    }

    pub(super) fn document(&self) -> Document<'_> {
        Document {
            schema: "backstory.usage/1",
            group: self.group.name(),
            tz: self.ctx.zone_name(),
            view: if self.args.view == ViewArg::Current { "current" } else { "full" },
            rows: self.rows_out().collect(),
            total: SumOut::new(&self.answer.total),
            unrecorded: Some(&self.answer.unrecorded)
                .filter(|usage| usage.total() > 0)
                .map(UsageRow::new),
            faults: self.faults(),
            pricing: Pricing {
                table_date: self.library.prices.date().to_string(),
                unpriced_models: &self.answer.unpriced_models,
            },
            budget: self.budget,
            month: self.month,
            prompts: self.prompts,
        }
    }

    /// Returns the answer as a table for spreadsheets.
    pub(super) fn plain(&self) -> Rows {
        let buckets = Bucket::ALL.map(Bucket::name);
        let ending = ["total", "cost_usd", "at_least", "unpriced_calls"];
        let names = ["key", "calls", "sessions"].into_iter().chain(buckets).chain(ending);
        let mut rows = Rows::new(names.map(Column::text));
        for row in &self.answer.rows {
            let (sum, usage) = (&row.sum, &row.sum.usage);
            let buckets = Bucket::ALL.map(|bucket| usage.get(bucket));
            let numbers = [sum.calls, sum.sessions].into_iter().chain(buckets);
            let mut cells = vec![Cell::from(&row.key)];
            let numbers = numbers.chain([usage.total()]);
            cells.extend(numbers.map(|number| Cell::from(number.to_string())));
            let bill = &sum.bill;
            cells.push(bill.usd.map(|usd| usd.to_string()).unwrap_or_default().into());
            cells.push(bill.at_least.to_string().into());
            cells.push(bill.unpriced.to_string().into());
            rows.row(cells);
        }
        rows
    }
}
