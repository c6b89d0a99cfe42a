//! Finds the files of Claude Code, and classifies each by its path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::recognize::{Shape, shape};
use super::views::{Names, Place};
use super::{Claude, desktop};
use crate::agent::Agent as _;
use crate::agent::finder::{Entry, Finder};
use crate::discover::{Discovery, SearchedPlace, Source, SourceKind};
use crate::env::Env;
use crate::id::is_uuid;
use crate::read::bytes::open_regular;

/// The maximum depth to search below a folder: agents of workflows are a few folders below their project.
const DEPTH: usize = 16;

/// The maximum depth to search for Claude Code's files below a folder that the user named.
const NAMED_DEPTH: usize = 6;

/// The maximum depth of transcripts below `projects`, including those of agents.
const SESSION_DEPTH: usize = 3;

/// The folder of Claude Code's folder that contains one folder per project.
pub(super) const PROJECTS: &str = "projects";

/// Returns Claude Code's folder for new sessions.
pub(super) fn usual_root(env: &Env) -> Option<PathBuf> {
    let config = env.var("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    config.or_else(|| Some(env.home.as_ref()?.join(".claude")))
}

/// Returns the folders in which Claude Code keeps one folder per project.
pub(super) fn project_parents(env: &Env) -> Vec<PathBuf> {
    let parent = |root: Root| if root.is_projects { root.path } else { root.path.join(PROJECTS) };
    roots(env).into_iter().map(parent).collect()
}

/// Searches every place where Claude Code may have left sessions.
pub(super) fn discover(env: &Env) -> Discovery {
    let mut found = Discovery::default();
    for Root { path, why, is_projects, always } in roots(env) {
        let projects = if is_projects { path.clone() } else { path.join("projects") };
        let exists = projects.is_dir();
        if exists || always {
            found.looked.push(SearchedPlace { path: path.clone(), why: why.to_owned(), exists });
        }
        if exists && is_projects {
            let mut finder = Finder::new(Claude.id(), &mut found, &[&path]);
            walk(&mut finder, &projects, DEPTH, false, &|_| true);
        } else if exists {
            root(&path, false, &mut found);
            if let Some(home) = path.parent().filter(|home| home.join(INSIDE[0]) == path) {
                config(home, &mut found);
            }
        }
    }
    let is_chosen =
        ["CLAUDE_PROJECTS_DIR", "CLAUDE_CONFIG_DIR"].iter().any(|name| env.var(name).is_some());
    for path in desktop::folders(env).into_iter().filter(|_| !is_chosen) {
        for projects in desktop::projects(&path) {
            let mut finder = Finder::new(Claude.id(), &mut found, &[&projects]);
            walk(&mut finder, &projects, DEPTH, false, &|_| true);
        }
        let why = "Claude desktop".to_owned();
        found.looked.push(SearchedPlace { path, why, exists: true });
    }
    found.settle();
    found
}

/// Claude Code's folders in a home.
const INSIDE: [&str; 2] = [".claude", ".config/claude"];

/// Returns whether a folder is Claude Code's, or a home that has it.
pub(super) fn recognizes(folder: &Path) -> bool {
    let is_root = |path: &Path| {
        path.join("projects").is_dir() && has_transcript(&path.join("projects"), SESSION_DEPTH)
    };
    INSIDE.iter().any(|name| is_root(&folder.join(name))) || is_root(folder)
}

/// Finds the files of Claude Code at or below a path that the user named.
pub(super) fn discover_at(path: &Path) -> Discovery {
    let mut found = Discovery::default();
    let why = "given".to_owned();
    let looked = SearchedPlace { path: path.to_owned(), why, exists: path.exists() };
    if path.is_dir() {
        anything(&mut found, path, NAMED_DEPTH);
    } else if is_recognized(path) {
        let folder = path.parent().and_then(project_folder);
        let mut finder = Finder::new(Claude.id(), &mut found, &[]);
        if let Some(kind) = classify(path) {
            finder.push(path, kind, in_project(kind, folder.as_ref()), false);
        }
    }
    // Notes and outputs belong to the sessions beside them, and problems outside a root are not Claude
    // Code's.
    let has_session = found.sources.iter().any(|source| is_by_content(source.kind));
    if !has_session {
        found.sources.clear();
    }
    let Discovery { roots, skipped, problems, .. } = &mut found;
    let is_own = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    skipped.retain(|skipped| is_own(&skipped.path));
    problems.retain(|problem| is_own(&problem.path));
    found.looked.push(looked);
    found.settle();
    found
}

/// Collects the files of a folder like `~/.claude`.
fn root(path: &Path, linked: bool, found: &mut Discovery) {
    found.roots.push(path.to_owned());
    let projects = path.join("projects");
    let mut finder = Finder::new(Claude.id(), found, &[path, &projects]);
    walk(&mut finder, &projects, DEPTH, linked, &|_| true);
    let log = path.join("history.jsonl");
    if log.is_file() {
        finder.push(&log, SourceKind::PromptLog, None, linked);
    }
    config(path, found);
}

/// Adds the file in which old versions keep what was typed: it is in the home, or in the folder that is used instead
/// of `~/.claude`. A link to it is not followed.
fn config(folder: &Path, found: &mut Discovery) {
    let path = folder.join(".claude.json");
    if path.symlink_metadata().is_ok_and(|about| about.is_file()) {
        Finder::new(Claude.id(), found, &[]).push(&path, SourceKind::State, None, false);
    }
}

/// Collects the files of Claude Code in a folder that the user named, or in its subfolders.
fn anything(found: &mut Discovery, path: &Path, depth: usize) {
    let inside = INSIDE.map(|name| path.join(name));
    let is_root = |path: &Path| path.join("projects").is_dir();
    if inside.iter().any(|path| is_root(path)) {
        inside.iter().filter(|path| is_root(path)).for_each(|path| root(path, false, found));
        return config(path, found);
    }
    if is_root(path) && has_transcript(&path.join("projects"), SESSION_DEPTH) {
        return root(path, false, found);
    }
    let mut finder = Finder::new(Claude.id(), found, &[path]);
    let mut folders = Vec::new();
    let project = project_folder(path);
    for entry in finder.entries(path, false) {
        if !entry.is_dir {
            take(&mut finder, entry, project.as_ref(), &is_recognized);
        } else if depth > 0 && !entry.linked {
            folders.push(entry.path);
        }
    }
    for folder in folders {
        anything(found, &folder, depth - 1);
    }
}

/// Returns whether a folder or one of its subfolders contains a transcript.
fn has_transcript(folder: &Path, depth: usize) -> bool {
    let mut ignored = Discovery::default();
    let entries = Finder::new(Claude.id(), &mut ignored, &[]).entries(folder, false);
    let is_session =
        |path: &Path| classify(path).is_some_and(SourceKind::is_session) && is_recognized(path);
    let is_found = |entry: &Entry| {
        if entry.is_dir {
            depth > 0 && has_transcript(&entry.path, depth - 1)
        } else {
            is_session(&entry.path)
        }
    };
    entries.iter().any(is_found)
}

struct Root {
    path: PathBuf,
    why: &'static str,
    /// Whether the path is the `projects` folder itself.
    is_projects: bool,
    /// Whether the place is reported even if it does not exist.
    always: bool,
}

/// Returns the folders to search: the configured one, otherwise the defaults.
fn roots(env: &Env) -> Vec<Root> {
    let root = |path: PathBuf, why: &'static str, always: bool| Root {
        path,
        why,
        is_projects: false,
        always,
    };
    if let Some(projects) = env.var("CLAUDE_PROJECTS_DIR") {
        return vec![Root {
            is_projects: true,
            ..root(projects.into(), "CLAUDE_PROJECTS_DIR", true)
        }];
    }
    if let Some(config) = env.var("CLAUDE_CONFIG_DIR") {
        return vec![root(config.into(), "CLAUDE_CONFIG_DIR", true)];
    }
    let mut out = Vec::new();
    out.extend(env.home.as_ref().map(|home| root(home.join(".claude"), "home", true)));
    if let Some(config) = env.var("XDG_CONFIG_HOME") {
        out.push(root(Path::new(config).join("claude"), "XDG_CONFIG_HOME", false));
    }
    out.extend(env.home.as_ref().map(|home| root(home.join(".config/claude"), "home", false)));
    out
}

