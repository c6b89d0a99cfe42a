//! Divides the time of each agent into the windows by which plans limit usage, from the times of all its
//! calls. Commands and documents call a window a block; `query::blocks` computes its pace.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::{Archive, ArchiveError};
use crate::time::Period;

/// The duration of a window.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(HOURS);
const HOURS: i64 = 5;
const HOUR: i64 = 60 * 60 * 1000;

/// The starts of the windows of each agent, in order.
#[derive(Debug, Default)]
pub(crate) struct Windows(HashMap<String, Vec<i64>>);

impl Windows {
    /// Returns the start of the window that a call of an agent is in.
    pub(crate) fn start(&self, agent: &str, at: Timestamp) -> Option<Timestamp> {
        let starts = self.0.get(agent)?;
        let place = starts.partition_point(|start| *start <= at.as_millisecond()).checked_sub(1)?;
        Timestamp::from_millisecond(starts[place]).ok()
    }
}

impl Archive {
    /// Returns the windows of each agent. They depend on all calls of the agent, whatever a question
    /// selects.
    pub(crate) fn windows(&self) -> Result<Windows, ArchiveError> {
        let keys = self.session_keys()?;
        let mut times: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
        self.each_sum(&Period::default(), |row| {
            if let (Some(key), Some(at)) = (keys.get(&row.session), row.at) {
                times.entry(&key.agent).or_default().insert(at.as_millisecond());
            }
        })?;
        let mut out: HashMap<String, Vec<i64>> = HashMap::new();
        for (agent, times) in times {
            let starts = out.entry(agent.to_owned()).or_default();
            for at in times {
                starts.extend(next_start(starts.last().copied(), at));
            }
        }
        Ok(Windows(out))
    }
}

/// Returns the start of the window that a call begins, in milliseconds; `None` if it is in the last one.
fn next_start(last: Option<i64>, at: i64) -> Option<i64> {
    let begins = last.is_none_or(|start| at >= start + HOURS * HOUR);
    begins.then(|| at.div_euclid(HOUR) * HOUR)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_call_is_in_exactly_one_window(mut times in prop::collection::vec(-900..900i64, 0..40)) {
            times.sort_unstable();
            let minute = HOUR / 60;
            let mut starts: Vec<i64> = Vec::new();
            for minutes in &times {
                starts.extend(next_start(starts.last().copied(), minutes * minute));
            }
            let within = |at: i64, start: &&i64| (**start..**start + HOURS * HOUR).contains(&at);
            for at in times.iter().map(|minutes| minutes * minute) {
                prop_assert_eq!(starts.iter().filter(|start| within(at, start)).count(), 1);
            }
            // Each begins at the hour of its first call.
            for start in &starts {
                prop_assert_eq!(start.rem_euclid(HOUR), 0);
                prop_assert!(times.iter().any(|at| at * minute - start < HOUR && at * minute >= *start));
            }
        }
    }
}
