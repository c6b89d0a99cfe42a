//! Parses the names of session files: `rollout-<time>-<thread id>[_<rollout id>].jsonl`, `.jsonl.zst` or
//! `.json`.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::id::is_uuid;

/// The ids in the name of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RolloutName {
    /// The id of the thread.
    pub(crate) thread: String,
    /// The id of the file itself. For the first file of a thread, this is the id of the thread.
    pub(crate) rollout: String,
    /// The local time of the machine, interpreted as UTC.
    #[serde(with = "crate::time::stored")]
    pub(crate) at: Option<Timestamp>,
}

impl RolloutName {
    /// Parses a file name. Returns `None` if it is not the name of a session file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let [at, thread, rollout] = split(path)?;
        Some(Self { thread: thread.to_owned(), rollout: rollout.to_owned(), at: time(at) })
    }
}

/// Returns whether a file is named like a session. Looking for changes asks this of every file, so nothing is copied.
pub(crate) fn is_rollout(path: &Path) -> bool {
    split(path).is_some()
}

/// Splits a file name into its time and the ids of the thread and of the rollout.
fn split(path: &Path) -> Option<[&str; 3]> {
    let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    let endings = [".jsonl.zst", ".jsonl", ".json"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending))?;
    let (rest, last) = split_id(stem)?;
    let (rest, thread) = match rest.strip_suffix('_').and_then(split_id) {
        Some((rest, thread)) => (rest, thread),
        None => (rest, last),
    };
    Some([rest.strip_suffix('-')?, thread, last])
}

/// Splits off the id at the end.
fn split_id(text: &str) -> Option<(&str, &str)> {
    let (rest, id) = text.split_at_checked(text.len().checked_sub(36)?)?;
    is_uuid(id).then_some((rest, id))
}

/// Parses `2026-11-15T17-47-59`, or a date without a time.
fn time(text: &str) -> Option<Timestamp> {
    let civil: DateTime = match text.split_once('T') {
        Some((date, time)) => format!("{date}T{}", time.replace('-', ":")).parse().ok()?,
        None => format!("{text}T00:00:00").parse().ok()?,
    };
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01a1e052-b824-7e22-8be3-facf0c5fcd7d";
    const B: &str = "01a1e052-e857-7603-949e-89b0c81fb9ec";

    #[test]
    fn names_contain_the_thread_and_the_rollout() {
        let name = |name: &str| {
            let path = Path::new(name);
            assert_eq!(is_rollout(path), RolloutName::of(path).is_some(), "{name}");
            let name = RolloutName::of(path)?;
            Some((name.thread, name.rollout, name.at.map(|at| at.to_string())))
        };
        let found = |thread: &str, rollout: &str, at: &str| {
            Some((thread.to_owned(), rollout.to_owned(), Some(at.to_owned())))
        };
        let at = "2026-11-15T17:48:12Z";
        assert_eq!(name(&format!("rollout-2026-11-15T17-48-12-{A}.jsonl")), found(A, A, at));
        assert_eq!(
            name(&format!("x/rollout-2026-11-15T17-48-12-{A}_{B}.jsonl.zst")),
            found(A, B, at)
        );
        let day = "2025-05-01T00:00:00Z";
        assert_eq!(name(&format!("rollout-2025-05-01-{A}.json")), found(A, A, day));
        assert_eq!(name(&format!("rollout-{A}.jsonl")), None);
        assert_eq!(name("rollout-2026.jsonl"), None);
        assert_eq!(name(&format!("rollout-2026-11-15T17-48-12-{A}.tmp")), None);
    }
}
