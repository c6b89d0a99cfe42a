//! The doctor's report: a plain document, for people and for `--json` alike
//! (`backstory.doctor/1`).

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

use super::archive::ArchiveReport;
use crate::time::Time;

#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub looked: Vec<SearchedPlace>,
    pub roots: Vec<String>,
    pub found: Vec<FoundFiles>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
    /// All records of all session files: used, ignored on purpose, unusable.
    pub records: Records,
    /// Faults are kept in detail for the first thousand of a file; this is their number.
    pub fault_count: u64,
    pub faults: Vec<Fault>,
    pub projects: Vec<Project>,
    pub retention: Vec<Retention>,
    pub deletions: Vec<Deletion>,
    /// The deletions that come too early, through the resume bug.
    pub at_risk: Vec<Deletion>,
    pub checks: Vec<Check>,
    /// None where the run has no archive that stays.
    pub archive: Option<ArchiveReport>,
}

#[derive(Debug, Serialize)]
pub struct SearchedPlace {
    pub path: String,
    pub why: String,
    pub exists: bool,
}

/// The files of one kind.
#[derive(Debug, Serialize)]
pub struct FoundFiles {
    pub kind: &'static str,
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Skipped {
    pub path: String,
    pub why: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Problem {
    pub path: String,
    pub what: String,
}

#[derive(Debug, Default, Serialize)]
pub struct Records {
    pub used: u64,
    pub ignored: u64,
    pub unusable: u64,
}

#[derive(Debug, Serialize)]
pub struct Fault {
    pub file: String,
    pub line: Option<u64>,
    pub record: Option<String>,
    pub what: String,
    /// Only a file in the middle of being written: no fault to `--strict`.
    pub pending: bool,
}

#[derive(Debug, Serialize)]
pub struct Project {
    pub name: String,
    pub path: Option<String>,
    pub proof: &'static str,
    pub hash: Option<String>,
    pub dirs: Vec<String>,
    pub sessions: u64,
    pub files: u64,
    pub bytes: u64,
    #[serde(serialize_with = "time")]
    pub updated: Option<Timestamp>,
}

/// What the settings decide for one project.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "`min_retention` is a setting's own name")]
pub struct Retention {
    pub project: String,
    pub active: bool,
    pub enabled: bool,
    pub max_age: Option<String>,
    pub max_count: Option<i64>,
    pub min_retention: String,
    /// The settings file that decided; null for the agent's own defaults.
    pub decided_by: Option<String>,
    /// Why the agent deletes nothing although it is enabled.
    pub invalid: Option<String>,
    /// The settings files that were read, the weakest first.
    pub settings: Vec<String>,
    /// Whether the agent syncs the archive at the end of each session.
    pub hook: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Deletion {
    pub session: Option<String>,
    pub project: String,
    pub file: String,
    /// The first start of the agent in the project after this; null for the very next start.
    #[serde(serialize_with = "time")]
    pub at: Option<Timestamp>,
    pub why: &'static str,
    /// The file that takes it along.
    pub with: Option<String>,
    pub resumable: bool,
    /// Whether the archive keeps its session.
    pub kept: bool,
    /// Whether it goes before its time, through the resume bug.
    pub early: bool,
    /// When it would have gone without that; null for never.
    #[serde(serialize_with = "time")]
    pub instead_of: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

/// Times as interfaces.md has them.
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