/// Collects the files of Claude Code below a folder. `is_own` decides whether a log is one of them.
fn walk(
    finder: &mut Finder<'_>,
    folder: &Path,
    depth: usize,
    linked: bool,
    is_own: &dyn Fn(&Path) -> bool,
) {
    let project = project_folder(folder);
    for entry in finder.entries(folder, linked) {
        if !entry.is_dir {
            take(finder, entry, project.as_ref(), is_own);
        } else if depth == 0 {
            finder.skip(entry.path, "a folder too deep to look into");
        } else {
            walk(finder, &entry.path, depth - 1, entry.linked, is_own);
        }
    }
}

/// Adds a file if it is one of Claude Code's.
fn take(
    finder: &mut Finder<'_>,
    entry: Entry,
    project: Option<&Arc<Path>>,
    is_own: &dyn Fn(&Path) -> bool,
) {
    let Some(kind) = classify(&entry.path) else { return };
    if !is_by_content(kind) || is_own(&entry.path) {
        finder.push_entry(entry, kind, in_project(kind, project));
    }
}

/// Returns the folder of the project that a file of some kind belongs to, if it belongs to one.
fn in_project(kind: SourceKind, folder: Option<&Arc<Path>>) -> Option<&Arc<Path>> {
    folder.filter(|_| kind != SourceKind::PromptLog)
}

