//! Searches the disk for the folders of projects: by a hash, by an encoded path, and by worktree.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::path::hash_of;
use crate::read::bytes::{MARKER_LIMIT, read_text};

/// The places to search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The folders to search.
    pub roots: Vec<PathBuf>,
    /// The number of levels below each root.
    pub depth: usize,
}

/// Folders that contain no projects but very many folders.
const BORING: [&str; 6] =
    ["node_modules", "target", "__pycache__", "venv", "site-packages", "vendor"];

/// Files that agents and their users leave in a project.
const USED: [&str; 6] = [".gemini", "GEMINI.md", ".claude", "CLAUDE.md", ".codex", "AGENTS.md"];

/// Finds folders whose hash is among `hashes`. The search goes level by level, and on each level it
/// begins with folders in which an agent seems to have been used. It stops when `go_on` returns
/// false.
pub fn find_projects(hashes: &[String], search: &Search, go_on: &dyn Fn() -> bool) -> Vec<PathBuf> {
    let mut wanted: HashSet<&str> = hashes.iter().map(String::as_str).collect();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut queue: VecDeque<(PathBuf, usize)> =
        search.roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut found = Vec::new();
    while let Some((folder, level)) = queue.pop_front() {
        if wanted.is_empty() || !go_on() {
            break;
        }
        if !seen.insert(folder.clone()) {
            continue;
        }
        if wanted.remove(hash_of(&folder.to_string_lossy()).as_str()) {
            found.push(folder.clone());
        }
        if level < search.depth {
            queue.extend(subfolders(&folder).into_iter().map(|path| (path, level + 1)));
        }
    }
    found
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut out: Vec<PathBuf> = entries
        .filter(is_folder)
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && !BORING.contains(&&*name)
        })
        .map(|entry| entry.path())
        .collect();
    out.sort_by_key(|path| (!looks_used(path), path.clone()));
    out
}

fn looks_used(path: &Path) -> bool {
    USED.iter().any(|name| path.join(name).exists())
}

/// Finds the only folder whose path an agent encodes as `name`, on the disk of `near`. The code of a path begins with
/// those of the folders around it, so only these are searched.
pub fn find_encoded(name: &str, near: &Path, encode: impl Fn(&str) -> String) -> Option<String> {
    let mut open = vec![near.ancestors().last()?.to_owned()];
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        let entries = parent.read_dir().into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in folders.map(|entry| entry.path()) {
            let Some(text) = path.to_str() else { continue };
            found.extend((encode(text) == name).then(|| text.to_owned()));
            if name.starts_with(&encode(&format!("{text}/"))) {
                open.push(path);
            }
        }
    }
    found.pop().filter(|_| found.is_empty())
}

/// Returns the root of the worktree that a folder is in, and the repository that the worktree belongs to.
pub fn worktree_root(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    // In the repository itself, it is a folder.
    let text = read_text(&root.join(".git"), MARKER_LIMIT).ok()?;
    let git = root.join(text.trim().strip_prefix("gitdir:")?.trim());
    let inside = git.parent().filter(|parent| parent.ends_with(".git/worktrees"))?;
    let repository = inside.ancestors().nth(2)?.canonicalize().ok()?;
    Some((root.to_owned(), repository))
}

/// Returns the git worktrees of a project, which are other folders of the same work.
pub fn worktrees(project: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.join(".git/worktrees")).into_iter().flatten().flatten();
    let gitdir =
        entries.filter_map(|entry| read_text(&entry.path().join("gitdir"), MARKER_LIMIT).ok());
    gitdir.filter_map(|text| Path::new(text.trim()).parent().map(Path::to_owned)).collect()
}
