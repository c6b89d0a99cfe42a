//! Continues the history of files that refer to other files instead of repeating them.
//!
//! A branch of another session gets the messages before the branch point as an additional part that repeats
//! them. If both files belong to the same session, the session went back to the branch point.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::part::newest_file;
use super::{Part, repeats};
use crate::facts::{Lineage, ListChange, PartFacts};
use crate::model::{AgentId, Fate, MessageId};

pub(super) type Groups<'a> = BTreeMap<String, Vec<Part<'a>>>;

/// The files by the ids that other files refer to: the group, and the index in it.
pub(super) type Files<'g> = HashMap<(&'g AgentId, &'g str), (&'g str, usize)>;

/// The result of following the bases of a part.
struct Branch {
    group: String,
    place: usize,
    /// The messages that the agent would load.
    current: Vec<MessageId>,
    /// The messages that restate one of the history, and are not shown.
    restated: HashSet<MessageId>,
    /// The files of its own session that it continues, and the position at which it branches off each.
    ends: HashMap<String, u64>,
    /// The id of the first file in its history that is missing.
    missing: Option<String>,
}

/// Follows the bases of all parts.
pub(super) fn resolve(groups: &mut Groups<'_>) {
    let has_base = |part: &Part<'_>| lineage(part).is_some_and(|lineage| lineage.base.is_some());
    if !groups.values().flatten().any(has_base) {
        return;
    }
    repeats::drop(groups);
    let mut branches = Vec::new();
    let mut borrowed: Vec<(String, Part<'_>)> = Vec::new();
    let files = files(groups);
    for (group, parts) in &*groups {
        let mut known: HashSet<&str> = HashSet::default();
        // The agent may have returned to the first file of a session, which has no base.
        let is_branch =
            |part: &Part<'_>| has_base(part) || (part.is_listed() && lineage(part).is_some());
        for (place, part) in parts.iter().enumerate().filter(|(_, part)| is_branch(part)) {
            let (ancestors, missing) = ancestors(part, groups, &files);
            let mut ends = HashMap::default();
            for (of, at, end) in &ancestors {
                let base = &groups[*of][*at];
                let id = lineage(base).map_or("", |lineage| &lineage.id);
                if of == group {
                    ends.insert(id.to_owned(), *end);
                } else if known.insert(id) {
                    borrowed.push((group.clone(), repeated(part, base, *end)));
                }
            }
            let (current, restated) = current(part, &ancestors, groups);
            let group = group.clone();
            branches.push(Branch { group, place, current, restated, ends, missing });
        }
    }
    for (group, part) in borrowed {
        groups.entry(group).or_default().push(part);
    }
    for Branch { group, place, current, restated, ends, missing } in branches {
        let Some(parts) = groups.get_mut(&group) else { continue };
        for message in &mut parts[place].facts.messages {
            message.is_copy |= message.call.is_none() && restated.contains(&message.id);
        }
        if newest_file(parts) == Some(place) {
            go_back(parts, place, &ends);
            keep(parts, place, &current);
        }
        parts[place].facts.current = current;
        parts[place].missing = missing;
    }
}

pub(super) fn lineage<'p>(part: &'p Part<'_>) -> Option<&'p Lineage> {
    part.facts.lineage.as_deref()
}

pub(super) fn files<'g>(groups: &'g Groups<'_>) -> Files<'g> {
    let mut files = Files::default();
    for (group, parts) in groups {
        for (place, part) in parts.iter().enumerate() {
            if let Some(lineage) = lineage(part).filter(|_| !part.source.is_replaced()) {
                files.insert((&part.source.agent, &lineage.id), (group, place));
            }
        }
    }
    files
}

/// The files whose history a part continues, the nearest first, and the position at which it branches off.
pub(super) type Ancestors<'g> = Vec<(&'g str, usize, u64)>;

/// Returns the files whose history a part continues, and the id of the next one if it is missing.
pub(super) fn ancestors<'g>(
    part: &Part<'_>,
    groups: &'g Groups<'_>,
    files: &Files<'g>,
) -> (Ancestors<'g>, Option<String>) {
    let mut out = Ancestors::new();
    let mut base = lineage(part).and_then(|lineage| lineage.base.as_ref());
    while let Some(point) = base {
        let Some((group, place)) = files.get(&(&part.source.agent, point.file.as_str())) else {
            return (out, Some(point.file.clone()));
        };
        if out.iter().any(|(of, at, _)| (of, at) == (group, place)) {
            break;
        }
        out.push((group, *place, point.end));
        base = lineage(&groups[*group][*place]).and_then(|lineage| lineage.base.as_ref());
    }
    (out, None)
}

