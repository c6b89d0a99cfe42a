//! The projects of a collection.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::collection::Collection;
use crate::model::Usage;
use crate::project::{Project, Proof};

use super::Filter;

#[derive(Debug, Clone)]
pub struct ProjectAnswer {
    pub project: Project,
    /// The agent's folders for it.
    pub dirs: Vec<String>,
    /// Sessions in which something was said.
    pub sessions: usize,
    pub updated: Option<Timestamp>,
    pub bytes: u64,
    pub usage: Usage,
}

/// The projects that have any session, the most recent first.
pub fn projects(all: &Collection, filter: &Filter) -> Vec<ProjectAnswer> {
    let mut by_key: BTreeMap<String, ProjectAnswer> = BTreeMap::new();
    let mut dirs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut sizes: BTreeMap<&std::path::Path, u64> = BTreeMap::new();
    for file in &all.files {
        *sizes.entry(&file.source.path).or_default() += file.source.size;
    }
    for assembled in &all.sessions {
        let session = &assembled.session;
        if !filter.takes_project(&session.project) {
            continue;
        }
        let key = session.project.key().to_owned();
        dirs.entry(key.clone()).or_default().extend(session.project.dir.clone());
        let answer = by_key.entry(key).or_insert_with(|| ProjectAnswer {
            project: (*session.project).clone(),
            dirs: Vec::new(),
            sessions: 0,
            updated: None,
            bytes: 0,
            usage: Usage::default(),
        });
        if session.project.proof < answer.project.proof {
            answer.project = (*session.project).clone();
        }
        answer.sessions += usize::from(session.is_listed());
        answer.updated = answer.updated.max(session.updated);
        answer.usage += session.usage;
        for file in &assembled.files {
            answer.bytes += sizes.remove(file.as_path()).unwrap_or(0);
            let folder = folder_of(file);
            dirs.entry(session.project.key().to_owned()).or_default().extend(folder);
        }
    }
    let mut out: Vec<ProjectAnswer> = by_key.into_values().collect();
    for answer in &mut out {
        let key = answer.project.key().to_owned();
        answer.dirs = dirs.remove(&key).unwrap_or_default().into_iter().collect();
    }
    out.sort_by(|a, b| {
        b.updated.cmp(&a.updated).then_with(|| a.project.key().cmp(b.project.key()))
    });
    out
}

/// The name of the agent's folder that a chat file stands in.
fn folder_of(file: &std::path::Path) -> Option<String> {
    let chats = file.ancestors().find(|path| path.file_name().is_some_and(|n| n == "chats"))?;
    Some(chats.parent()?.file_name()?.to_string_lossy().into_owned())
}

/// The hashes of projects whose path is not known, or only guessed.
pub fn unresolved(all: &Collection) -> Vec<String> {
    let open = all.sessions.iter().filter(|s| s.session.project.proof >= Proof::ToolPaths);
    let hashes: BTreeSet<String> = open.filter_map(|s| s.session.project.hash.clone()).collect();
    hashes.into_iter().collect()
}
