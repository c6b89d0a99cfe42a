//! Forecasts the cost of the current day, week or month.

use jiff::Zoned;
use serde::Serialize;

use crate::money::Usd;
use crate::pricing::Bill;
use crate::time::{self, Period};

/// The cost of the current day, week or month, and what it will be.
#[derive(Debug, Serialize)]
pub struct Pace {
    /// The cost so far.
    pub spent_usd: Usd,
    /// The cost at the end of the period at the current pace.
    pub forecast_usd: Usd,
    at_least: bool,
    unpriced_calls: u64,
    /// The cost so far, with its gaps.
    #[serde(skip)]
    pub bill: Bill,
    /// The time that has passed, in seconds.
    #[serde(skip)]
    passed: i64,
}

impl Pace {
    /// Returns the pace in the current `day`, `week` or `month`; `spent` returns the cost in a period. A clock at the
    /// end of the calendar has no such period, and nothing is spent in it.
    pub fn of<E>(
        each: &str,
        now: &Zoned,
        spent: impl FnOnce(Period) -> Result<Bill, E>,
    ) -> Result<Self, E> {
        let word = match each {
            "day" => "today",
            "week" => "this-week",
            _ => "this-month",
        };
        let at = now.timestamp();
        let (start, end) = time::parse_period(word, now).unwrap_or((at, at));
        let bill = spent(Period { since: Some(start), until: Some(end) })?;
        let spent = bill.usd.unwrap_or_default();
        let length = end.duration_since(start).as_secs().max(1);
        let passed = at.duration_since(start).as_secs().clamp(1, length);
        // The rest of the period is assumed to cost as much per second as the part that has passed.
        let forecast =
            spent.pico().saturating_mul(i128::from(length)).checked_div(i128::from(passed));
        Ok(Self {
            spent_usd: spent,
            forecast_usd: Usd::from_pico(forecast.unwrap_or_default()),
            at_least: bill.at_least,
            unpriced_calls: bill.unpriced,
            bill,
            passed,
        })
    }

    /// Returns the pace in the current month; none on its first day, which says too little about the rest.
    pub fn of_month<E>(
        now: &Zoned,
        spent: impl FnOnce(Period) -> Result<Bill, E>,
    ) -> Result<Option<Self>, E> {
        let pace = Self::of("month", now, spent)?;
        Ok(Some(pace).filter(|pace| pace.passed >= DAY && pace.spent_usd > Usd::ZERO))
    }
}

/// A day, in seconds.
const DAY: i64 = 24 * 60 * 60;
