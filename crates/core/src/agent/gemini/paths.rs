//! Where Gemini CLI keeps its files, and what each of them is by its place.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use crate::agent::AgentKind;
use crate::discover::{Found, Looked, Problem, Skipped, Source, SourceKind};
use crate::env::Env;
use crate::metadata;

/// How deep files of interest stand below a project folder
/// (`chats/<parent>/<id>.jsonl`, `<session>/tracker/<id>.json`).
const DEPTH: usize = 6;

/// Looks in all the places where Gemini CLI may have left sessions.
pub fn discover(env: &Env) -> Found {
    let mut found = Found::default();
    for Place { path, why, is_tmp } in places(env) {
        let exists = path.is_dir();
        found.looked.push(Looked { path: path.clone(), why, exists });
        if exists && is_tmp {
            projects(&path, &mut found);
        } else if exists {
            root(&path, &mut found);
        }
    }
    found.settle();
    found
}

/// Takes a path that the user named: a file, or any folder from a home to a `chats` folder.
pub fn discover_given(path: &Path) -> Found {
    let mut found = Found::default();
    let why = "given".to_owned();
    found.looked.push(Looked { path: path.to_owned(), why, exists: path.exists() });
    if path.is_dir() {
        given_folder(path, DEPTH, &mut found);
    } else if path.exists() {
        given_file(path, &mut found);
    }
    found.settle();
    found
}

/// The agent's folder that new sessions go to.
pub fn usual_root(env: &Env) -> Option<PathBuf> {
    let Place { path, is_tmp, .. } = places(env).into_iter().next()?;
    if is_tmp { path.parent().map(Path::to_owned) } else { Some(path) }
}

struct Place {
    path: PathBuf,
    why: String,
    /// The place is the `tmp` folder itself, not the folder that holds it.
    is_tmp: bool,
}

/// The first rule that applies names the places.
fn places(env: &Env) -> Vec<Place> {
    let place = |path: PathBuf, why: &str| Place { path, why: why.to_owned(), is_tmp: false };
    if let Some(tmp) = env.var("GEMINI_SESSIONS_DIR") {
        return vec![Place { is_tmp: true, ..place(tmp.into(), "GEMINI_SESSIONS_DIR") }];
    }
    if let Some(root) = env.var("GEMINI_DIR") {
        return vec![place(root.into(), "GEMINI_DIR")];
    }
    if let Some(home) = env.var("GEMINI_CLI_HOME") {
        // Gemini CLI takes it as the home folder; an older reading takes it as the folder itself.
        let home = PathBuf::from(home);
        let inside = home.join(".gemini");
        if !inside.is_dir() && home.join("tmp").is_dir() {
            return vec![place(home, "GEMINI_CLI_HOME, which holds `tmp` itself")];
        }
        return vec![place(inside, "GEMINI_CLI_HOME")];
    }
    let Some(home) = &env.home else { return Vec::new() };
    vec![
        place(home.join(".gemini"), "home"),
        place(home.join(".cache/.gemini"), "where the macOS sandbox keeps sessions"),
    ]
}

/// A `.gemini` folder.
fn root(path: &Path, found: &mut Found) {
    found.roots.push(path.to_owned());
    let antigravity = path.join("antigravity-cli");
    if antigravity.is_dir() {
        skip(found, antigravity, "data of Antigravity CLI, another product");
    }
    let tmp = path.join("tmp");
    if tmp.is_dir() {
        projects(&tmp, found);
    }
}

/// A `tmp` folder: one folder a project, and a few that are none.
fn projects(tmp: &Path, found: &mut Found) {
    for path in children(tmp, found) {
        if !path.is_dir() {
            continue;
        }
        match path.file_name().and_then(OsStr::to_str) {
            Some("bin") => skip(found, path, "programs Gemini CLI downloaded"),
            Some("background-processes") => skip(found, path, "output of background commands"),
            _ => project(&path, found),
        }
    }
}

/// A project's folder.
fn project(folder: &Path, found: &mut Found) {
    let shared: Arc<Path> = folder.into();
    walk(folder, found, |path, found| {
        let below = path.strip_prefix(folder).unwrap_or(path);
        match classify(below) {
            ByPlace::Is(kind) => push(found, path, kind, Some(&shared)),
            ByPlace::Skip(why) => skip(found, path.to_owned(), why),
            ByPlace::Known => {}
        }
    });
}

