//! The doctor's report: a plain document, for people and for `--json` alike
//! (`backstory.doctor/1`).

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

use super::keeping::Keeping;
use crate::output::number::json_time;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: &'static str,
    pub(crate) looked: Vec<SearchedPlace>,
    pub(crate) roots: Vec<String>,
    pub(crate) found: Vec<Found>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) problems: Vec<Problem>,
    /// All records of all session files: used, ignored on purpose, unusable.
    pub(crate) records: Records,
    /// Faults are kept in detail for the first thousand of a file; this is their number.
    pub(crate) fault_count: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) projects: Vec<Project>,
    pub(crate) retention: Vec<Retention>,
    pub(crate) deletions: Vec<Deletion>,
    /// The deletions that come too early, through the resume bug.
    pub(crate) at_risk: Vec<Deletion>,
    pub(crate) checks: Vec<Check>,
    /// None where the run has no archive that stays.
    pub(crate) archive: Option<Keeping>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SearchedPlace {
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) exists: bool,
}

/// The files of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) kind: &'static str,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) path: String,
    pub(crate) why: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) what: String,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Records {
    pub(crate) used: u64,
    pub(crate) ignored: u64,
    pub(crate) unusable: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    pub(crate) file: String,
    pub(crate) line: Option<u64>,
    pub(crate) record: Option<String>,
    pub(crate) what: String,
    /// Only a file in the middle of being written: no fault to `--strict`.
    pub(crate) pending: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) path: Option<String>,
    pub(crate) proof: &'static str,
    pub(crate) hash: Option<String>,
    pub(crate) dirs: Vec<String>,
    pub(crate) sessions: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    #[serde(serialize_with = "time")]
    pub(crate) updated: Option<Timestamp>,
}

/// What the settings decide for one project.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "`minRetention` is Gemini CLI's own word")]
pub(crate) struct Retention {
    pub(crate) project: String,
    pub(crate) active: bool,
    pub(crate) enabled: bool,
    pub(crate) max_age: Option<String>,
    pub(crate) max_count: Option<i64>,
    pub(crate) min_retention: String,
    /// The settings file that had the last word; null for Gemini CLI's own defaults.
    pub(crate) decided_by: Option<String>,
    /// Why Gemini CLI deletes nothing although it is enabled.
    pub(crate) invalid: Option<String>,
    /// The settings files that were read, the weakest first.
    pub(crate) settings: Vec<String>,
    /// Whether Gemini CLI syncs the archive at the end of each session.
    pub(crate) hook: bool,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Deletion {
    pub(crate) session: Option<String>,
    pub(crate) project: String,
    pub(crate) file: String,
    /// The first start of Gemini CLI in the project after this; null for the very next start.
    #[serde(serialize_with = "time")]
    pub(crate) at: Option<Timestamp>,
    pub(crate) why: &'static str,
    /// The file that takes it along.
    pub(crate) with: Option<String>,
    pub(crate) resumable: bool,
    /// Whether the archive keeps its session.
    pub(crate) kept: bool,
    /// Whether it goes before its time, through the resume bug.
    pub(crate) early: bool,
    /// When it would have gone without that; null for never.
    #[serde(serialize_with = "time")]
    pub(crate) instead_of: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) ok: bool,
    pub(crate) detail: String,
}

/// Times as interfaces.md has them.
#[expect(clippy::ref_option, reason = "serde's signature")]
pub(crate) fn time<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.serialize_some(&json_time(*at)),
        None => serializer.serialize_none(),
    }
}
