//! A budget: what was spent of it, and where that leads.

use std::str::FromStr;

use backstory_core::money::Usd;
use backstory_core::time::{self, Period};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;

/// So many dollars in each day, week or month.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    sum: Usd,
    each: &'static str,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (sum, each) = text.split_once('/').ok_or("write it like 200/month")?;
        let each = match each {
            "day" => "day",
            "week" => "week",
            "month" => "month",
            other => return Err(format!("`{other}` is none of day, week, month")),
        };
        let sum: Usd = sum
            .trim_start_matches('$')
            .parse()
            .map_err(|error| format!("`{sum}` is no sum of dollars: {error}"))?;
        Ok(Self { sum, each })
    }
}

impl Budget {
    /// Says how it stands; false when more was spent than there is.
    pub(crate) fn check(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        spent: impl FnOnce(Period) -> Result<Usd>,
    ) -> Result<bool> {
        let now = ctx.now.to_zoned(ctx.zone.clone());
        let word = match self.each {
            "day" => "today",
            "week" => "this-week",
            _ => "this-month",
        };
        let (start, end) = time::stretch(word, &now)
            .ok_or_else(|| Failure::new("the clock is out of its range"))?;
        let spent = spent(Period { since: Some(start), until: Some(end) })?;
        let length = end.duration_since(start).as_secs().max(1);
        let passed = ctx.now.duration_since(start).as_secs().clamp(1, length);
        // What is left of the period is expected to go on like what has passed.
        let forecast = Usd::from_pico(spent.pico() * i128::from(length) / i128::from(passed));
        let share = spent.pico() * 100 / self.sum.pico().max(1);
        printer.line(format!(
            "Budget: {} of {} this {} ({share} %), at this pace {} by its end.",
            spent.short(),
            self.sum.short(),
            self.each,
            forecast.short()
        ))?;
        if spent > self.sum {
            printer.warn(format!("the budget of {} a {} is spent", self.sum.short(), self.each));
        }
        Ok(spent <= self.sum)
    }
}
