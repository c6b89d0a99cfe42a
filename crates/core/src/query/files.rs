//! Lists the files that tools read and changed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::reading::tool_calls;
use crate::assemble::SessionFacts;
use crate::content::Reader;
use crate::diff::diff;
use crate::facts::ToolFacts;
use crate::model::{ToolCall, ToolStatus};
use crate::time::Period;
use crate::tools::tool_name;

/// The arguments that name a file.
const PATHS: [&str; 6] =
    ["file_path", "absolute_path", "path", "target_file", "notebook_path", "paths"];

/// One use of a file by a tool.
#[derive(Debug, Clone)]
pub struct FileUse {
    /// The path; relative ones are below the project's folder if that is known.
    pub path: String,
    /// The session.
    pub session: String,
    /// The time of the call.
    pub at: Option<Timestamp>,
    /// The tool's common name: `Read`, `Edit`, …
    pub tool: String,
    /// Whether the tool changes files.
    pub is_change: bool,
    /// Whether the call failed.
    pub has_failed: bool,
    /// The lines that the whole call added and removed.
    pub lines: Option<(u64, u64)>,
    /// What it changed, if asked for.
    pub diff: Option<String>,
}

/// Collects the files that sessions read and changed.
pub struct Files {
    period: Period,
    /// Only files whose path ends in this one or is below it.
    wanted: Option<String>,
    diffs: bool,
    uses: Vec<FileUse>,
}

impl Files {
    /// Returns an empty collection; `wanted` limits it to a file or a folder, and `diffs` adds what was changed.
    pub fn new(period: Period, wanted: Option<String>, diffs: bool) -> Self {
        Self { period, wanted, diffs, uses: Vec::new() }
    }

    /// Adds the files of a session.
    pub fn add(&mut self, assembled: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let session = &assembled.session;
        let has_file = |tool: &ToolFacts| is_file_tool(tool_name(&tool.name, None).canonical);
        tool_calls(assembled, reader, &self.period, has_file, |call, at| {
            for path in paths(call) {
                let path = whole(&path, session.project.path.as_deref());
                if self.wanted.as_ref().is_some_and(|wanted| !is_within(&path, wanted)) {
                    continue;
                }
                let is_change = call.name.canonical != "file_read";
                let diff = if self.diffs && is_change { diff(call) } else { None };
                self.uses.push(FileUse {
                    path,
                    session: session.id.clone(),
                    at,
                    tool: call.name.label.clone(),
                    is_change,
                    has_failed: call.has_failed(),
                    lines: call.lines_added.zip(call.lines_removed),
                    diff: diff.map(Cow::into_owned),
                });
            }
        })
    }

    /// Returns the uses, newest first.
    pub fn uses(mut self) -> Vec<FileUse> {
        self.uses.sort_by_key(|used| Reverse(used.at));
        self.uses
    }
}

/// The uses of one file.
#[derive(Debug, Clone, Default)]
pub struct FileRow {
    /// The path.
    pub path: String,
    /// The number of reads.
    pub reads: u64,
    /// The number of changes that succeeded.
    pub changes: u64,
    /// The lines added and removed.
    pub lines: (u64, u64),
    /// The sessions that used it, most recent first.
    pub sessions: Vec<String>,
    /// The time of the last use.
    pub last: Option<Timestamp>,
}

/// Groups uses by file, the most recently used first.
pub fn by_file(uses: &[FileUse]) -> Vec<FileRow> {
    let mut rows: BTreeMap<&str, FileRow> = BTreeMap::new();
    for used in uses {
        let row = rows
            .entry(&used.path)
            .or_insert_with(|| FileRow { path: used.path.clone(), ..FileRow::default() });
        row.last = row.last.max(used.at);
        if !row.sessions.contains(&used.session) {
            row.sessions.push(used.session.clone());
        }
        match used.is_change {
            false => row.reads += 1,
            true if used.has_failed => {}
            true => {
                row.changes += 1;
                let (added, removed) = used.lines.unwrap_or_default();
                row.lines = (row.lines.0 + added, row.lines.1 + removed);
            }
        }
    }
    let mut rows: Vec<FileRow> = rows.into_values().collect();
    rows.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.path.cmp(&b.path)));
    rows
}

fn is_file_tool(canonical: &str) -> bool {
    matches!(canonical, "file_read" | "file_write" | "file_edit" | "file_delete")
}

/// Returns the paths that a call names.
fn paths(call: &ToolCall) -> Vec<String> {
    // A call that was only requested touched nothing.
    if call.status == ToolStatus::Cancelled {
        return Vec::new();
    }
    let Some(args) = call.args.as_deref() else { return Vec::new() };
    let args: Value = match serde_json::from_str(args.get()) {
        Ok(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
        args => args.unwrap_or_default(),
    };
    let named = |name: &&str| match args.get(name)? {
        Value::String(path) => Some(vec![path.clone()]),
        Value::Array(paths) => {
            Some(paths.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => None,
    };
    let mut found: Vec<String> = PATHS.iter().find_map(named).unwrap_or_default();
    found.retain(|path| !path.is_empty());
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns a path below the project's folder if it is relative.
fn whole(path: &str, project: Option<&str>) -> String {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    match project.filter(|_| !is_absolute) {
        Some(project) => Path::new(project).join(relative).to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

/// Returns whether a path is `wanted`, ends in it, or is below it.
fn is_within(path: &str, wanted: &str) -> bool {
    let (path, wanted) = (Path::new(path), Path::new(wanted));
    path.ends_with(wanted) || path.starts_with(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_whole_and_found_by_their_end() {
        assert_eq!(whole("src/a.rs", Some("/code/shop")), "/code/shop/src/a.rs");
        assert_eq!(whole("./a.rs", Some("/code/shop")), "/code/shop/a.rs");
        assert_eq!(whole("/etc/hosts", Some("/code/shop")), "/etc/hosts");
        assert_eq!(whole("a.rs", None), "a.rs");
        assert!(is_within("/code/shop/src/a.rs", "a.rs"));
        assert!(is_within("/code/shop/src/a.rs", "src/a.rs"));
        assert!(is_within("/code/shop/src/a.rs", "/code/shop"));
        assert!(!is_within("/code/shop/src/ba.rs", "a.rs"));
    }

    #[test]
    fn uses_are_summed_by_file() {
        let at = |n: i64| Timestamp::from_second(n).ok();
        let used = |path: &str, session: &str, n: i64, is_change: bool, has_failed: bool| FileUse {
            path: path.to_owned(),
            session: session.to_owned(),
            at: at(n),
            tool: "Edit".to_owned(),
            is_change,
            has_failed,
            lines: Some((2, 1)),
            diff: None,
        };
        let uses = [
            used("a", "2", 9, true, false),
            used("a", "2", 8, true, true),
            used("b", "1", 7, false, false),
            used("a", "1", 6, false, false),
        ];
        let rows = by_file(&uses);
        assert_eq!(rows.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((rows[0].reads, rows[0].changes, rows[0].lines), (1, 1, (2, 1)));
        assert_eq!(
            (rows[0].sessions.as_slice(), rows[0].last),
            (&["2".to_owned(), "1".to_owned()][..], at(9))
        );
    }
}
