//! Finds Gemini CLI's files and determines the kind of each from its path.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Gemini;
use crate::agent::Agent as _;
use crate::agent::finder::{Entry, Finder};
use crate::discover::{Discovery, SearchedPlace, SourceKind};
use crate::env::Env;

/// The depth to which a folder named by the user is searched for Gemini CLI's files.
const DEPTH: usize = 6;

/// The depth to which a project's folder is searched; plans may be in deeply nested folders.
const PROJECT_DEPTH: usize = 32;

/// Searches all places where Gemini CLI may have stored sessions.
pub(super) fn discover(env: &Env) -> Discovery {
    let mut found = Discovery::default();
    for Place { path, why, is_tmp } in places(env) {
        let exists = path.is_dir();
        found.looked.push(SearchedPlace { path: path.clone(), why, exists });
        if exists && is_tmp {
            Finder::new(Gemini.id(), &mut found, &[&path]).projects(&path, false);
        } else if exists {
            root(&path, false, &mut found);
        }
    }
    found.settle();
    found
}

/// Searches a path that the user named: a file, or any folder from a home to a `chats` folder.
pub(super) fn discover_at(path: &Path) -> Discovery {
    let mut found = Discovery::default();
    let why = "given".to_owned();
    found.looked.push(SearchedPlace { path: path.to_owned(), why, exists: path.exists() });
    if path.is_dir() {
        Finder::new(Gemini.id(), &mut found, &[path]).anything(path, DEPTH, false);
    } else if path.exists() {
        Finder::new(Gemini.id(), &mut found, &[]).file(path, false);
    }
    found.settle();
    found
}

/// Returns the agent's folder for new sessions.
pub(super) fn usual_root(env: &Env) -> Option<PathBuf> {
    let Place { path, is_tmp, .. } = places(env).into_iter().next()?;
    if is_tmp { path.parent().map(Path::to_owned) } else { Some(path) }
}

/// Returns the folders in which Gemini CLI keeps one folder per project.
pub(super) fn project_parents(env: &Env) -> Vec<PathBuf> {
    let parent = |place: Place| if place.is_tmp { place.path } else { place.path.join("tmp") };
    places(env).into_iter().map(parent).collect()
}

struct Place {
    path: PathBuf,
    why: String,
    /// Whether the place is the `tmp` folder itself, not the folder that contains it.
    is_tmp: bool,
}

/// Returns the places of the first rule that applies.
fn places(env: &Env) -> Vec<Place> {
    let place = |path: PathBuf, why: &str| Place { path, why: why.to_owned(), is_tmp: false };
    if let Some(tmp) = env.var("GEMINI_SESSIONS_DIR") {
        return vec![Place { is_tmp: true, ..place(tmp.into(), "GEMINI_SESSIONS_DIR") }];
    }
    if let Some(root) = env.var("GEMINI_DIR") {
        return vec![place(root.into(), "GEMINI_DIR")];
    }
    if let Some(home) = env.var("GEMINI_CLI_HOME") {
        // Gemini CLI treats it as the home folder; an older interpretation treats it as the folder
        // itself.
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

/// Searches a `.gemini` folder; `linked` if a link led there.
fn root(path: &Path, linked: bool, found: &mut Discovery) {
    found.roots.push(path.to_owned());
    let tmp = path.join("tmp");
    let mut finder = Finder::new(Gemini.id(), found, &[path, &tmp]);
    let antigravity = path.join("antigravity-cli");
    if antigravity.is_dir() {
        finder.skip(antigravity, "data of Antigravity CLI, another product");
    }
    match fs::metadata(&tmp) {
        Ok(about) if about.is_dir() => finder.projects(&tmp, linked),
        Err(error) if error.kind() != io::ErrorKind::NotFound => finder.problem(&tmp, &error),
        _ => {}
    }
}

impl Finder<'_> {
    /// Searches a `tmp` folder: one folder per project, and a few others.
    fn projects(&mut self, tmp: &Path, linked: bool) {
        for Entry { path, is_dir, linked, .. } in self.entries(tmp, linked) {
            match path.file_name().and_then(OsStr::to_str) {
                _ if !is_dir => {}
                // A project may have that name as well.
                Some("bin") if !is_project(&path) => {
                    self.skip(path, "programs Gemini CLI downloaded");
                }
                Some("background-processes") if !is_project(&path) => {
                    self.skip(path, "output of background commands");
                }
                _ => self.project(&path, linked),
            }
        }
    }

    /// Searches a project's folder.
    fn project(&mut self, folder: &Path, linked: bool) {
        self.walk(folder, PROJECT_DEPTH, linked, &folder.into(), &[]);
    }

    /// Searches a `chats` folder alone.
    fn chats(&mut self, path: &Path, linked: bool) {
        let folder = path.parent().unwrap_or(path);
        self.walk(path, PROJECT_DEPTH, linked, &folder.into(), &["chats"]);
    }

    /// Adds the files in `path`, which is the folder `below` in the folder of its project.
    fn walk(
        &mut self,
        path: &Path,
        depth: usize,
        linked: bool,
        folder: &Arc<Path>,
        below: &[&str],
    ) {
        for entry in self.entries(path, linked) {
            // All relevant names are ASCII, so replacing invalid UTF-8 does not change the result.
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            if !entry.is_dir {
                match classify(below, &name) {
                    ByPlace::Is(kind) => self.push_entry(entry, kind, Some(folder)),
                    ByPlace::Skip(why) => self.skip(entry.path, why),
                    ByPlace::Known => {}
                }
            } else if depth > 1 {
                let below: Vec<&str> = below.iter().copied().chain([&*name]).collect();
                self.walk(&entry.path, depth - 1, entry.linked, folder, &below);
            } else {
                self.skip(entry.path, "a folder too deep to look into");
            }
        }
    }

    /// Searches a folder that the user named, or one in it; its contents determine what it is.
    fn anything(&mut self, path: &Path, depth: usize, linked: bool) {
        let has = |name: &str| path.join(name).is_dir();
        if has(".gemini") || has(".cache/.gemini") {
            for inside in [".gemini", ".cache/.gemini"] {
                if has(inside) {
                    root(&path.join(inside), linked, self.found);
                }
            }
        } else if is_project(path) {
            self.project(path, linked);
        } else if has("tmp") || has("antigravity-cli") || path.join("projects.json").is_file() {
            root(path, linked, self.found);
        } else if path.file_name() == Some(OsStr::new("chats")) && path.parent().is_some() {
            self.chats(path, linked);
        } else {
            for Entry { path, is_dir, linked, .. } in self.entries(path, linked) {
                if is_dir && depth > 0 {
                    self.anything(&path, depth - 1, linked);
                } else if !is_dir && is_json(&path) {
                    self.file(&path, linked);
                }
            }
        }
    }

    /// Adds a single file; its path determines its kind if Gemini CLI would have put it there.
    fn file(&mut self, path: &Path, linked: bool) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = absolute.ancestors().skip(1).find(|folder| {
            absolute.strip_prefix(folder).is_ok_and(|below| below.starts_with("chats"))
                || folder.join(".project_root").is_file()
        });
        let below = folder.and_then(|folder| absolute.strip_prefix(folder).ok());
        let parts: Vec<_> = below.into_iter().flatten().map(OsStr::to_string_lossy).collect();
        let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
        let kind = match parts.split_last().map(|(name, folders)| classify(folders, name)) {
            Some(ByPlace::Is(kind)) => kind,
            _ => SourceKind::Conversation,
        };
        let folder = folder.map(Into::into);
        self.push(path, kind, folder.as_ref(), linked);
    }
}

