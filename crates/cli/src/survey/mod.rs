//! The state of the files, as plain data: what the doctor looks at.
//!
//! Nothing here prints or knows the command line, so that it can move into the library when another
//! front end wants it.

mod deletions;
mod diagnose;
pub(crate) mod file;
pub(crate) mod keeping;
mod projects;
pub(crate) mod report;
pub(crate) mod settings;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::archive::FileRow;
use backstory_core::discover::{Discovery, SourceState};
use backstory_core::env::Env;
use backstory_core::model::Session;
use backstory_core::projects::ProjectHints;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::error::Result;
use crate::library::{Library, cannot_open};

pub(crate) use deletions::soonest;
use file::FileRead;
pub(crate) use projects::ProjectFiles;

/// Every file that was read, by itself and by project.
pub(crate) struct Survey<'a> {
    pub(crate) found: &'a Discovery,
    /// In the order of their paths.
    pub(crate) files: Vec<FileRead>,
    /// The largest first.
    pub(crate) projects: Vec<ProjectFiles>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(library: &'a Library) -> Result<Self> {
        let all = &library.all;
        let mut owners = Owners::default();
        for session in &all.sessions {
            for part in &session.parts {
                owners.entry(part.file.as_os_str()).or_insert(session);
            }
        }
        let rows = library.archive.files().map_err(cannot_open)?;
        let is_there = |row: &FileRow| {
            row.source.archived.as_ref().is_some_and(|archived| archived.state == SourceState::Live)
        };
        let mut files: Vec<FileRead> = rows
            .into_iter()
            .filter(is_there)
            .map(|row| {
                let owner = owners.get(row.source.path.as_os_str()).copied();
                let is_kept = owner.is_some_and(|session| session.captured);
                FileRead { is_kept, ..FileRead::new(row, owner.map(|s| s.id.as_str())) }
            })
            .collect();
        mark_newest(&mut files);
        let learned = library.archive.projects(&ProjectHints::default()).map_err(cannot_open)?;
        let projects = projects::group(&files, &owners, &all.sessions, &all.found.skipped, learned);
        Ok(Self { found: &all.found, files, projects })
    }

    /// Returns whether there is data of Antigravity CLI here, and nothing of Gemini CLI.
    pub(crate) fn only_antigravity(&self) -> bool {
        let is_antigravity = |path: &Path| path.file_name().is_some_and(|n| n == "antigravity-cli");
        self.files.is_empty() && self.found.skipped.iter().any(|s| is_antigravity(&s.path))
    }
}

/// The session that each file is a part of. The paths of both are stored alike, and their text is quicker
/// to hash than their components.
type Owners<'a> = HashMap<&'a OsStr, &'a Session>;

/// Of the files of one session, marks the one that was updated last.
fn mark_newest(files: &mut [FileRead]) {
    let mut newest: HashMap<&str, usize> = HashMap::default();
    let updated =
        |at: usize| files[at].session().map(|file| (file.updated, &files[at].source.path));
    for (at, file) in files.iter().enumerate() {
        if let Some(id) = file.session_id() {
            let best = newest.entry(id).or_insert(at);
            if updated(at) > updated(*best) {
                *best = at;
            }
        }
    }
    let newest: HashSet<usize> = newest.into_values().collect();
    for (at, file) in files.iter_mut().enumerate() {
        file.is_newest = file.session_id().is_none() || newest.contains(&at);
    }
}

/// Looks in the given places, or, without any, in the usual ones and in `roots`.
pub(crate) fn discover(env: &Env, given: &[PathBuf], roots: &[PathBuf]) -> Discovery {
    let mut all = Discovery::default();
    if given.is_empty() {
        all.add(Agents::default().discover(env));
        for root in roots {
            let mut found = Agents::default().discover_at(root);
            for looked in &mut found.looked {
                "`roots` in the config file".clone_into(&mut looked.why);
            }
            all.add(found);
        }
    } else {
        for path in given {
            all.add(Agents::default().discover_at(path));
        }
    }
    all.settle();
    all.roots.sort();
    all.roots.dedup();
    all
}
