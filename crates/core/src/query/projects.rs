//! Summarizes the projects of a collection.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;

use crate::archive::Sizes;
use crate::collection::Collection;
use crate::model::{SessionKind, Usage};
use crate::pricing::Bill;
use crate::project::{Project, Proof};
use crate::query::usage::Costs;

use super::Filter;

/// A project and the sum of its sessions.
#[derive(Debug, Clone)]
pub struct ProjectAnswer {
    /// The project.
    pub project: Project,
    /// The agent's folders for it.
    pub dirs: Vec<String>,
    /// The number of sessions with any content.
    pub sessions: usize,
    /// The time of the last update.
    pub updated: Option<Timestamp>,
    /// The size of its files.
    pub bytes: u64,
    /// The tokens used.
    pub usage: Usage,
    /// The costs.
    pub cost: Bill,
}

/// Returns the projects with at least one session, the most recent first. `sizes` are those of
/// files by path, `costs` those of sessions.
pub fn projects(
    all: &Collection,
    mut sizes: Sizes,
    costs: &Costs,
    filter: &Filter,
) -> Vec<ProjectAnswer> {
    let mut by_key: BTreeMap<&str, (ProjectAnswer, BTreeSet<Cow<'_, str>>)> = BTreeMap::new();
    for session in all.sessions.iter().filter(|s| filter.takes_project(&s.project)) {
        let (answer, dirs) = by_key.entry(session.project.key()).or_insert_with(|| {
            let answer = ProjectAnswer {
                project: (*session.project).clone(),
                dirs: Vec::new(),
                sessions: 0,
                updated: None,
                bytes: 0,
                usage: Usage::default(),
                cost: Bill::default(),
            };
            (answer, BTreeSet::new())
        });
        dirs.extend(session.project.dir.as_deref().map(Cow::Borrowed));
        if session.project.proof < answer.project.proof {
            answer.project = (*session.project).clone();
        }
        answer.sessions += usize::from(session.is_listed());
        // A saved chat has the time of its file, and an empty session does not count as an update.
        if session.is_listed() && session.kind != SessionKind::Checkpoint {
            answer.updated = answer.updated.max(session.updated);
        }
        // Saved chats repeat calls of a session.
        if session.kind != SessionKind::Checkpoint {
            answer.usage += session.usage;
            answer.cost.add(&costs.of(&session.id));
        }
        for part in &session.parts {
            answer.bytes += sizes.remove(part.file.as_path()).unwrap_or(0);
            dirs.extend(folder_of(&part.file));
        }
    }
    let with_dirs = |(answer, dirs): (ProjectAnswer, BTreeSet<Cow<'_, str>>)| ProjectAnswer {
        dirs: dirs.into_iter().map(Cow::into_owned).collect(),
        ..answer
    };
    let mut out: Vec<ProjectAnswer> = by_key.into_values().map(with_dirs).collect();
    out.sort_by(|a, b| {
        b.updated.cmp(&a.updated).then_with(|| a.project.key().cmp(b.project.key()))
    });
    out
}

/// Returns the name of the agent's folder that contains a chat file.
fn folder_of(file: &Path) -> Option<Cow<'_, str>> {
    let chats = file.ancestors().find(|path| path.file_name().is_some_and(|n| n == "chats"))?;
    Some(chats.parent()?.file_name()?.to_string_lossy())
}

/// Returns the hashes of projects whose path is unknown or only guessed.
pub fn unresolved(all: &Collection) -> Vec<String> {
    let open = all.sessions.iter().filter(|s| s.project.proof >= Proof::ToolPaths);
    let hashes: BTreeSet<String> = open.filter_map(|s| s.project.hash.clone()).collect();
    hashes.into_iter().collect()
}