/// Returns whether files of a kind are recognized by their content.
fn is_by_content(kind: SourceKind) -> bool {
    kind.is_session() || kind == SourceKind::PromptLog
}

/// Classifies a file by its name and folder.
fn classify(path: &Path) -> Option<SourceKind> {
    let name = path.file_name()?.to_string_lossy();
    let inside = path.parent().and_then(Path::file_name).map(OsStr::to_string_lossy);
    let inside = inside.as_deref().unwrap_or_default();
    match &*name {
        "history.jsonl" => Some(SourceKind::PromptLog),
        "custom-title.json" if is_uuid(inside) => Some(SourceKind::Note),
        _ if is_log(&name) && name.starts_with("agent-") => Some(SourceKind::Subagent),
        _ if is_log(&name) => Some(SourceKind::Conversation),
        _ if name.starts_with("agent-") && name.ends_with(".meta.json") => Some(SourceKind::Note),
        _ if inside == "tool-results" => Some(SourceKind::ToolOutput),
        _ => None,
    }
}

/// Returns whether a name is that of a transcript, including one that was set aside when its session moved.
fn is_log(name: &str) -> bool {
    name.ends_with(".jsonl") || name.contains(".jsonl.superseded-")
}

/// Returns whether a transcript was set aside when its session moved.
pub(super) fn is_superseded(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".jsonl.superseded-"))
}

/// Returns whether the first lines of a file are Claude Code's.
fn is_recognized(path: &Path) -> bool {
    let wanted = match classify(path) {
        Some(SourceKind::PromptLog) => Shape::PromptLog,
        _ => Shape::Transcript,
    };
    open_regular(path).and_then(shape).is_ok_and(|found| found == wanted)
}

/// Returns the folder of the project that the files in a folder belong to: the one in `projects`, otherwise the
/// one that contains the session's file.
fn project_folder(folder: &Path) -> Option<Arc<Path>> {
    // The path of the current folder is empty.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let is_projects = |folder: &Path| folder.file_name() == Some(OsStr::new("projects"));
    let mut folders = absolute.ancestors();
    let in_projects = folders.clone().find(|folder| folder.parent().is_some_and(is_projects));
    let is_own = |folder: &Path| {
        let name = folder.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        is_of_session(&name) || is_uuid(&*name)
    };
    in_projects.or_else(|| folders.find(|folder| !is_own(folder))).map(Into::into)
}

/// Returns the owners that the path of a transcript implies for its lines.
pub(super) fn place(path: &Path, names: &mut Names) -> Place {
    let stem: Arc<str> = stem(path).into();
    let agent = stem.strip_prefix("agent-");
    Place {
        agent: names.shared(agent),
        parent: names.shared(session_folder(path).filter(|_| agent.is_some())),
        stem,
    }
}

/// Returns the name of a transcript without its endings, usually the id of its session.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split_once(".jsonl").map_or(&*name, |(stem, _)| stem).to_owned()
}

