//! Budgets: the amount spent, and a forecast.

use std::str::FromStr;

use backstory_core::money::Usd;
use backstory_core::pricing::Bill;
use backstory_core::time::{self, Period};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Failure, Result};
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
pub(crate) struct Standing {
    each: &'static str,
    limit_usd: Usd,
    pub(crate) is_over: bool,
    #[serde(flatten)]
    pace: Pace,
}

/// The cost of the current day, week or month, and what it will be.
#[derive(Debug, Serialize)]
pub(crate) struct Pace {
    spent_usd: Usd,
    /// The cost at the end of the period at the current pace.
    forecast_usd: Usd,
    at_least: bool,
    unpriced_calls: u64,
    #[serde(skip)]
    bill: Bill,
    /// The time that has passed, in seconds.
    #[serde(skip)]
    passed: i64,
}

impl Pace {
    /// Returns the pace in the current `day`, `week` or `month`.
    fn new(ctx: &Context, each: &str, spent: impl FnOnce(Period) -> Result<Bill>) -> Result<Self> {
        let now = ctx.now.to_zoned(ctx.zone.clone());
        let word = match each {
            "day" => "today",
            "week" => "this-week",
            _ => "this-month",
        };
        let (start, end) =
            time::stretch(word, &now).ok_or_else(|| Failure::new("the clock is out of range"))?;
        let bill = spent(Period { since: Some(start), until: Some(end) })?;
        let spent = bill.usd.unwrap_or_default();
        let length = end.duration_since(start).as_secs().max(1);
        let passed = ctx.now.duration_since(start).as_secs().clamp(1, length);
        // The rest of the period is assumed to cost as much per second as the part that has passed.
        let forecast = Usd::from_pico(spent.pico() * i128::from(length) / i128::from(passed));
        Ok(Self {
            spent_usd: spent,
            forecast_usd: forecast,
            at_least: bill.at_least,
            unpriced_calls: bill.unpriced,
            bill,
            passed,
        })
    }

    /// Returns the pace in the current month; none on its first day, which says too little about the rest.
    pub(crate) fn of_month(
        ctx: &Context,
        spent: impl FnOnce(Period) -> Result<Bill>,
    ) -> Result<Option<Self>> {
        let pace = Self::new(ctx, "month", spent)?;
        Ok(Some(pace).filter(|pace| pace.passed >= DAY && pace.spent_usd > Usd::default()))
    }

    /// Describes it for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "This month: {}; at this pace, {} by its end.",
            self.bill.marked(self.spent_usd),
            self.bill.marked(self.forecast_usd)
        )
    }
}

/// A day, in seconds.
const DAY: i64 = 24 * 60 * 60;

impl Budget {
    pub(crate) fn standing(
        &self,
        ctx: &Context,
        spent: impl FnOnce(Period) -> Result<Bill>,
    ) -> Result<Standing> {
        let pace = Pace::new(ctx, self.each, spent)?;
        Ok(Standing {
            each: self.each,
            limit_usd: self.sum,
            is_over: pace.spent_usd > self.sum,
            pace,
        })
    }
}

impl Standing {
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
