//! What is on the disk right now, as plain data: found, read, grouped by project.
//!
//! Nothing here prints or knows the command line, so that it can move into the library when another
//! front end wants it.

pub(crate) mod choose;
mod deletions;
mod diagnose;
pub(crate) mod file;
mod projects;
pub(crate) mod report;
mod settings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstory_core::agent::gemini::{self, Project};
use backstory_core::discover::Found;
use backstory_core::env::Env;
use jiff::Timestamp;
use rayon::prelude::*;

use file::FileRead;
pub(crate) use projects::ProjectFiles;

/// Everything that was found, each file read once.
pub(crate) struct Survey {
    pub(crate) found: Found,
    /// In the order of their paths.
    pub(crate) files: Vec<FileRead>,
    /// The largest first.
    pub(crate) projects: Vec<ProjectFiles>,
}

impl Survey {
    /// Reads all files, several at once. `tick` is called after each, from any thread.
    pub(crate) fn take(mut found: Found, tick: &(dyn Fn() + Sync)) -> Self {
        let sources = std::mem::take(&mut found.sources);
        let known = known_projects(sources.iter().filter_map(|source| source.folder.as_ref()));
        let read = |source: backstory_core::discover::Source| {
            let project = source.folder.as_ref().and_then(|folder| known.get(folder));
            let read = file::read(source, project);
            tick();
            read
        };
        let mut files: Vec<FileRead> = sources.into_par_iter().map(read).collect();
        mark_newest(&mut files);
        let projects = projects::group(&files, &found.skipped, &known);
        Self { found, files, projects }
    }

    /// Sessions that one could go back to, each once.
    pub(crate) fn sessions(&self) -> u64 {
        self.projects.iter().map(|project| project.sessions).sum()
    }

    /// Whether there is data of Antigravity CLI here, and nothing of Gemini CLI.
    pub(crate) fn only_antigravity(&self) -> bool {
        let is_antigravity = |path: &Path| path.file_name().is_some_and(|n| n == "antigravity-cli");
        self.files.is_empty() && self.found.skipped.iter().any(|s| is_antigravity(&s.path))
    }
}

/// Of the files of one session, marks the one that was updated last.
fn mark_newest(files: &mut [FileRead]) {
    let mut newest: HashMap<String, (Option<Timestamp>, PathBuf)> = HashMap::new();
    for file in files.iter() {
        if let Some(session) = file.session() {
            let this = (session.updated, file.source.path.clone());
            let best = newest.entry(session.id.clone()).or_insert_with(|| this.clone());
            if this > *best {
                *best = this;
            }
        }
    }
    for file in files {
        let best = file.session().and_then(|session| newest.get(&session.id));
        file.is_newest = best.is_none_or(|(_, path)| *path == file.source.path);
    }
}

fn known_projects<'a>(folders: impl Iterator<Item = &'a Arc<Path>>) -> HashMap<Arc<Path>, Project> {
    let mut known = HashMap::new();
    for folder in folders {
        known.entry(folder.clone()).or_insert_with(|| Project::of_folder(folder));
    }
    known
}

/// Looks in the given places, or, without any, in the usual ones and in `roots`.
pub(crate) fn discover(env: &Env, given: &[PathBuf], roots: &[PathBuf]) -> Found {
    let mut all = Found::default();
    let mut add = |found: Found| {
        all.looked.extend(found.looked);
        all.roots.extend(found.roots);
        all.sources.extend(found.sources);
        all.skipped.extend(found.skipped);
        all.problems.extend(found.problems);
    };
    if given.is_empty() {
        add(gemini::discover(env));
        for root in roots {
            let mut found = gemini::discover_given(root);
            for looked in &mut found.looked {
                "`roots` in the config file".clone_into(&mut looked.why);
            }
            add(found);
        }
    } else {
        for path in given {
            add(gemini::discover_given(path));
        }
    }
    all.settle();
    all.roots.sort();
    all.roots.dedup();
    all
}
