//! Finds the sessions of Cowork, the agent of Claude's desktop app: it runs Claude Code with a folder of its own for
//! each session.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::PROJECTS;
use crate::env::Env;

/// The folder of the desktop app that contains the sessions.
const SESSIONS: &str = "local-agent-mode-sessions";

/// The number of folders between it and the folder of a session: an organization, an account, and `agent`.
const DEPTH: usize = 3;

/// Returns the folders in which the desktop app keeps sessions.
pub(super) fn folders(env: &Env) -> Vec<PathBuf> {
    let home = |below: &str| Some(env.home.as_ref()?.join(below));
    let windows = |name: &str, below: &str| env.var(name).map(|base| Path::new(base).join(below));
    let apps = [
        home("Library/Application Support/Claude"),
        home(".config/Claude"),
        windows("APPDATA", "Claude"),
        windows("LOCALAPPDATA", r"Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude"),
    ];
    let folders = apps.into_iter().flatten().map(|app| app.join(SESSIONS));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// Returns the `projects` folders of the sessions in a folder. Beside each is an `audit.jsonl`, a copy of the session
/// with unfinished numbers, which is not read.
pub(super) fn projects(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    below(folder, DEPTH, &mut out);
    out.sort();
    out
}

/// Returns whether a path is in such a folder. Claude Code does not delete the sessions of the desktop app.
pub(super) fn is_inside(path: &Path) -> bool {
    path.iter().any(|name| name == SESSIONS)
}

fn below(folder: &Path, depth: usize, out: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let projects = entry.path().join(".claude").join(PROJECTS);
        if projects.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            out.push(projects);
        } else if depth > 0 {
            below(&entry.path(), depth - 1, out);
        }
    }
}
