//! Counts the programs that shell tools ran.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use crate::activity::Run;
use crate::archive::{Archive, ArchiveError};
use crate::time::Period;

/// The runs of one program.
#[derive(Debug, Clone)]
pub struct Row {
    /// The program, or the whole simple command.
    pub program: String,
    /// The number of runs.
    pub runs: u64,
    /// Runs in a call that failed, or that ended with an exit code other than 0.
    pub failures: u64,
    /// The number of sessions with a run.
    pub sessions: u64,
    /// The time of the last run.
    pub last: Option<Timestamp>,
    /// A command line that contains it.
    pub example: String,
}

#[derive(Default)]
struct Sum {
    runs: u64,
    failures: u64,
    sessions: HashSet<String>,
    last: Option<Timestamp>,
    example: String,
}

/// Counts the simple commands of sessions in a period, by program or (`full`) by the whole command.
/// Returns the rows, most runs first.
pub fn commands(
    archive: &Archive,
    sessions: &[String],
    period: &Period,
    full: bool,
) -> Result<Vec<Row>, ArchiveError> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    archive.each_activity(sessions, |session, runs: Vec<Run>| {
        for run in runs.into_iter().filter(|run| period.includes(run.at)) {
            let key = if full { run.text.clone() } else { run.program };
            let sum = sums.entry(key).or_default();
            sum.runs += 1;
            sum.failures += u64::from(run.failed);
            if !sum.sessions.contains(session) {
                sum.sessions.insert(session.to_owned());
            }
            if sum.last <= run.at || sum.example.is_empty() {
                sum.example = run.text;
            }
            sum.last = sum.last.max(run.at);
        }
    })?;
    let row = |(program, sum): (String, Sum)| Row {
        program,
        runs: sum.runs,
        failures: sum.failures,
        sessions: sum.sessions.len() as u64,
        last: sum.last,
        example: sum.example,
    };
    let mut rows: Vec<Row> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.runs));
    Ok(rows)
}