/// Returns the messages that the agent would load: those before the branch point, and its own. Also returns its
/// messages that restate one of the history, which is loaded instead.
fn current(
    part: &Part<'_>,
    ancestors: &[(&str, usize, u64)],
    groups: &Groups<'_>,
) -> (Vec<MessageId>, HashSet<MessageId>) {
    let bases = ancestors.iter().rev().map(|(group, place, end)| (&groups[*group][*place], *end));
    let mut list = Vec::new();
    let mut texts: HashMap<&MessageId, u64> = HashMap::default();
    let mut restated = HashSet::default();
    for (part, end) in bases.chain([(part, u64::MAX)]) {
        let Some(lineage) = lineage(part) else { continue };
        let ids = part.facts.messages.iter().map(|message| &message.id);
        texts.extend(ids.zip(lineage.texts.iter().copied()));
        restated.clear();
        for change in lineage.changes.iter().filter(|change| change.position() < end) {
            match change {
                ListChange::Replace { ids, .. } if !lineage.restated.is_empty() => {
                    let before = std::mem::take(&mut list);
                    list = replaced(ids, before, lineage, &texts, &mut restated);
                }
                change => change.apply(&mut list),
            }
        }
    }
    (list, restated)
}

/// Returns the list that replaces another one, with the messages of the latter instead of those that restate them.
fn replaced(
    ids: &[MessageId],
    mut before: Vec<MessageId>,
    lineage: &Lineage,
    texts: &HashMap<&MessageId, u64>,
    restated: &mut HashSet<MessageId>,
) -> Vec<MessageId> {
    let mut original = |id: &MessageId| {
        let text = texts.get(id).filter(|text| **text != 0 && lineage.restated.contains(id))?;
        let place = before.iter().rposition(|known| known != id && texts.get(known) == Some(text));
        let original = before.remove(place?);
        restated.insert(id.clone());
        Some(original)
    };
    // From the end, as the newest of equal messages is the one that is left.
    let mut list: Vec<MessageId> =
        ids.iter().rev().map(|id| original(id).unwrap_or_else(|| id.clone())).collect();
    list.reverse();
    list
}

/// Returns the messages of `base` before `end` as an additional part of the session of `part`.
fn repeated<'a>(part: &Part<'a>, base: &Part<'a>, end: u64) -> Part<'a> {
    let positions = lineage(base).map_or(&[][..], |lineage| &lineage.positions);
    let before = base.facts.messages.iter().zip(positions).filter(|(_, at)| **at < end);
    let messages = before.map(|(message, _)| {
        let mut message = message.clone();
        message.is_inherited = true;
        if let Some(call) = &mut message.call {
            call.is_inherited = true;
        }
        message
    });
    let facts = PartFacts {
        session: part.facts.session.clone(),
        kind: part.facts.kind,
        parent: part.facts.parent.clone(),
        started: part.facts.started,
        form: base.facts.form,
        is_abandoned: true,
        is_import: true,
        messages: messages.collect(),
        ..PartFacts::default()
    };
    Part {
        source: base.source,
        faults: base.faults,
        facts,
        is_borrowed: true,
        missing: None,
        id: part.id.clone(),
        project: part.project.clone(),
    }
}

/// Marks the messages that the newest part left behind when it went back.
fn go_back(parts: &mut [Part<'_>], newest: usize, ends: &HashMap<String, u64>) {
    let own = lineage(&parts[newest]).map(|lineage| lineage.id.clone());
    for part in parts.iter_mut() {
        let PartFacts { lineage: Some(lineage), messages, .. } = &mut part.facts else { continue };
        if Some(&lineage.id) == own.as_ref() {
            continue;
        }
        let end = ends.get(&lineage.id).copied().unwrap_or(0);
        for (message, position) in messages.iter_mut().zip(&lineage.positions) {
            if *position >= end {
                message.fate = Fate::Rewound;
            }
        }
    }
}

/// Marks all loaded messages as kept, because another file may have left them behind since the branch point, and
/// those of other files that a compaction of the newest one left out as compressed.
fn keep(parts: &mut [Part<'_>], newest: usize, current: &[MessageId]) {
    let current: HashSet<&str> = current.iter().map(MessageId::as_str).collect();
    let is_replaced = |change: &ListChange| matches!(change, ListChange::Replace { .. });
    let changes = lineage(&parts[newest]).map_or(&[][..], |lineage| &lineage.changes);
    let is_compacted = changes.iter().any(is_replaced);
    for (place, part) in parts.iter_mut().enumerate() {
        for message in &mut part.facts.messages {
            let is_lost = matches!(message.fate, Fate::Rewound | Fate::Compressed);
            let is_left_out = is_compacted && place != newest && !message.kind.is_notice();
            if current.contains(message.id.as_str()) {
                message.fate = if is_lost { Fate::Kept } else { message.fate };
            } else if is_left_out && !is_lost {
                message.fate = Fate::Compressed;
            }
        }
    }
}
