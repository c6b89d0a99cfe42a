//! Finds the files that belong to a session besides its own.

use std::collections::{HashMap, HashSet};

use super::Agent;
use crate::discover::{Source, SourceKind};
use crate::facts::SourceSummary;
use crate::projects::is_hash_folder;

/// Returns the files that belong to a session by their paths: those of its subagents and their
/// subagents, and the long tool outputs, plans and tasks of all of them. Of several versions of a
/// file, the one that the agent would see comes first.
pub fn attached<'a>(
    agent: &dyn Agent,
    id: &str,
    files: &[(&'a Source, &SourceSummary)],
) -> Vec<&'a Source> {
    let mut sources: Vec<&Source> = files.iter().map(|(source, _)| *source).collect();
    sources.sort_by_cached_key(|source| {
        (
            source.is_replaced(),
            source.folder().is_some_and(is_hash_folder),
            !source.is_live(),
            source.path.clone(),
        )
    });
    let mut by_owner: HashMap<&str, Vec<&Source>> = HashMap::new();
    for source in sources {
        if let Some(owner) = agent.owner(source) {
            by_owner.entry(owner).or_default().push(source);
        }
    }
    let mut ids = vec![id.to_owned()];
    let mut known: HashSet<String> = HashSet::from([id.to_owned()]);
    let mut out: Vec<&Source> = Vec::new();
    let mut next = 0;
    while let Some(id) = ids.get(next) {
        next += 1;
        let of_id = by_owner.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        out.extend(of_id);
        for source in of_id.iter().filter(|source| source.kind == SourceKind::Subagent) {
            let stem = source.stem();
            if known.insert(stem.clone()) {
                ids.push(stem);
            }
        }
    }
    out
}
