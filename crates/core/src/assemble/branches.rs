//! Continues the history of files that refer to other files instead of repeating them.
//!
//! A branch of another session gets the messages before the branch point as an additional part that repeats
//! them. If both files belong to the same session, the session went back to the branch point.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::Part;
use crate::facts::{Lineage, PartFacts};
use crate::model::{AgentId, Fate};

type Groups<'a> = BTreeMap<String, Vec<Part<'a>>>;

/// The files by the ids that other files refer to: the group, and the index in it.
type Files<'g> = HashMap<(&'g AgentId, &'g str), (&'g str, usize)>;

/// The result of following the bases of a part.
struct Branch {
    group: String,
    place: usize,
    /// The messages that the agent would load.
    current: Vec<String>,
    /// The files of its own session that it continues, and the position at which it branches off each.
    ends: HashMap<String, u64>,
}

/// Follows the bases of all parts.
pub(super) fn resolve(groups: &mut Groups<'_>) {
    let has_base = |part: &Part<'_>| lineage(part).is_some_and(|lineage| lineage.base.is_some());
    if !groups.values().flatten().any(has_base) {
        return;
    }
    let mut branches = Vec::new();
    let mut borrowed: Vec<(String, Part<'_>)> = Vec::new();
    let files = files(groups);
    for (group, parts) in &*groups {
        let mut known: HashSet<&str> = HashSet::default();
        for (place, part) in parts.iter().enumerate().filter(|(_, part)| has_base(part)) {
            let ancestors = ancestors(part, groups, &files);
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
            let current = current(part, &ancestors, groups);
            branches.push(Branch { group: group.clone(), place, current, ends });
        }
    }
    for (group, part) in borrowed {
        groups.entry(group).or_default().push(part);
    }
    for Branch { group, place, current, ends } in branches {
        let Some(parts) = groups.get_mut(&group) else { continue };
        if newest(parts) == Some(place) {
            go_back(parts, place, &ends);
            keep(parts, &current);
        }
        parts[place].facts.current = current;
    }
}

fn lineage<'p>(part: &'p Part<'_>) -> Option<&'p Lineage> {
    part.facts.lineage.as_deref()
}

fn files<'g>(groups: &'g Groups<'_>) -> Files<'g> {
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

/// Returns the files whose history a part continues, the nearest first, and the position at which it branches
/// off.
fn ancestors<'g>(
    part: &Part<'_>,
    groups: &'g Groups<'_>,
    files: &Files<'g>,
) -> Vec<(&'g str, usize, u64)> {
    let mut out: Vec<(&str, usize, u64)> = Vec::new();
    let mut base = lineage(part).and_then(|lineage| lineage.base.as_ref());
    while let Some(point) = base {
        let Some((group, place)) = files.get(&(&part.source.agent, point.file.as_str())) else {
            break;
        };
        if out.iter().any(|(of, at, _)| (of, at) == (group, place)) {
            break;
        }
        out.push((group, *place, point.end));
        base = lineage(&groups[*group][*place]).and_then(|lineage| lineage.base.as_ref());
    }
    out
}

/// Returns the messages that the agent would load: those before the branch point, and its own.
fn current(part: &Part<'_>, ancestors: &[(&str, usize, u64)], groups: &Groups<'_>) -> Vec<String> {
    let changes = |part| lineage(part).map_or(&[][..], |lineage: &Lineage| &lineage.changes);
    let mut list = Vec::new();
    for (group, place, end) in ancestors.iter().rev() {
        let before = changes(&groups[*group][*place]).iter();
        for change in before.filter(|change| change.position() < *end) {
            change.apply(&mut list);
        }
    }
    for change in changes(part) {
        change.apply(&mut list);
    }
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
        id: part.id.clone(),
        project: part.project.clone(),
    }
}

/// Returns the part that the agent would load.
fn newest(parts: &[Part<'_>]) -> Option<usize> {
    let is_live = |part: &Part<'_>| !part.source.is_replaced() && !part.is_borrowed;
    let live = parts.iter().enumerate().filter(|(_, part)| is_live(part));
    let name = |part: &Part<'_>| part.path().file_name().map(OsStr::to_owned);
    live.max_by_key(|(_, part)| (part.facts.updated, Reverse(name(part)))).map(|(place, _)| place)
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

/// Marks all loaded messages as kept: another file may have left them behind since the branch point.
fn keep(parts: &mut [Part<'_>], current: &[String]) {
    let current: HashSet<&str> = current.iter().map(String::as_str).collect();
    for message in parts.iter_mut().flat_map(|part| &mut part.facts.messages) {
        let is_lost = matches!(message.fate, Fate::Rewound | Fate::Compressed);
        if is_lost && current.contains(message.id.as_str()) {
            message.fate = Fate::Kept;
        }
    }
}
