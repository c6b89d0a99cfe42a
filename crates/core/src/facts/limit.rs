//! The state of a plan's limits, as the vendor reported it to an agent.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The difference up to which two times of a reset are the same: some are recorded as seconds to go.
const SLACK: SignedDuration = SignedDuration::from_secs(90);

/// How much of one limit was used, for as long as that was reported unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// The time of the first report.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The time of the last report.
    #[serde(with = "crate::time::stored")]
    pub seen: Option<Timestamp>,
    /// The vendor's name of the plan.
    pub plan: Option<Box<str>>,
    /// The vendor's name of the limit.
    pub name: Option<Box<str>>,
    /// The length of the window that the limit applies to, in minutes.
    pub window: Option<u64>,
    /// The used part of the limit, in percent.
    pub used: f64,
    /// The time at which the window ends.
    #[serde(with = "crate::time::stored")]
    pub resets: Option<Timestamp>,
}

impl LimitFacts {
    /// Adds the report to earlier ones of the same source. One that repeats the last report about its limit only
    /// prolongs it.
    pub fn add_to(self, limits: &mut Vec<Self>) {
        let is_about = |other: &&mut Self| other.name == self.name && other.window == self.window;
        match limits.iter_mut().rev().find(is_about) {
            Some(last) if last.is_repeated_by(&self) => last.seen = self.seen.or(last.seen),
            _ => limits.push(self),
        }
    }

    fn is_repeated_by(&self, other: &Self) -> bool {
        let is_same_reset = match (self.resets, other.resets) {
            (Some(own), Some(others)) => own.duration_since(others).abs() <= SLACK,
            (own, others) => own == others,
        };
        self.plan == other.plan && self.used.to_bits() == other.used.to_bits() && is_same_reset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_changes_nothing_prolongs_the_last_one() {
        let report = |second: i64, window: u64, used: f64| {
            let at = Timestamp::from_second(second).ok();
            let resets = Timestamp::from_second(1000).ok();
            LimitFacts { at, seen: at, plan: None, name: None, window: Some(window), used, resets }
        };
        let mut limits = Vec::new();
        for (second, window, used) in
            [(1, 300, 5.0), (1, 10_080, 2.0), (2, 300, 5.0), (3, 300, 6.0), (4, 300, 5.0)]
        {
            report(second, window, used).add_to(&mut limits);
        }
        let seconds = |at: Option<Timestamp>| at.unwrap().as_second();
        let found = limits.iter().map(|one| (seconds(one.at), seconds(one.seen), one.used));
        assert_eq!(found.collect::<Vec<_>>(), [(1, 2, 5.0), (1, 1, 2.0), (3, 3, 6.0), (4, 4, 5.0)]);
    }
}
