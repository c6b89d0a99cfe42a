//! Budgets: the amount spent, and a forecast.

use std::str::FromStr;

use backstory_core::money::Usd;
use backstory_core::pricing::Bill;
use backstory_core::query::spending::Pace;
use backstory_core::time::Period;
use serde::Serialize;

use crate::context::Context;
use crate::error::Result;
use crate::output::Printer;
use crate::output::number::percent;

/// A number of dollars per day, week or month.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    sum: Usd,
    each: &'static str,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (sum, each) = text.split_once('/').ok_or("expected a budget like 200/month")?;
        let each = match each {
            "day" => "day",
            "week" => "week",
            "month" => "month",
            other => return Err(format!("`{other}` is not one of day, week, month")),
        };
        let sum: Usd = sum
            .trim_start_matches('$')
            .parse()
            .map_err(|error| format!("`{sum}` is not an amount in dollars: {error}"))?;
        Ok(Self { sum, each })
    }
}

/// The state of a budget.
#[derive(Debug, Serialize)]
pub(crate) struct BudgetState {
    each: &'static str,
    limit_usd: Usd,
    pub(crate) is_over: bool,
    #[serde(flatten)]
    pace: Pace,
}

impl Budget {
    pub(crate) fn standing(
        &self,
        ctx: &Context,
        spent: impl FnOnce(Period) -> Result<Bill>,
    ) -> Result<BudgetState> {
        let pace = Pace::of(self.each, &ctx.zoned_now(), spent)?;
        Ok(BudgetState {
            each: self.each,
            limit_usd: self.sum,
            is_over: pace.spent_usd > self.sum,
            pace,
        })
    }
}

impl BudgetState {
    /// Prints the budget. In a table it is part of the answer; for programs it is a note on stderr.
    pub(crate) fn tell(&self, printer: &mut Printer, for_people: bool) -> Result<()> {
        let micro = |usd: Usd| u64::try_from(usd.pico() / 1_000_000).unwrap_or(u64::MAX);
        let text = format!(
            "Budget: {} of {} {} ({}); at this pace, {} by the end of the {}.",
            self.pace.bill.marked(self.pace.spent_usd),
            self.limit_usd.short(),
            if self.each == "day" { "today".to_owned() } else { format!("this {}", self.each) },
            percent(micro(self.pace.spent_usd), micro(self.limit_usd)),
            self.pace.bill.marked(self.pace.forecast_usd),
            self.each
        );
        if for_people {
            printer.line(text)?;
        } else {
            printer.note(text);
        }
        if self.is_over {
            let limit = self.limit_usd.short();
            printer.warn(format!("the budget of {limit} per {} is exceeded", self.each));
        }
        Ok(())
    }
}
