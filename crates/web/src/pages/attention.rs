//! Finds what the user should know, each with a link to its evidence.

use std::collections::{BTreeMap, BTreeSet};

use backstory_core::Session;
use backstory_core::doctor::{Deletion, Report, Survey};
use backstory_core::number::{count, plural};
use backstory_core::query::failures::{self, failures};
use jiff::SignedDuration;

use crate::app::Ask;
use crate::reply::Problem;
use crate::scope::Scope;
use crate::words::{dollars, session_path, title};

/// A deletion within this time is worth a notice.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An error that occurred this often is worth a notice.
const OFTEN: u64 = 3;

/// A session is an outlier if it cost this many times the median, among at least this many sessions.
const TIMES: f64 = 5.0;
const AMONG: usize = 8;

/// Something to look at.
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) link: String,
}

/// Returns the doctor's report, which is made once per snapshot.
pub(super) fn report(ask: &Ask<'_>) -> Result<std::sync::Arc<Report>, Problem> {
    ask.snapshot.memo.get("doctor", || {
        let survey = Survey::new(ask.archive, ask.all())?;
        Ok(Report::new(&survey, &ask.app.site.env, ask.now))
    })
}

/// Returns the errors of tools in a scope, the most frequent first.
pub(super) fn failed(
    ask: &Ask<'_>,
    scope: &Scope,
) -> Result<std::sync::Arc<Vec<failures::Row>>, Problem> {
    let key = format!("failures {:?} {:?} {:?}", scope.period, scope.agent, scope.project);
    ask.snapshot.memo.get(&key, || {
        let ids = scope.counted(ask.all());
        Ok(failures(ask.archive, &ids, &scope.period)?)
    })
}

/// Collects all notices of a scope.
pub(super) fn notices(ask: &Ask<'_>, scope: &Scope) -> Result<Vec<Notice>, Problem> {
    let report = report(ask)?;
    let mut out = deletions(ask, &report.deletions);
    if report.fault_count > 0 {
        let files: BTreeSet<&str> = report.faults.iter().map(|fault| fault.file.as_str()).collect();
        let records = plural(report.fault_count, "record", "records");
        let files = plural(files.len() as u64, "file", "files");
        out.push(notice(
            format!("{records} in {files} could not be read"),
            "/health#faults".to_owned(),
        ));
    }
    if let Some(problem) = report.problems.first() {
        let more = report.problems.len() - 1;
        let more = if more > 0 {
            format!(", and {}", plural(more as u64, "other problem", "other problems"))
        } else {
            String::new()
        };
        out.push(notice(
            format!("{}: {}{more}", problem.path, problem.what),
            "/health#problems".to_owned(),
        ));
    }
    for row in failed(ask, scope)?.iter().filter(|row| row.count >= OFTEN).take(2) {
        out.push(notice(
            format!("{} of {}: {}", plural(row.count, "failure", "failures"), row.tool, row.text),
            scope.link("/tools") + "#failures",
        ));
    }
    for (session, times) in outliers(ask, scope).into_iter().take(2) {
        let cost = ask.snapshot.costs.of(&session.id).short().unwrap_or_default();
        out.push(notice(
            format!("{cost} for “{}”, {times:.0} times the median", title(session)),
            session_path(session),
        ));
    }
    Ok(out)
}

fn notice(text: String, link: String) -> Notice {
    Notice { text, link }
}

/// Counts the sessions that agents will delete soon and the archive does not have.
fn deletions(ask: &Ask<'_>, deletions: &[Deletion]) -> Vec<Notice> {
    let is_soon = |d: &&Deletion| d.at.is_none_or(|at| at.duration_since(ask.now) <= SOON);
    let lost = deletions.iter().filter(|d| d.resumable && !d.kept).filter(is_soon);
    let mut agents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for deletion in lost {
        // Subagents are deleted with their sessions, whose ids theirs begin with.
        let session = deletion.session.as_deref().and_then(|id| id.split('/').next());
        agents.entry(deletion.agent_name).or_default().extend(session);
    }
    let text = |(agent, sessions): (&str, BTreeSet<&str>)| {
        let sessions = plural(sessions.len() as u64, "session", "sessions");
        notice(
            format!("{agent} deletes {sessions} within 7 days that the archive does not have"),
            "/health#deletions".to_owned(),
        )
    };
    agents.into_iter().map(text).collect()
}

/// Returns the sessions of a scope that cost much more than the median, and how many times as much.
pub(super) fn outliers<'a>(ask: &'a Ask<'_>, scope: &Scope) -> Vec<(&'a Session, f64)> {
    let filter = scope.filter();
    let cost = |session: &Session| dollars(&ask.snapshot.costs.of(&session.id));
    let mut found: Vec<(&Session, f64)> = ask
        .all()
        .sessions
        .iter()
        .filter(|session| filter.takes(session))
        .map(|session| (session, cost(session)))
        .filter(|(_, cost)| *cost > 0.0)
        .collect();
    if found.len() < AMONG {
        return Vec::new();
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let median = found[found.len() / 2].1;
    found
        .into_iter()
        .map(|(session, cost)| (session, cost / median))
        .filter(|(_, times)| *times >= TIMES)
        .collect()
}

/// Formats a count of sessions.
pub(super) fn sessions(number: u64) -> String {
    if number == 1 { "1 session".to_owned() } else { format!("{} sessions", count(number)) }
}
