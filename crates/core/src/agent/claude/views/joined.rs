//! Completes sessions that are spread over several files.

use jiff::Timestamp;
use rustc_hash::FxHashSet as HashSet;

use crate::assemble::Part;
use crate::model::MessageId;

/// The prefix of the group of an agent's files. They form one group regardless of their sessions.
pub(in crate::agent::claude) const AGENT: &str = "agent-";

/// Names the agents of a group, and continues chains across files.
pub(in crate::agent::claude) fn refine(group: &str, parts: &mut [Part<'_>]) {
    if group.starts_with(AGENT) {
        name_agents(parts);
    }
    for at in 0..parts.len() {
        continue_chain(parts, at);
    }
}

/// Prepends the chain of an earlier file to a chain whose first parent is missing from its own file.
fn continue_chain(parts: &mut [Part<'_>], at: usize) {
    let facts = &parts[at].facts;
    let Some(first) = facts.current.first() else { return };
    let first = facts.messages.iter().find(|message| message.id == *first);
    let Some(parent) = first.and_then(|first| first.parent.clone()) else { return };
    if facts.messages.iter().any(|message| message.id == *parent) {
        return;
    }
    let contains = |part: &Part<'_>| part.facts.current.iter().any(|id| **id == *parent);
    let start = parts[at].first_at();
    let others =
        || (0..parts.len()).filter(|other| *other != at && parts[*other].id == parts[at].id);
    // The id of a reply is not that of its line, so the parent may not be found. It is then the end of the
    // preceding file.
    let is_before = |other: &usize| parts[*other].last_at() <= start && start.is_some();
    let newest =
        |other: &usize| -> (Option<Timestamp>, usize) { (parts[*other].last_at(), *other) };
    let before = others()
        .find(|other| contains(&parts[*other]))
        .or_else(|| others().filter(is_before).max_by_key(newest));
    let Some(before) = before else { return };
    let ids = &parts[before].facts.current;
    let end = ids.iter().position(|id| **id == *parent).map_or(ids.len(), |last| last + 1);
    let mut current = ids[..end].to_vec();
    let known: HashSet<&MessageId> = ids[..end].iter().collect();
    current.extend(parts[at].facts.current.iter().filter(|id| !known.contains(id)).cloned());
    parts[at].facts.current = current;
}

/// Gives each agent the id of the session that started it. An agent that was split over two sessions of a project,
/// because the user resumed another one meanwhile, belongs to the first.
fn name_agents(parts: &mut [Part<'_>]) {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let key = |at: &usize| {
        let part = &parts[*at];
        (is_copied(part), part.first_at(), part.source.path.clone())
    };
    order.sort_by_cached_key(key);
    // Most agents have a single file, which nothing is compared with.
    let has_several = parts.len() > 1;
    let ids = |part: &Part<'_>| part.facts.messages.iter().map(|one| one.id.clone()).collect();
    let known: Vec<HashSet<MessageId>> = parts.iter().filter(|_| has_several).map(ids).collect();
    for (n, at) in order.iter().enumerate() {
        let hangs_on = |other: &&usize| {
            let mut parents =
                parts[*at].facts.messages.iter().filter_map(|one| one.parent.as_ref());
            parents.any(|parent| known[**other].contains(parent))
        };
        // The id of a reply is not that of its line, on which the next line hangs.
        let continues = |other: &&usize| {
            let (own, before) = (&parts[*at], &parts[**other]);
            own.source.folder() == before.source.folder()
                && before.last_at() <= own.first_at()
                && begins_elsewhere(own)
        };
        let before = &order[..n];
        let first =
            before.iter().find(hangs_on).or_else(|| before.iter().rfind(continues)).copied();
        if let Some(first) = first {
            let (kind, parent) = (parts[first].facts.kind, parts[first].facts.parent.clone());
            let id = parts[first].id.clone();
            parts[*at].id = id;
            (parts[*at].facts.kind, parts[*at].facts.parent) = (kind, parent);
        } else if let Some(parent) = &parts[*at].facts.parent {
            parts[*at].id = format!("{parent}/{}", parts[*at].id).into();
        }
    }
}

/// Returns whether the first message of a part follows one of another file.
fn begins_elsewhere(part: &Part<'_>) -> bool {
    let messages = &part.facts.messages;
    let parent = messages.first().and_then(|first| first.parent.as_deref());
    parent.is_some_and(|parent| messages.iter().all(|message| message.id != parent))
}

/// Returns whether a fork copied all messages of a part.
fn is_copied(part: &Part<'_>) -> bool {
    part.facts.messages.iter().all(|message| {
        let call = message.call.as_ref();
        message.is_inherited || call.is_some_and(|call| call.is_inherited || call.is_outdated)
    })
}
