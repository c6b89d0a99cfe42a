//! Counts the programs that shell tools ran.

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use crate::activity::Run;
use crate::archive::{Archive, ArchiveError, Examples, ProgramSum, TextReader, add_up};
use crate::model::SessionId;
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

/// Counts the simple commands of sessions in a period, by program or (`full`) by the whole command.
/// Returns at most `limit` rows, most runs first.
pub fn commands(
    archive: &Archive,
    sessions: &[SessionId],
    period: &Period,
    full: bool,
    limit: usize,
) -> Result<Vec<Row>, ArchiveError> {
    let activities = archive.activities(sessions)?;
    let mut counts: FxHashMap<String, Count<'_>> = FxHashMap::default();
    let mut stored = if full { None } else { Some(activities.parts::<Vec<ProgramSum>>(sessions)?) };
    for session in sessions {
        let sums = stored.as_mut().and_then(Iterator::next);
        let is_split = |sum: &ProgramSum| sum.is_in(period).is_none();
        if let Some(sums) = sums.filter(|sums| !sums.iter().any(is_split)) {
            for (place, sum) in sums.into_iter().enumerate() {
                if sum.is_in(period) == Some(true) {
                    add(&mut counts, sum, Example::Stored(session, place));
                }
            }
        } else {
            let runs: Vec<Run> = activities.part(session)?;
            let runs = runs.iter().filter(|run| period.includes(run.at));
            let (sums, examples) = add_up(runs, |run| if full { &run.text } else { &run.program });
            for (sum, example) in sums.into_iter().zip(examples) {
                add(&mut counts, sum, Example::Known(example));
            }
        }
    }
    let mut counts: Vec<(String, Count<'_>)> = counts.into_iter().collect();
    counts.sort_by(|(a, x), (b, y)| y.runs.cmp(&x.runs).then_with(|| a.cmp(b)));
    counts.truncate(limit);
    let mut examples = TextReader::<Examples>::new(&activities);
    let row = |(program, count): (String, Count<'_>)| {
        let example = match count.example {
            Example::Known(text) => text,
            Example::Stored(session, place) => examples.take(session, place)?.unwrap_or_default(),
        };
        let Count { runs, failures, sessions, last, .. } = count;
        Ok(Row { program, runs, failures, sessions, last, example })
    };
    counts.into_iter().map(row).collect()
}

/// The runs of a program so far.
struct Count<'a> {
    runs: u64,
    failures: u64,
    sessions: u64,
    last: Option<Timestamp>,
    example: Example<'a>,
}

/// The simple command of the last run.
enum Example<'a> {
    Known(String),
    /// The session, and the place of the program in it.
    Stored(&'a SessionId, usize),
}

/// Adds the runs of a program in a session.
fn add<'a>(counts: &mut FxHashMap<String, Count<'a>>, sum: ProgramSum, example: Example<'a>) {
    let ProgramSum { program, runs, failures, times } = sum;
    if let Some(count) = counts.get_mut(&program) {
        count.runs += runs;
        count.failures += failures;
        count.sessions += 1;
        if count.last <= times.last {
            (count.last, count.example) = (times.last, example);
        }
    } else {
        let new = Count { runs, failures, sessions: 1, last: times.last, example };
        counts.insert(program, new);
    }
}
