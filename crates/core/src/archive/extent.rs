//! Decides whether sums of calls can answer for a period.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::time::{Period, earlier};

/// The times of some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    #[serde(with = "crate::time::stored")]
    first: Option<Timestamp>,
    /// The time of the last call.
    #[serde(with = "crate::time::stored")]
    pub(crate) last: Option<Timestamp>,
    has_undated: bool,
}

impl Extent {
    /// Adds a call.
    pub(super) fn add(&mut self, at: Option<Timestamp>) {
        self.first = earlier(self.first, at);
        self.last = self.last.max(at);
        self.has_undated |= at.is_none();
    }

    /// Returns whether all of the calls are in a period, or `None` if only some may be.
    pub(super) fn is_in(&self, period: &Period) -> Option<bool> {
        match (self.first, self.last) {
            _ if period.is_everything() => Some(true),
            _ if self.has_undated => None,
            (Some(first), Some(last)) if !period.overlaps(first, last) => Some(false),
            (Some(first), Some(last)) if period.contains(first) && period.contains(last) => {
                Some(true)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums answer for a period only if they agree with the single calls.
    #[test]
    fn sums_know_which_periods_they_can_answer() {
        let time = |second: i64| Some(Timestamp::from_second(second).unwrap());
        let dated = [time(3), time(1), time(2)];
        let undated = [time(1), None, time(2)];
        let extent = |calls: &[Option<Timestamp>]| {
            let mut extent = Extent::default();
            for at in calls {
                extent.add(*at);
            }
            extent
        };
        for since in 0..5 {
            for until in 0..5 {
                let period = Period { since: time(since), until: time(until) };
                for calls in [&dated, &undated] {
                    let inside = calls.iter().filter(|at| period.includes(**at)).count();
                    match extent(calls).is_in(&period) {
                        Some(true) => assert_eq!(inside, calls.len(), "{period:?}"),
                        Some(false) => assert_eq!(inside, 0, "{period:?}"),
                        None => {}
                    }
                }
            }
        }
        assert_eq!(extent(&undated).last, time(2));
        assert_eq!(extent(&undated).is_in(&Period::default()), Some(true));
        assert_eq!(extent(&undated).is_in(&Period { since: time(0), until: None }), None);
    }
}