/// Returns whether a folder is Gemini CLI's, or a home that has it.
pub(super) fn recognizes(folder: &Path) -> bool {
    let has_project = |root: &Path| {
        let mut inside = fs::read_dir(root.join("tmp")).into_iter().flatten().flatten();
        inside.any(|entry| is_project(&entry.path()))
    };
    let inside = [".gemini", ".cache/.gemini"].map(|name| folder.join(name));
    inside.iter().any(|root| has_project(root)) || has_project(folder)
}

/// Returns whether a folder contains files that only a project's folder has.
fn is_project(folder: &Path) -> bool {
    folder.join("chats").is_dir()
        || [".project_root", "logs.json"].iter().any(|name| folder.join(name).is_file())
}

/// The meaning of a path below a project folder.
enum ByPlace {
    Is(SourceKind),
    Skip(&'static str),
    /// Of no interest by itself, and not worth reporting.
    Known,
}

/// Returns the meaning of a file in the folders `folders` of a project.
fn classify(folders: &[&str], name: &str) -> ByPlace {
    let json = |kind| {
        let is_json = is_json(Path::new(name));
        if is_json { ByPlace::Is(kind) } else { ByPlace::Skip("not JSON by its name") }
    };
    match folders {
        ["chats", ..] if name.contains(".unreadable-") => {
            ByPlace::Skip("set aside by Gemini CLI as unreadable")
        }
        ["chats", ..] if name.contains(".tmp-") => ByPlace::Skip("half-written by Gemini CLI"),
        ["chats"] => json(SourceKind::Conversation),
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
            ByPlace::Is(SourceKind::SavedChat)
        }
        [] if name.ends_with(".output") => ByPlace::Is(SourceKind::ToolOutput),
        ["checkpoints"] => json(SourceKind::Snapshot),
        ["tool-outputs", ..] => ByPlace::Is(SourceKind::ToolOutput),
        ["plans", ..] | [_, "plans", ..] if name.ends_with(".md") => ByPlace::Is(SourceKind::Plan),
        ["tracker"] | [_, "tracker"] if name.ends_with(".json") => ByPlace::Is(SourceKind::Task),
        ["logs", ..] => ByPlace::Skip("diagnostic log"),
        ["memory", ..] => ByPlace::Skip("auto-memory notes"),
        _ => ByPlace::Skip("not about sessions"),
    }
}

fn is_json(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending.eq_ignore_ascii_case("json") || ending.eq_ignore_ascii_case("jsonl")
}