/// Returns the session whose folder a file is in: directly, or among its agents or outputs. Other folders may be named
/// like a session, such as a disk.
fn session_folder(path: &Path) -> Option<&str> {
    let names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    let is_inside = |at: usize| at + 1 == names.len() - 1 || is_of_session(names[at + 1]);
    let folders = 0..names.len().saturating_sub(1);
    folders.rev().find(|at| is_uuid(names[*at]) && is_inside(*at)).map(|at| names[at])
}

/// Returns whether a folder with this name is part of a session's folder.
fn is_of_session(name: &str) -> bool {
    matches!(name, "subagents" | "tool-results")
}

/// Returns the id of the session that a sidecar file is about: an agent's, or the one whose folder it is in.
pub(super) fn session_of_sidecar(path: &Path) -> Option<String> {
    let session = session_folder(path)?;
    let name = path.file_name()?.to_str()?;
    Some(match name.strip_suffix(".meta.json") {
        Some(agent) => format!("{session}/{agent}"),
        None => session.to_owned(),
    })
}

/// Returns the session that a file belongs to, judged by its path.
pub(super) fn owner(source: &Source) -> Option<&str> {
    session_folder(&source.path)
}

/// Returns the name of the folder in which Claude Code stores the sessions of a path.
pub(super) fn folder_name(path: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
    let name: String =
        path.encode_utf16().map(|unit| plain(unit).map_or('-', char::from)).collect();
    if name.len() <= LONGEST {
        return name;
    }
    let hash = path
        .encode_utf16()
        .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", &name[..LONGEST], base_36(hash.unsigned_abs()))
}

fn base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_paths() {
        assert_eq!(
            folder_name("/home/dev/projects/über_app v1.2 (x)"),
            "-home-dev-projects--ber-app-v1-2--x-"
        );
        assert_eq!(folder_name("日本語"), "---");
        assert_eq!(folder_name("🚀"), "--");
        let long = folder_name(&format!("/{}", "a".repeat(300)));
        assert_eq!(long.len(), 200 + 1 + long.rsplit('-').next().unwrap().len());
        assert_eq!(base_36(0), "0");
        assert_eq!(base_36(35 * 36 + 10), "za");
    }

    #[test]
    fn files_are_known_by_their_place() {
        use SourceKind::{Conversation, Note, PromptLog, Subagent, ToolOutput};
        let session = "0000000a-0000-4000-8000-000000000000";
        for (path, kind) in [
            (format!("projects/-p/{session}.jsonl"), Some(Conversation)),
            (format!("projects/-p/{session}.jsonl.superseded-17"), Some(Conversation)),
            ("projects/-p/agent-12345678.jsonl".to_owned(), Some(Subagent)),
            (format!("projects/-p/{session}/subagents/agent-a1.jsonl"), Some(Subagent)),
            (format!("projects/-p/{session}/subagents/agent-a1.meta.json"), Some(Note)),
            (format!("projects/-p/{session}/tool-results/x.txt"), Some(ToolOutput)),
            (format!("projects/-p/{session}/custom-title.json"), Some(Note)),
            ("history.jsonl".to_owned(), Some(PromptLog)),
            ("settings.json".to_owned(), None),
        ] {
            assert_eq!(classify(Path::new(&path)), kind, "{path}");
        }
        let agent = format!("/x/projects/-p/{session}/subagents/workflows/wf_1/agent-a1.jsonl");
        let found = place(Path::new(&agent), &mut Names::default());
        assert_eq!(found.agent.as_deref(), Some("a1"));
        assert_eq!(found.parent.as_deref(), Some(session));
        let folder = Path::new(&agent).parent().and_then(project_folder);
        assert_eq!(folder, Some(Path::new("/x/projects/-p").into()));
        // The disk of a home may be named like a session.
        let old = format!("/media/{session}/.claude/projects/-p/agent-a1.jsonl");
        assert_eq!(place(Path::new(&old), &mut Names::default()).parent, None);
        let note = format!("{session}/custom-title.json");
        assert_eq!(session_folder(Path::new(&note)), Some(session));
        assert_eq!(session_folder(Path::new("")), None);
    }
}
