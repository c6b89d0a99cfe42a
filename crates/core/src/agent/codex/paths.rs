//! Finds the files of Codex CLI, and classifies each by its path and content.

use std::fs::{self, DirEntry, FileType};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::Codex;
use super::format::{RolloutName, is_prompt_log, is_session};
use crate::agent::Agent as _;
use crate::discover::{Discovery, Problem, SearchedPlace, Skipped, Source, SourceKind};
use crate::env::Env;
use crate::metadata;
use crate::read::bytes::open_regular;
use crate::read::packed::unpacked;

/// The maximum depth to search below a folder.
const DEPTH: usize = 8;

/// The number of bytes at the beginning of a file that determine whose it is.
const HEAD: u64 = 64 * 1024;

/// The folders of a `.codex` folder that contain sessions.
const FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];

/// Searches the places where Codex CLI stores sessions.
pub(super) fn discover(env: &Env) -> Discovery {
    let mut found = Discovery::default();
    let (path, why) = if let Some(sessions) = env.var("CODEX_SESSIONS_DIR") {
        (PathBuf::from(sessions), "CODEX_SESSIONS_DIR")
    } else if let Some(root) = env.var("CODEX_HOME") {
        (PathBuf::from(root), "CODEX_HOME")
    } else if let Some(home) = &env.home {
        (home.join(".codex"), "home")
    } else {
        return found;
    };
    let exists = path.is_dir();
    found.looked.push(SearchedPlace { path: path.clone(), why: why.to_owned(), exists });
    if exists && why == "CODEX_SESSIONS_DIR" {
        Finder { found: &mut found }.folder(&path, DEPTH);
    } else if exists {
        Finder { found: &mut found }.root(&path);
    }
    found.settle();
    found
}

/// Searches a path that the user named: a file, or any folder at, above or below a `.codex` folder.
pub(super) fn discover_at(path: &Path) -> Discovery {
    let mut found = Discovery::default();
    let why = "given".to_owned();
    found.looked.push(SearchedPlace { path: path.to_owned(), why, exists: path.exists() });
    let mut finder = Finder { found: &mut found };
    if path.is_dir() {
        finder.anything(path, DEPTH);
    } else if path.exists() {
        finder.file(path);
    }
    found.settle();
    found
}

struct Finder<'a> {
    found: &'a mut Discovery,
}

impl Finder<'_> {
    /// Collects the files of a `.codex` folder.
    fn root(&mut self, path: &Path) {
        self.found.roots.push(path.to_owned());
        for folder in FOLDERS.map(|name| path.join(name)) {
            if folder.is_dir() {
                self.folder(&folder, DEPTH);
            }
        }
        let others = [
            ("history.jsonl", SourceKind::PromptLog),
            ("history.json", SourceKind::PromptLog),
            ("session_index.jsonl", SourceKind::Titles),
        ];
        for (name, kind) in others {
            let path = path.join(name);
            if path.symlink_metadata().is_ok_and(|about| about.is_file()) {
                self.push(&path, kind);
            }
        }
    }

    /// Collects the files of a folder of sessions.
    fn folder(&mut self, path: &Path, depth: usize) {
        for (path, is_dir) in self.entries(path) {
            if is_dir && depth > 0 {
                self.folder(&path, depth - 1);
            } else if is_dir {
                self.skip(path, "a folder too deep to look into");
            } else if RolloutName::of(&path).is_none() {
                self.skip(path, "not named like a session");
            } else if is_unpacked_too(&path) {
                self.skip(path, "compressed; the file itself is there too");
            } else {
                self.push(&path, SourceKind::Conversation);
            }
        }
    }

    /// Collects the sessions in a folder that the user named, and in its subfolders, judging each by its
    /// content.
    fn anything(&mut self, path: &Path, depth: usize) {
        if is_root(&path.join(".codex")) {
            return self.root(&path.join(".codex"));
        }
        if is_root(path) {
            return self.root(path);
        }
        // Other files in a folder that is not Codex CLI's are not reported.
        for (path, kind) in list(path).unwrap_or_default() {
            let is_session = kind.is_file() && RolloutName::of(&path).is_some();
            if kind.is_dir() && depth > 0 {
                self.anything(&path, depth - 1);
            } else if is_session && !is_unpacked_too(&path) {
                self.file(&path);
            }
        }
    }

    /// Adds a single file if its content is that of a session or a prompt log.
    fn file(&mut self, path: &Path) {
        let Some(head) = head(path) else { return };
        let is_rollout = RolloutName::of(path).is_some();
        if is_session(&head) || (is_rollout && head.trim_ascii().is_empty()) {
            self.push(path, SourceKind::Conversation);
        } else if is_prompt_log(&head) {
            self.push(path, SourceKind::PromptLog);
        }
    }

    fn push(&mut self, path: &Path, kind: SourceKind) {
        let about = match fs::metadata(path) {
            Ok(about) => about,
            Err(error) => return self.problem(path, &error),
        };
        self.found.sources.push(Source {
            agent: Codex.id(),
            path: path.to_owned(),
            kind,
            folder: None,
            size: about.len(),
            modified: about.modified().ok(),
            changed: metadata::changed(&about),
            inode: metadata::inode(&about),
            archived: None,
        });
    }

    fn skip(&mut self, path: PathBuf, why: &'static str) {
        self.found.skipped.push(Skipped { path, why });
    }

    fn problem(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        self.found.problems.push(Problem { path: path.to_owned(), what: error.to_string() });
    }

    /// Lists the folders and regular files in a folder of sessions. Links are not followed, because Codex CLI
    /// never writes any.
    fn entries(&mut self, folder: &Path) -> Vec<(PathBuf, bool)> {
        let all = match list(folder) {
            Ok(all) => all,
            Err(error) => {
                self.problem(folder, &error);
                return Vec::new();
            }
        };
        let mut out = Vec::new();
        for (path, kind) in all {
            if kind.is_dir() || kind.is_file() {
                out.push((path, kind.is_dir()));
            } else {
                self.skip(path, if kind.is_symlink() { "a link" } else { "not a regular file" });
            }
        }
        out
    }
}

/// Lists a folder, sorted by name.
fn list(folder: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    let entry = |entry: io::Result<DirEntry>| entry.and_then(|e| Ok((e.path(), e.file_type()?)));
    let mut all = fs::read_dir(folder)?.map(entry).collect::<io::Result<Vec<_>>>()?;
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(all)
}

/// Returns whether a folder is Codex CLI's, or a home that has it.
pub(super) fn recognizes(folder: &Path) -> bool {
    is_root(&folder.join(".codex")) || is_root(folder)
}

/// Returns whether a folder is a `.codex` folder: one with a folder that contains a session.
fn is_root(path: &Path) -> bool {
    FOLDERS.iter().any(|name| has_session(&path.join(name), DEPTH))
}

/// Returns whether a folder or one of its subfolders contains a session.
fn has_session(folder: &Path, depth: usize) -> bool {
    let all = list(folder).unwrap_or_default();
    let is_ours = |path: &Path| {
        RolloutName::of(path).is_some() && head(path).is_some_and(|head| is_session(&head))
    };
    all.iter().any(|(path, kind)| kind.is_file() && is_ours(path))
        || all.iter().any(|(path, kind)| kind.is_dir() && depth > 0 && has_session(path, depth - 1))
}

/// Returns whether the original of a compressed file still exists.
fn is_unpacked_too(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "zst") && path.with_extension("").is_file()
}

/// Returns the beginning of a file.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let input = unpacked(Box::new(open_regular(path).ok()?)).ok()?;
    input.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}
