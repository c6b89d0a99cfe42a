//! The answer for programs: `backstory.usage/1`, and its rows alone.

use backstory_core::export::usage::{Basis, Document, RowOut};
use backstory_core::query::spending::Spending;
use serde::Serialize;

use super::Page;
use super::blocks::BlockOut;
use super::footer::Prompts;
use crate::commands::budget::BudgetState;
use crate::commands::show::ViewArg;

/// The end of the document.
#[derive(Serialize)]
pub(super) struct More<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<&'a BudgetState>,
    /// The cost of the current month with the same filters, and its forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<&'a Spending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Prompts>,
}

impl Page<'_> {
    /// Returns the rows for programs.
    pub(super) fn rows_out(&self) -> impl Iterator<Item = RowOut<'_, BlockOut>> {
        let rows = self.answer.rows.iter().enumerate();
        rows.map(|(at, row)| RowOut::new(row, self.block_out(at)))
    }

    pub(super) fn document(&self) -> Document<'_, BlockOut, More<'_>> {
        let basis = Basis {
            group: self.group.name(),
            tz: self.ctx.zone_name(),
            current: self.args.view == ViewArg::Current,
            faults: self.faults(),
            table_date: self.library.prices.date().to_string(),
        };
        let more = More { budget: self.budget, month: self.month, prompts: self.prompts };
        Document::new(basis, self.answer, self.rows_out().collect(), more)
    }
}
