//! Adds up the runs of programs in a session.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::extent::Extent;
use crate::activity::Run;
use crate::time::Period;

/// The runs of a program in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramSum {
    /// The program.
    pub(crate) program: String,
    /// The number of runs.
    pub(crate) runs: u64,
    /// The number of runs that failed.
    pub(crate) failures: u64,
    /// The times of the runs.
    pub(crate) times: Extent,
}

impl ProgramSum {
    /// Returns whether all of its runs are in a period, or `None` if only some may be.
    pub(crate) fn is_in(&self, period: &Period) -> Option<bool> {
        self.times.is_in(period)
    }
}

/// Adds up runs by program.
pub(super) fn program_sums(runs: &[Run]) -> (Vec<ProgramSum>, Vec<String>) {
    add_up(runs, |run| &run.program)
}

/// Adds up runs by `key`. Returns the sums, and the simple command of the last run of each.
pub(crate) fn add_up<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
    key: impl Fn(&Run) -> &String,
) -> (Vec<ProgramSum>, Vec<String>) {
    let mut sums: Vec<ProgramSum> = Vec::new();
    let mut examples: Vec<String> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for run in runs {
        let place = *places.entry(key(run)).or_insert(sums.len());
        if place == sums.len() {
            sums.push(ProgramSum { program: key(run).clone(), ..ProgramSum::default() });
            examples.push(String::new());
        }
        let sum = &mut sums[place];
        sum.runs += 1;
        sum.failures += u64::from(run.failed);
        if sum.times.last <= run.at {
            examples[place].clone_from(&run.text);
        }
        sum.times.add(run.at);
    }
    (sums, examples)
}
