//! Budgets: the amount spent, and a forecast.

use std::str::FromStr;

use backstory_core::money::Usd;
use backstory_core::pricing::Bill;
use backstory_core::query::spending::{CalendarPeriod, Spending};
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
    each: CalendarPeriod,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (sum, each) = text.split_once('/').ok_or("expected a budget like 200/month")?;
        let each = CalendarPeriod::ALL
            .into_iter()
            .find(|period| period.name() == each)
            .ok_or_else(|| format!("`{each}` is not one of day, week, month"))?;
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
    each: CalendarPeriod,
    limit_usd: Usd,
    pub(crate) is_over: bool,
    #[serde(flatten)]
    spending: Spending,
}

impl Budget {
    /// Compares the budget with the spending in its current period.
    pub(crate) fn state(
        &self,
        ctx: &Context,
        spent: impl FnOnce(Period) -> Result<Bill>,
    ) -> Result<BudgetState> {
        let spending = Spending::of(self.each, &ctx.zoned_now(), spent)?;
        Ok(BudgetState {
            each: self.each,
            limit_usd: self.sum,
            is_over: spending.spent_usd > self.sum,
            spending,
        })
    }
}

impl BudgetState {
    /// Prints the budget. In a table it is part of the answer; for programs it is a note on stderr.
    pub(crate) fn print(&self, printer: &mut Printer, for_people: bool) -> Result<()> {
        let micro = |usd: Usd| u64::try_from(usd.pico() / 1_000_000).unwrap_or(u64::MAX);
        let Spending { spent_usd, forecast_usd, bill, .. } = &self.spending;
        let each = self.each.name();
        let text = format!(
            "Budget: {} of {} {} ({}); at this pace, {} by the end of the {each}.",
            bill.marked(*spent_usd),
            self.limit_usd.short(),
            match self.each {
                CalendarPeriod::Day => "today",
                CalendarPeriod::Week => "this week",
                CalendarPeriod::Month => "this month",
            },
            percent(micro(*spent_usd), micro(self.limit_usd)),
            bill.marked(*forecast_usd),
        );
        if for_people {
            printer.line(text)?;
        } else {
            printer.note(text);
        }
        if self.is_over {
            let limit = self.limit_usd.short();
            printer.warn(format!("the budget of {limit} per {each} is exceeded"));
        }
        Ok(())
    }
}
