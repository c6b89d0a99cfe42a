//! Finds the files of Codex CLI, and classifies each by its path and content.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::format::{is_prompt_log, is_rollout, is_session};
use super::{Codex, state};
use crate::agent::Agent as _;
use crate::agent::finder::{Entry, Finder};
use crate::discover::{Discovery, SearchedPlace, SourceKind};
use crate::env::Env;
use crate::metadata;
use crate::read::bytes::{SETTINGS_LIMIT, open_regular, read_regular};
use crate::read::packed::unpacked;
use crate::read::{decode, unpadded};

/// The maximum depth to search below a folder.
const DEPTH: usize = 8;

/// The number of bytes at the beginning of a file that determine whose it is.
const HEAD: u64 = 64 * 1024;

/// The folder of a `.codex` folder that contains sessions.
pub(super) const SESSIONS: &str = "sessions";

/// The folder of a `.codex` folder that contains archived sessions.
pub(super) const ARCHIVED: &str = "archived_sessions";

/// The folders of a `.codex` folder that contain sessions.
pub(super) const FOLDERS: [&str; 2] = [SESSIONS, ARCHIVED];

/// The list of the names of threads in a `.codex` folder.
pub(super) const NAMES: &str = "session_index.jsonl";

/// Returns Codex CLI's folder for new sessions.
pub(super) fn usual_root(env: &Env) -> Option<PathBuf> {
    let root = env.var("CODEX_HOME").map(PathBuf::from);
    root.or_else(|| Some(env.home.as_ref()?.join(".codex")))
}

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
        let mut finder = Finder::new(Codex.id(), &mut found, &[&path]);
        sessions(&mut finder, &path, DEPTH, false);
    } else if exists {
        root(&path, &databases(&path, env), &mut found);
    }
    found.settle();
    found
}

/// Returns the folder of the databases of a `.codex` folder, which its settings may move elsewhere.
fn databases(root: &Path, env: &Env) -> PathBuf {
    let setting = || {
        let text = read_regular(&root.join("config.toml"), SETTINGS_LIMIT).ok()?;
        let settings: toml::Table = toml::from_str(unpadded(&decode(&text))).ok()?;
        settings.get("sqlite_home")?.as_str().map(PathBuf::from)
    };
    let moved = setting().or_else(|| env.var("CODEX_SQLITE_HOME").map(PathBuf::from));
    let Some(folder) = moved else { return root.to_owned() };
    match (folder.strip_prefix("~"), &env.home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => root.join(folder),
    }
}

/// Searches a path that the user named: a file, or any folder at, above or below a `.codex` folder.
pub(super) fn discover_at(path: &Path) -> Discovery {
    let mut found = Discovery::default();
    if path.is_dir() {
        anything(&mut found, path, DEPTH);
    } else if path.exists() {
        let mut finder = Finder::new(Codex.id(), &mut found, &[]);
        file(&mut finder, path, false);
    }
    // Other files and problems in a folder that is not Codex CLI's are not reported.
    let Discovery { roots, skipped, problems, .. } = &mut found;
    let is_own = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    skipped.retain(|skipped| is_own(&skipped.path));
    problems.retain(|problem| is_own(&problem.path));
    let why = "given".to_owned();
    found.looked.push(SearchedPlace { path: path.to_owned(), why, exists: path.exists() });
    found.settle();
    found
}

/// The prompt log.
const HISTORY: &str = "history.jsonl";

/// Collects the files of a `.codex` folder, and its list of threads, which may be in another folder.
fn root(path: &Path, databases: &Path, found: &mut Discovery) {
    found.roots.push(path.to_owned());
    let folders = FOLDERS.map(|name| path.join(name));
    // Links that lead elsewhere are not followed, not even within the folder: it contains a secret.
    let mut finder = Finder::new(Codex.id(), found, &folders.each_ref().map(PathBuf::as_path));
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        sessions(&mut finder, folder, DEPTH, false);
    }
    let others = [
        (HISTORY, SourceKind::PromptLog),
        ("history.json", SourceKind::PromptLog),
        (NAMES, SourceKind::Titles),
    ];
    for (name, kind) in others {
        let path = path.join(name);
        if path.symlink_metadata().is_ok_and(|about| about.is_file()) {
            finder.push(&path, kind, None, false);
        }
    }
    let files = fs::read_dir(databases).into_iter().flatten().flatten();
    let lists = files.filter_map(|file| Some((state_number(&file)?, file.path())));
    if let Some((_, list)) = lists.max() {
        finder.push(&list, SourceKind::State, None, false);
        include_log(&mut finder, &list);
    }
}

