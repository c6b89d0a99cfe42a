//! Predicts which files Claude Code is going to delete, and when (2.1.325).
//!
//! It goes through the folders of all projects and judges files by the time of their last change. A
//! session takes its own folder along, with subagents and stored tool results. Those results have an
//! age of their own too; subagents do only if their session is gone.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::agent::lifecycle::{CleanupFile, CleanupFolder, Deletion, DeletionReason};

/// The entries of a session's folder that are deleted for their own age if the session is gone.
const OF_SESSION: [&str; 5] =
    ["subagents", "workflows", "remote-agents", "custom-title.json", TOOL_RESULTS];

const TOOL_RESULTS: &str = "tool-results";

/// Returns the files that will be deleted, the soonest first.
pub(super) fn plan(
    folder: &CleanupFolder<'_>,
    period: SignedDuration,
    now: Timestamp,
) -> Vec<Deletion> {
    let end = |file: &CleanupFile<'_>| {
        file.modified.map(|at| at.checked_add(period).unwrap_or(Timestamp::MAX))
    };
    let below = |file: &CleanupFile<'_>| -> Vec<String> {
        let below = file.path.strip_prefix(folder.folder).unwrap_or(Path::new(""));
        below.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    };
    let sessions: HashMap<&OsStr, &CleanupFile<'_>> = folder
        .files
        .iter()
        .filter(|file| below(file).len() == 1)
        .filter(|file| file.path.extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|file| Some((file.path.file_stem()?, file)))
        .collect();
    let mut out = Vec::new();
    for file in &folder.files {
        let age = end(file).map(|end| (end, DeletionReason::Age));
        let names = below(file);
        let with_session = names.first().and_then(|name| {
            let session = sessions.get(OsStr::new(name))?;
            Some((end(session)?, DeletionReason::Session(session.path.to_owned())))
        });
        let inside = names.get(1).map(String::as_str).unwrap_or_default();
        let first = match (names.len(), with_session) {
            (0, _) => None,
            (1, _) => age,
            (_, Some(session)) if inside == TOOL_RESULTS => {
                age.into_iter().chain([session]).min_by_key(|(end, _)| *end)
            }
            (_, Some(session)) => Some(session),
            (_, None) => age.filter(|_| OF_SESSION.contains(&inside)),
        };
        if let Some((end, why)) = first {
            let at = Some(end).filter(|end| *end > now);
            out.push(Deletion { path: file.path.to_owned(), at, why, early: None });
        }
    }
    out.sort_by(|a, b| (a.at.is_some(), a.at, &a.path).cmp(&(b.at.is_some(), b.at, &b.path)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-08-14T00:00:00Z";

    /// Returns what is deleted of files with these ages in days, and in how many days.
    fn deleted(files: &[(&str, i64)]) -> Vec<(String, Option<i64>, String)> {
        let now: Timestamp = NOW.parse().unwrap();
        let folder = Path::new("/home/dev/.claude/projects/-p");
        let paths: Vec<_> = files.iter().map(|(path, _)| folder.join(path)).collect();
        let file = |(path, (_, days)): (&'static Path, &(&str, i64))| CleanupFile {
            path,
            session: None,
            modified: Some(now - SignedDuration::from_hours(24 * days)),
            is_fresh: false,
        };
        let paths: &'static [std::path::PathBuf] = paths.leak();
        let files = paths.iter().map(std::path::PathBuf::as_path).zip(files).map(file).collect();
        let folder = CleanupFolder { folder, project: None, files };
        let name = |path: &Path| path.strip_prefix(folder.folder).unwrap().display().to_string();
        plan(&folder, SignedDuration::from_hours(24 * 30), now)
            .into_iter()
            .map(|deletion| {
                let why = match &deletion.why {
                    DeletionReason::Session(path) => name(path),
                    why => format!("{why:?}"),
                };
                let days = deletion.at.map(|at| at.duration_since(now).as_hours() / 24);
                (name(&deletion.path), days, why)
            })
            .collect()
    }

    #[test]
    fn a_session_takes_its_folder_along() {
        let got = deleted(&[
            ("a.jsonl", 31),
            ("a/subagents/agent-1.jsonl", 2),
            ("a/subagents/agent-1.meta.json", 2),
            ("a/tool-results/x.txt", 40),
            ("a/custom-title.json", 1),
            ("b.jsonl", 10),
            ("b/subagents/agent-2.jsonl", 50),
            ("b/tool-results/y.txt", 25),
            ("b/tool-results/z.txt", 1),
        ]);
        let want = |name: &str, days, why: &str| (name.to_owned(), days, why.to_owned());
        assert_eq!(
            got,
            [
                want("a/custom-title.json", None, "a.jsonl"),
                want("a/subagents/agent-1.jsonl", None, "a.jsonl"),
                want("a/subagents/agent-1.meta.json", None, "a.jsonl"),
                want("a/tool-results/x.txt", None, "Age"),
                want("a.jsonl", None, "Age"),
                want("b/tool-results/y.txt", Some(5), "Age"),
                want("b/subagents/agent-2.jsonl", Some(20), "b.jsonl"),
                want("b/tool-results/z.txt", Some(20), "b.jsonl"),
                want("b.jsonl", Some(20), "Age"),
            ]
        );
    }

    #[test]
    fn what_a_deleted_session_left_goes_by_its_own_age() {
        let got = deleted(&[
            ("c/subagents/agent-1.jsonl", 31),
            ("c/subagents/workflows/wf_1/agent-2.jsonl", 3),
            ("c/custom-title.json", 99),
            ("c/else.json", 99),
            ("agent-3.jsonl", 40),
        ]);
        let got: Vec<_> = got.iter().map(|(name, days, _)| (name.as_str(), *days)).collect();
        assert_eq!(
            got,
            [
                ("agent-3.jsonl", None),
                ("c/custom-title.json", None),
                ("c/subagents/agent-1.jsonl", None),
                ("c/subagents/workflows/wf_1/agent-2.jsonl", Some(27)),
            ]
        );
    }
}
