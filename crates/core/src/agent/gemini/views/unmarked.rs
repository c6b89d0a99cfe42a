//! Recognizes subagents of versions that did not mark them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::assemble::Part;
use crate::facts::PartFacts;
use crate::model::{Role, SessionKind};

/// Splits off subagents: files with their parent's id that share no message with it, lie within its
/// time, and begin with a task.
pub(crate) fn refine(group: &str, parts: &mut [Part<'_>]) {
    for child in children(parts) {
        parts[child].set_parent(group);
    }
}

/// Returns the parts that another one started. Parts are visited by their start, and possible
/// parents by their end, so that few are compared however many there are.
fn children(parts: &[Part<'_>]) -> Vec<usize> {
    let is_task: Vec<bool> = parts.iter().map(|part| begins_with_task(&part.facts)).collect();
    let starts: Vec<Option<Timestamp>> = parts.iter().map(Part::first_at).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| (starts[*at], is_task[*at]));
    let mut open: BTreeSet<(Option<Timestamp>, usize)> = BTreeSet::new();
    let mut ids: HashMap<usize, HashSet<&str>> = HashMap::default();
    let mut out = Vec::new();
    for at in order {
        let part = &parts[at];
        let end = part.last_at();
        if !is_task[at] {
            open.insert((end, at));
        } else if part.facts.kind == SessionKind::Main {
            let own = part.ids();
            let is_parent = |other: &(Option<Timestamp>, usize)| {
                let parent = &parts[other.1];
                parent.source.path != part.source.path
                    && ids.entry(other.1).or_insert_with(|| parent.ids()).is_disjoint(&own)
            };
            if open.range((end, 0)..).rev().any(is_parent) {
                out.push(at);
            }
        }
    }
    out
}

fn begins_with_task(part: &PartFacts) -> bool {
    let mut texts = part.messages.iter().filter(|message| message.kind.role() == Role::User);
    texts.next().is_some_and(|message| message.is_task)
}
