//! Lists the files that tools read and changed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::activity::{FileAccess, each_tool_call, file_accesses, is_file_tool};
use crate::archive::{Archive, ArchiveError, FileSum};
use crate::collection::Collection;
use crate::diff::diff;
use crate::facts::ToolFacts;
use crate::model::{Session, SessionId};
use crate::time::Period;

/// One use of a file by a tool.
#[derive(Debug, Clone)]
pub struct FileUse {
    /// The path; relative ones are below the project's folder if that is known.
    pub path: String,
    /// The session.
    pub session: SessionId,
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

/// Returns the uses of files by the sessions `ids` in a period, newest first. A path limits them to a file
/// or folder, by its path or a part of it.
pub fn files(
    archive: &Archive,
    all: &Collection,
    ids: &[SessionId],
    period: &Period,
    path: Option<&str>,
) -> Result<Vec<FileUse>, ArchiveError> {
    let mut uses = Vec::new();
    let activities = archive.activities(ids)?;
    for session in ids.iter().filter_map(|id| all.get(id)) {
        let accesses: Vec<FileAccess> = activities.part(&session.id)?;
        let used = accesses.into_iter().map(|access| FileUse::new(session, access));
        uses.extend(used.filter(|used| used.is_wanted(period, path)));
    }
    Ok(newest_first(uses))
}

/// Returns the same uses with what they changed, which is read from the text of their sessions.
pub fn with_diffs(
    archive: &Archive,
    all: &Collection,
    uses: &[FileUse],
    period: &Period,
    path: Option<&str>,
) -> Result<Vec<FileUse>, ArchiveError> {
    let ids: BTreeSet<&SessionId> = uses.iter().map(|used| &used.session).collect();
    let ids: Vec<SessionId> = ids.into_iter().cloned().collect();
    let mut out = Vec::new();
    archive.each_assembled(&ids, |assembled| {
        let Some(session) = all.get(&assembled.session.id) else { return Ok(()) };
        let is_wanted = |tool: &ToolFacts| is_file_tool(&tool.name);
        let read = each_tool_call(&assembled, archive.reader(), is_wanted, |call, _, at| {
            for access in file_accesses(call, at) {
                let used = FileUse::new(session, access);
                let diff = if used.is_change { diff(call).map(Cow::into_owned) } else { None };
                out.extend(used.is_wanted(period, path).then_some(FileUse { diff, ..used }));
            }
        });
        if read.is_err() {
            archive.pass_over();
            out.extend(uses.iter().filter(|used| used.session == session.id).cloned());
        }
        Ok(())
    })?;
    Ok(newest_first(out))
}

fn newest_first(mut uses: Vec<FileUse>) -> Vec<FileUse> {
    uses.sort_by_key(|used| Reverse(used.at));
    uses
}

impl FileUse {
    fn new(session: &Session, access: FileAccess) -> Self {
        let FileAccess { at, path, tool, is_change, has_failed, lines } = access;
        let path = whole(&path, session.project.path.as_deref());
        let session = session.id.clone();
        Self { path, session, at, tool, is_change, has_failed, lines, diff: None }
    }

    fn is_wanted(&self, period: &Period, path: Option<&str>) -> bool {
        self.at.map_or(period.is_everything(), |at| period.contains(at))
            && path.is_none_or(|path| is_within(&self.path, path))
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
    pub sessions: Vec<SessionId>,
    /// The time of the last use.
    pub last: Option<Timestamp>,
}

/// Returns the files that the sessions `ids` used in a period, or only those that they changed, the most recently
/// used first.
pub fn list(
    archive: &Archive,
    all: &Collection,
    ids: &[SessionId],
    period: &Period,
    changed: bool,
) -> Result<Vec<FileRow>, ArchiveError> {
    let mut rows = Vec::new();
    archive.each_file_sum(ids, period, |id, sum| {
        let Some(session) = all.get(id) else { return };
        let FileSum { path, reads, times, changes } = sum;
        if changed && changes.count == 0 {
            return;
        }
        let row = FileRow {
            path: whole(&path, session.project.path.as_deref()),
            reads: if changed { 0 } else { reads },
            changes: changes.count,
            lines: changes.lines,
            sessions: Vec::new(),
            last: if changed { changes.last } else { times.last },
        };
        rows.push((id, row));
    })?;
    rows.sort_by_cached_key(|(_, row)| Reverse(row.last));
    Ok(grouped(rows))
}

/// Groups uses, newest first, by file, the most recently used first.
pub fn by_file(uses: &[FileUse]) -> Vec<FileRow> {
    grouped(uses.iter().map(|used| {
        let is_counted = used.is_change && !used.has_failed;
        let row = FileRow {
            path: used.path.clone(),
            reads: u64::from(!used.is_change),
            changes: u64::from(is_counted),
            lines: used.lines.filter(|_| is_counted).unwrap_or_default(),
            sessions: Vec::new(),
            last: used.at,
        };
        (&used.session, row)
    }))
}

/// Adds up rows of the same file, each of which is that of a session.
fn grouped<'a>(rows: impl IntoIterator<Item = (&'a SessionId, FileRow)>) -> Vec<FileRow> {
    let mut out: Vec<FileRow> = Vec::new();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut known: FxHashSet<(usize, &SessionId)> = FxHashSet::default();
    for (session, row) in rows {
        let place = places.get(&row.path).copied().unwrap_or(out.len());
        let session = Some(session).filter(|session| known.insert((place, session)));
        let Some(sum) = out.get_mut(place) else {
            places.insert(row.path.clone(), place);
            out.push(FileRow { sessions: session.into_iter().cloned().collect(), ..row });
            continue;
        };
        sum.sessions.extend(session.cloned());
        sum.reads += row.reads;
        sum.changes += row.changes;
        sum.lines = (sum.lines.0 + row.lines.0, sum.lines.1 + row.lines.1);
        sum.last = sum.last.max(row.last);
    }
    out.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.path.cmp(&b.path)));
    out
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

/// Returns whether a path is `wanted`, or is below it. A relative one may be anywhere in the path, and a name need
/// not have its extension.
fn is_within(path: &str, wanted: &str) -> bool {
    let (path, wanted) = (Path::new(path), Path::new(wanted));
    if wanted.is_absolute() {
        return path.starts_with(wanted);
    }
    let (path, wanted): (Vec<&OsStr>, Vec<&OsStr>) =
        (path.iter().collect(), wanted.iter().collect());
    let is_it = |name: &OsStr, wanted: &OsStr| {
        name == wanted || Path::new(name).file_stem() == Some(wanted)
    };
    wanted.split_last().is_some_and(|(last, before)| {
        path.windows(wanted.len()).any(|part| {
            part.split_last().is_some_and(|(name, above)| above == before && is_it(name, last))
        })
    })
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
        assert!(is_within("/code/shop/src/a.rs", "a"));
        assert!(is_within("/code/shop/src/a.rs", "src"));
        assert!(is_within("/code/shop/src/a.rs", "shop/src/"));
        assert!(!is_within("/code/shop/src/a.rs", "shop/a.rs"));
        assert!(!is_within("/code/shop/src/a.rs", "/shop"));
        assert!(!is_within("/code/shop/src/a.rs", ""));
    }

    #[test]
    fn uses_are_summed_by_file() {
        let at = |n: i64| Timestamp::from_second(n).ok();
        let used = |path: &str, session: &str, n: i64, is_change: bool, has_failed: bool| FileUse {
            path: path.to_owned(),
            session: session.into(),
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
            (&["2".into(), "1".into()][..], at(9))
        );
    }
}
