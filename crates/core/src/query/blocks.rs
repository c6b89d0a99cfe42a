//! Describes a block, a window of a plan: its end, and the pace and forecast of the one in progress. Where blocks
//! begin is decided in `archive::windows`, what was used in them is summed in `usage`.

use jiff::{SignedDuration, Timestamp};

use super::usage::{Group, Row};
use crate::archive::WINDOW;
use crate::money::Usd;

/// A window of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The hour of its first call.
    pub start: Timestamp,
    /// The end, which is not part of it.
    pub end: Timestamp,
}

/// The pace of the window in progress since its first call, and its result if that continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The time until its end.
    pub left: SignedDuration,
    /// The tokens per minute.
    pub tokens_per_minute: u64,
    /// The cost per hour, if any call has a price.
    pub cost_per_hour: Option<Usd>,
    /// The tokens at its end.
    pub tokens: u64,
    /// The cost at its end.
    pub cost: Option<Usd>,
}

impl Block {
    /// Returns the window of a row of [`Group::Blocks`]; `None` for the row of calls without a time.
    pub fn of(group: Group, row: &Row) -> Option<Self> {
        let start: Timestamp = row.key.parse().ok().filter(|_| group == Group::Blocks)?;
        Some(Self { start, end: start.checked_add(WINDOW).ok()? })
    }

    /// Returns the pace of its calls if it is in progress.
    pub fn pace(&self, row: &Row, now: Timestamp) -> Option<Pace> {
        let first = row.sum.first.filter(|_| self.start <= now && now < self.end)?;
        // The first minute is not enough for a forecast.
        let elapsed = now.duration_since(first).max(SignedDuration::from_mins(1));
        let left = self.end.duration_since(now);
        let [elapsed_ms, left_ms] = [elapsed, left].map(|time| time.as_millis());
        let within = |amount: i128, time: i128| amount.saturating_mul(time) / elapsed_ms;
        let tokens = row.sum.usage.total();
        let count = |amount: i128| u64::try_from(amount).unwrap_or(u64::MAX);
        let cost = row.sum.bill.usd;
        Some(Pace {
            left,
            tokens_per_minute: count(within(tokens.into(), 60_000)),
            cost_per_hour: cost.map(|usd| Usd::from_pico(within(usd.pico(), 3_600_000))),
            tokens: tokens.saturating_add(count(within(tokens.into(), left_ms))),
            cost: cost.map(|usd| usd + Usd::from_pico(within(usd.pico(), left_ms))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Usage;
    use crate::pricing::Bill;
    use crate::query::usage::Sum;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn half_of_the_window_promises_as_much_again() {
        let usd = Some("3.00".parse().unwrap());
        let row = Row {
            key: "2026-11-15T10:00:00Z".to_owned(),
            text: None,
            sum: Sum {
                usage: Usage { input: 120_000, ..Usage::default() },
                bill: Bill { usd, ..Bill::default() },
                first: Some(at("2026-11-15T10:30:00Z")),
                ..Sum::default()
            },
            models: Vec::new(),
        };
        let block = Block::of(Group::Blocks, &row).unwrap();
        assert_eq!(block.end, at("2026-11-15T15:00:00Z"));
        // Two hours since the first call, two and a half until the end.
        let pace = block.pace(&row, at("2026-11-15T12:30:00Z")).unwrap();
        assert_eq!((pace.tokens_per_minute, pace.tokens), (1_000, 270_000));
        assert_eq!(pace.cost_per_hour.unwrap().short(), "$1.50");
        assert_eq!(pace.cost.unwrap().short(), "$6.75");
        assert_eq!(block.pace(&row, block.end), None);
        assert_eq!(block.pace(&row, at("2026-11-15T09:59:59Z")), None);
        assert_eq!(Block::of(Group::Daily, &row), None);
        let undated = Row { key: "undated".to_owned(), ..row };
        assert_eq!(Block::of(Group::Blocks, &undated), None);
    }
}
