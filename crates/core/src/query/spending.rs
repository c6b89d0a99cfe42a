//! Forecasts the cost of the current day, week or month.

use jiff::Zoned;
use serde::Serialize;

use crate::money::Usd;
use crate::pricing::Bill;
use crate::time::{self, Period};

/// A day, in seconds.
const DAY: i64 = 24 * 60 * 60;

/// A period of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CalendarPeriod {
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From the first to the last day.
    Month,
}

impl CalendarPeriod {
    /// All periods.
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// Returns the name for the command line and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Returns the words for the one in progress that [`time::parse_period`] knows.
    fn current(self) -> &'static str {
        match self {
            Self::Day => "today",
            Self::Week => "this-week",
            Self::Month => "this-month",
        }
    }
}

/// The cost of the current day, week or month, and what it will be.
#[derive(Debug, Serialize)]
pub struct Spending {
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

impl Spending {
    /// Returns the spending in the current period; `spent` returns the cost in a period. A clock at the end of the
    /// calendar has no such period, and nothing is spent in it.
    pub fn of<E>(
        period: CalendarPeriod,
        now: &Zoned,
        spent: impl FnOnce(Period) -> Result<Bill, E>,
    ) -> Result<Self, E> {
        let at = now.timestamp();
        let (start, end) = time::parse_period(period.current(), now).unwrap_or((at, at));
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

    /// Returns the spending in the current month; none on its first day, which is too short for a forecast.
    pub fn of_month<E>(
        now: &Zoned,
        spent: impl FnOnce(Period) -> Result<Bill, E>,
    ) -> Result<Option<Self>, E> {
        let month = Self::of(CalendarPeriod::Month, now, spent)?;
        Ok(Some(month).filter(|month| month.passed >= DAY && month.spent_usd > Usd::ZERO))
    }
}