/// Returns the number in the name of a list of threads, `state_5.sqlite`. It grows with the versions.
fn state_number(file: &DirEntry) -> Option<u32> {
    let name = file.file_name();
    let number = name.to_str()?.strip_prefix("state_")?.strip_suffix(".sqlite")?;
    let is_regular = file.file_type().is_ok_and(|kind| kind.is_file());
    number.parse().ok().filter(|_| is_regular)
}

/// Makes a list of threads as new as its write-ahead log.
fn include_log(finder: &mut Finder<'_>, list: &Path) {
    let found = finder.found.sources.last_mut().filter(|source| source.path == list);
    if let (Some(source), Ok(log)) = (found, fs::metadata(state::log(list))) {
        source.modified = source.modified.max(log.modified().ok());
        source.changed = source.changed.max(metadata::changed(&log));
    }
}

/// Collects the files of a folder of sessions.
fn sessions(finder: &mut Finder<'_>, folder: &Path, depth: usize, linked: bool) {
    for entry in finder.entries(folder, linked) {
        if entry.is_dir && depth > 0 {
            sessions(finder, &entry.path, depth - 1, entry.linked);
        } else if entry.is_dir {
            finder.skip(entry.path, "a folder too deep to look into");
        } else if !is_rollout(&entry.path) {
            finder.skip(entry.path, "not named like a session");
        } else if is_unpacked_too(&entry.path) {
            finder.skip(entry.path, "compressed; the file itself is there too");
        } else {
            finder.push_entry(entry, SourceKind::Conversation, None);
        }
    }
}

/// Collects the sessions in a folder that the user named, and in its subfolders, judging each by its content.
fn anything(found: &mut Discovery, path: &Path, depth: usize) {
    let inside = path.join(".codex");
    if is_root(&inside) {
        return root(&inside, &inside, found);
    }
    if is_root(path) {
        return root(path, path, found);
    }
    let mut finder = Finder::new(Codex.id(), found, &[path]);
    let mut folders = Vec::new();
    for Entry { path, is_dir, linked, .. } in finder.entries(path, false) {
        let is_session = !is_dir && is_rollout(&path);
        if is_dir && depth > 0 && !linked {
            folders.push(path);
        } else if is_session && !is_unpacked_too(&path) {
            file(&mut finder, &path, linked);
        }
    }
    for folder in folders {
        anything(found, &folder, depth - 1);
    }
}

/// Adds a single file if its content is that of a session or a prompt log.
fn file(finder: &mut Finder<'_>, path: &Path, linked: bool) {
    let Some(head) = head(path) else { return };
    if is_session(&head) || (is_rollout(path) && head.trim_ascii().is_empty()) {
        finder.push(path, SourceKind::Conversation, None, linked);
    } else if is_prompt_log(&head) {
        finder.push(path, SourceKind::PromptLog, None, linked);
    }
}

/// Returns whether a folder is Codex CLI's, or a home that has it.
pub(super) fn recognizes(folder: &Path) -> bool {
    is_root(&folder.join(".codex")) || is_root(folder)
}

/// Returns whether a folder is a `.codex` folder: one with a folder that contains a session, or with a prompt log.
fn is_root(path: &Path) -> bool {
    FOLDERS.iter().any(|name| has_session(&path.join(name), DEPTH))
        || head(&path.join(HISTORY)).is_some_and(|head| is_prompt_log(&head))
}

/// Returns whether a folder or one of its subfolders contains a session.
fn has_session(folder: &Path, depth: usize) -> bool {
    let mut ignored = Discovery::default();
    let entries = Finder::new(Codex.id(), &mut ignored, &[folder]).entries(folder, false);
    let is_ours =
        |path: &Path| is_rollout(path) && head(path).is_some_and(|head| is_session(&head));
    entries.iter().any(|entry| !entry.is_dir && is_ours(&entry.path))
        || entries.iter().any(|entry| {
            entry.is_dir && !entry.linked && depth > 0 && has_session(&entry.path, depth - 1)
        })
}

/// Returns whether the original of a compressed file still exists.
fn is_unpacked_too(path: &Path) -> bool {
    // As text, because splitting a path takes long, and there are many.
    path.as_os_str().as_encoded_bytes().ends_with(b".zst") && path.with_extension("").is_file()
}

/// Returns the beginning of a file.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let input = unpacked(Box::new(open_regular(path).ok()?)).ok()?;
    input.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}
