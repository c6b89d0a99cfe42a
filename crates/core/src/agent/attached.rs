//! Finds the files that belong to a session besides its own.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::Agent;
use crate::discover::{Source, SourceKind};
use crate::facts::SourceSummary;
use crate::model::{Session, SessionId};
use crate::projects::is_hash_folder;

/// Returns the files that belong to a session besides its own: those of its subagents and their
/// subagents, and by their paths the long tool outputs, plans, tasks and notes of all of them. Of
/// several versions of a file, the one that the agent would see comes first. `sessions` are all known
/// sessions.
pub fn attached<'a>(
    agent: &dyn Agent,
    id: &str,
    files: &[(&'a Source, &SourceSummary)],
    sessions: &[Session],
) -> Vec<&'a Source> {
    let mut sources: Vec<&Source> = files.iter().map(|(source, _)| *source).collect();
    sources.retain(|source| source.agent == agent.id());
    sources.sort_by_cached_key(|source| {
        (
            source.is_replaced(),
            source.folder().is_some_and(is_hash_folder),
            !source.is_live(),
            source.path.clone(),
        )
    });
    let mut by_owner: HashMap<&str, Vec<&Source>> = HashMap::new();
    let mut by_path: HashMap<&Path, Vec<&Source>> = HashMap::new();
    for source in sources {
        by_path.entry(&source.path).or_default().push(source);
        if let Some(owner) = agent.owner(source) {
            by_owner.entry(owner).or_default().push(source);
        }
    }
    let mut by_parent: HashMap<&str, Vec<&Session>> = HashMap::new();
    for session in sessions.iter().filter(|session| session.agent == agent.id()) {
        if let Some(parent) = &session.parent {
            by_parent.entry(parent).or_default().push(session);
        }
    }
    let mut ids = vec![SessionId::from(id)];
    let mut known: HashSet<SessionId> = ids.iter().cloned().collect();
    let mut seen: HashSet<*const Source> = HashSet::new();
    let mut out: Vec<&Source> = Vec::new();
    let mut next = 0;
    while let Some(id) = ids.get(next).cloned() {
        next += 1;
        let by_path_of_id = by_owner.get(id.as_str()).into_iter().flatten().copied();
        let children = by_parent.get(id.as_str()).into_iter().flatten();
        let parts = children.clone().flat_map(|child| &child.parts);
        let of_children = parts.filter_map(|part| by_path.get(part.file.as_path())).flatten();
        let of_id: Vec<&Source> = by_path_of_id.chain(of_children.copied()).collect();
        let subagents = of_id.iter().filter(|source| source.kind == SourceKind::Subagent);
        let stems = subagents.map(|source| SessionId::from(source.stem()));
        for id in stems.chain(children.map(|child| child.id.clone())) {
            if known.insert(id.clone()) {
                ids.push(id);
            }
        }
        out.extend(of_id.into_iter().filter(|source| seen.insert(std::ptr::from_ref(*source))));
    }
    out
}