/// What a path below a project folder is.
enum ByPlace {
    Is(SourceKind),
    Skip(&'static str),
    /// Of no interest by itself, and not worth a word.
    Known,
}

fn classify(below: &Path) -> ByPlace {
    let parts: Vec<&str> = below.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    let Some((&name, folders)) = parts.split_last() else { return ByPlace::Known };
    let json = |kind| {
        if is_json(name) { ByPlace::Is(kind) } else { ByPlace::Skip("not JSON by its name") }
    };
    match folders {
        ["chats", ..] if name.contains(".unreadable-") => {
            ByPlace::Skip("set aside by Gemini CLI as unreadable")
        }
        ["chats", ..] if name.contains(".tmp-") => ByPlace::Skip("half-written by Gemini CLI"),
        ["chats"] => json(SourceKind::Chat),
        ["chats", parent, ..] if parent.starts_with("skill-extraction-") => {
            json(SourceKind::Background)
        }
        ["chats", ..] => json(SourceKind::Subagent),
        [] if name == ".project_root" => ByPlace::Known,
        [] if name == "logs.json" => ByPlace::Is(SourceKind::PromptLog),
        [] if name.starts_with("logs.json.") && name.ends_with(".bak") => {
            ByPlace::Is(SourceKind::PromptLog)
        }
        [] if name == "shell_history" => ByPlace::Is(SourceKind::ShellHistory),
        [] if name.starts_with("checkpoint-") && name.ends_with(".json") => {
            ByPlace::Is(SourceKind::ChatSave)
        }
        [] if name.ends_with(".output") => ByPlace::Is(SourceKind::ToolOutput),
        ["checkpoints"] => json(SourceKind::RestorePoint),
        ["tool-outputs", ..] => ByPlace::Is(SourceKind::ToolOutput),
        ["plans", ..] | [_, "plans", ..] if name.ends_with(".md") => ByPlace::Is(SourceKind::Plan),
        ["tracker"] | [_, "tracker"] if name.ends_with(".json") => ByPlace::Is(SourceKind::Task),
        ["logs", ..] => ByPlace::Skip("diagnostic log"),
        ["memory", ..] => ByPlace::Skip("auto-memory notes"),
        _ => ByPlace::Skip("not about sessions"),
    }
}

fn given_folder(path: &Path, depth: usize, found: &mut Found) {
    let has = |name: &str| path.join(name).is_dir();
    if has(".gemini") || has(".cache/.gemini") {
        for inside in [".gemini", ".cache/.gemini"] {
            if has(inside) {
                root(&path.join(inside), found);
            }
        }
    } else if has("chats")
        || path.join("logs.json").is_file()
        || path.join(".project_root").is_file()
    {
        project(path, found);
    } else if has("tmp") || has("antigravity-cli") || path.join("projects.json").is_file() {
        root(path, found);
    } else if path.file_name() == Some(OsStr::new("chats")) && path.parent().is_some() {
        chats(path, found);
    } else {
        // A folder of anything: what is in it tells what it is.
        for child in children(path, found) {
            let name = child.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if child.is_dir() && depth > 0 {
                let is_link = child.symlink_metadata().is_ok_and(|data| data.is_symlink());
                if is_link && path.canonicalize().ok() >= child.canonicalize().ok() {
                    problem(found, &child, &"a link that may lead back is not followed");
                    continue;
                }
                given_folder(&child, depth - 1, found);
            } else if is_json(name) {
                given_file(&child, found);
            }
        }
    }
}

/// A `chats` folder alone.
fn chats(path: &Path, found: &mut Found) {
    let folder: Arc<Path> = path.parent().unwrap_or(path).into();
    walk(path, found, |file, found| {
        let below = Path::new("chats").join(file.strip_prefix(path).unwrap_or(file));
        match classify(&below) {
            ByPlace::Is(kind) => push(found, file, kind, Some(&folder)),
            ByPlace::Skip(why) => skip(found, file.to_owned(), why),
            ByPlace::Known => {}
        }
    });
}

/// A file by itself: its place tells what it is, if it stands where Gemini CLI would put it.
fn given_file(path: &Path, found: &mut Found) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.ancestors().skip(1).find(|folder| {
        absolute.strip_prefix(folder).is_ok_and(|below| below.starts_with("chats"))
            || folder.join(".project_root").is_file()
    });
    let kind = folder.and_then(|folder| absolute.strip_prefix(folder).ok()).map(classify);
    let kind = match kind {
        Some(ByPlace::Is(kind)) => kind,
        _ => SourceKind::Chat,
    };
    push(found, path, kind, folder.map(Into::into).as_ref());
}

fn is_json(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    ending.eq_ignore_ascii_case("json") || ending.eq_ignore_ascii_case("jsonl")
}

fn push(found: &mut Found, path: &Path, kind: SourceKind, folder: Option<&Arc<Path>>) {
    match fs::metadata(path) {
        Ok(metadata) => found.sources.push(Source {
            agent: AgentKind::Gemini,
            path: path.to_owned(),
            kind,
            folder: folder.cloned(),
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: metadata::changed(&metadata),
            inode: metadata::inode(&metadata),
            archived: None,
        }),
        Err(error) => problem(found, path, &error),
    }
}

fn skip(found: &mut Found, path: PathBuf, why: &'static str) {
    found.skipped.push(Skipped { path, why });
}

fn problem(found: &mut Found, path: &Path, error: &dyn std::fmt::Display) {
    found.problems.push(Problem { path: path.to_owned(), what: error.to_string() });
}

fn children(folder: &Path, found: &mut Found) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            problem(found, folder, &error);
            return Vec::new();
        }
    };
    let mut out = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => out.push(entry.path()),
            Err(error) => problem(found, folder, &error),
        }
    }
    out.sort();
    out
}

/// Calls `file` for every file below. Links are followed, for people move `~/.gemini` to another
/// disk; a link that leads back up is a problem, not an endless walk.
fn walk(folder: &Path, found: &mut Found, mut file: impl FnMut(&Path, &mut Found)) {
    for entry in WalkDir::new(folder).follow_links(true).max_depth(DEPTH).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() => file(entry.path(), found),
            Ok(_) => {}
            Err(error) => {
                let path = error.path().unwrap_or(folder).to_owned();
                if let Some(ancestor) = error.loop_ancestor() {
                    let what = format!("a link that leads back to `{}`", ancestor.display());
                    problem(found, &path, &what);
                } else {
                    let io =
                        error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    problem(found, &path, &io);
                }
            }
        }
    }
}
