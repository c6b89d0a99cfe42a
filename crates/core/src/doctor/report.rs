//! Defines the doctor's report: a plain document, for people and for `--json` alike
//! (`backstory.doctor/1`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::archive::ArchiveReport;
use crate::discover::SourceKind;
use crate::time::Time;

/// The report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name and version of the document's schema.
    pub schema: &'static str,
    /// The places that were searched.
    pub looked: Vec<SearchedPlace>,
    /// The agents' folders that were found.
    pub roots: Vec<String>,
    /// The files that were found, by kind.
    pub found: Vec<FoundFiles>,
    /// The files that were skipped.
    pub skipped: Vec<Skipped>,
    /// The problems with files and settings.
    pub problems: Vec<Problem>,
    /// The number of records in all session files: used, ignored on purpose, unusable.
    pub records: Records,
    /// The number of faults, of which only the first thousand per file are stored in detail.
    pub fault_count: u64,
    /// The faults in detail.
    pub faults: Vec<Fault>,
    /// The projects.
    pub projects: Vec<Project>,
    /// The retention settings of each project.
    pub retention: Vec<Retention>,
    /// The names of the agents that delete nothing by themselves, and how their sessions can disappear.
    #[serde(skip)]
    pub removals: Vec<(&'static str, &'static str)>,
    /// The files that will be deleted.
    pub deletions: Vec<Deletion>,
    /// The deletions that come too early because of the resume bug.
    pub at_risk: Vec<Deletion>,
    /// The results of all checks.
    pub checks: Vec<Check>,
    /// None if the run has no permanent archive.
    pub archive: Option<ArchiveReport>,
}

/// A place that was searched.
#[derive(Debug, Serialize)]
pub struct SearchedPlace {
    /// Its path.
    pub path: String,
    /// The reason to search it.
    pub why: String,
    /// Whether it exists.
    pub exists: bool,
}

/// The files of one kind.
#[derive(Debug, Serialize)]
pub struct FoundFiles {
    /// The kind.
    pub kind: &'static str,
    /// The number of files.
    pub files: u64,
    /// Their total size.
    pub bytes: u64,
}

/// A file that was skipped.
#[derive(Debug, Serialize)]
pub struct Skipped {
    /// Its path.
    pub path: String,
    /// The reason.
    pub why: Cow<'static, str>,
}

/// A problem with a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Problem {
    /// Its path.
    pub path: String,
    /// A description.
    pub what: String,
}

/// Counts of records.
#[derive(Debug, Default, Serialize)]
pub struct Records {
    /// Records that were used.
    pub used: u64,
    /// Records that were ignored, because their kind is not needed.
    pub ignored: u64,
    /// The number of ignored records of each kind, as the agent calls it.
    pub ignored_kinds: BTreeMap<String, u64>,
    /// Records that could not be used.
    pub unusable: u64,
}

/// A record that could not be used.
#[derive(Debug, Serialize)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line in the file.
    pub line: Option<u64>,
    /// The id of the record.
    pub record: Option<String>,
    /// A description.
    pub what: String,
    /// Whether the file is only being written at the moment, which `--strict` does not count as a
    /// fault.
    pub pending: bool,
}

/// A project.
#[derive(Debug, Serialize)]
pub struct Project {
    /// The name shown to people.
    pub name: String,
    /// The path, if it is known.
    pub path: Option<String>,
    /// The kind of evidence for the path.
    pub proof: &'static str,
    /// The agent's hash of the path.
    pub hash: Option<String>,
    /// The agent's folders for it.
    pub dirs: Vec<String>,
    /// The number of sessions with any content.
    pub sessions: u64,
    /// The number of files.
    pub files: u64,
    /// The size of its folders, as far as it is known.
    pub bytes: u64,
    /// The time of the last update.
    #[serde(serialize_with = "time")]
    pub updated: Option<Timestamp>,
}

/// The retention settings of one project.
#[derive(Debug, Serialize)]
pub struct Retention {
    /// The id of the agent.
    pub agent: String,
    /// The name of the agent.
    #[serde(skip)]
    pub agent_name: &'static str,
    /// The occasion on which the agent cleans up.
    #[serde(skip)]
    pub occasion: &'static str,
    /// The path or name of the project.
    pub project: String,
    /// Whether anything will be deleted.
    pub active: bool,
    /// Whether the clean-up is enabled.
    pub enabled: bool,
    /// The age at which sessions are deleted.
    pub max_age: Option<String>,
    /// The number of sessions to keep.
    pub max_count: Option<i64>,
    /// The shortest time for which sessions are kept.
    pub min_retention: Option<String>,
    /// The settings file that decided; null for the agent's own defaults.
    pub decided_by: Option<String>,
    /// The reason why the agent deletes nothing although the clean-up is enabled.
    pub invalid: Option<String>,
    /// The settings files that were read, in ascending order of precedence.
    pub settings: Vec<String>,
    /// Whether the agent syncs the archive at the end of each session.
    pub hook: bool,
}

/// A file that will be deleted.
#[derive(Debug, Clone, Serialize)]
pub struct Deletion {
    /// The id of the agent.
    pub agent: String,
    /// The name of the agent.
    #[serde(skip)]
    pub agent_name: &'static str,
    /// The kind of the file.
    #[serde(skip)]
    pub kind: SourceKind,
    /// The name of the file's kind.
    pub what: &'static str,
    /// The id of its session.
    pub session: Option<String>,
    /// The path or name of its project.
    pub project: String,
    /// The path of the file.
    pub file: String,
    /// The moment after which the next start of the agent in the project deletes it; null for the
    /// next start.
    #[serde(serialize_with = "time")]
    pub at: Option<Timestamp>,
    /// The reason.
    pub why: &'static str,
    /// The file that takes it along.
    pub with: Option<String>,
    /// Whether it contains anything to resume.
    pub resumable: bool,
    /// Whether the archive has its session.
    pub kept: bool,
    /// Whether it is deleted before its time because of the resume bug.
    pub early: bool,
    /// The time at which it would have been deleted otherwise; null for never.
    #[serde(serialize_with = "time")]
    pub instead_of: Option<Timestamp>,
}

impl Deletion {
    /// Returns the reason in words.
    pub fn reason(&self) -> &'static str {
        match (self.why, self.early) {
            (_, true) => "the resume bug",
            ("age", _) => "its age",
            ("count", _) => "too many newer ones",
            ("nothing_to_resume", _) => "it cannot be resumed",
            ("session", _) => "its session is deleted",
            _ => "shares its id with another file",
        }
    }
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// Whether it passed.
    pub ok: bool,
    /// The result in words.
    pub detail: String,
}

/// Serializes a time as all documents do.
#[expect(clippy::ref_option, reason = "serde's signature")]
pub(super) fn time<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.serialize_some(&Time(*at)),
        None => serializer.serialize_none(),
    }
}
