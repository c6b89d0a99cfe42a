//! Messages without an id: they are identified by what is known of them.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use jiff::Timestamp;

use super::MessageEntry;
use super::part::Part;
use crate::facts::MessageFacts;
use crate::model::{Bucket, MessageKind};

/// All that distinguishes messages whose text is not in memory.
type Look = (MessageKind, Option<Timestamp>, Option<String>, Option<String>, Option<[u64; 8]>, u64);

fn look(facts: &MessageFacts) -> Look {
    let model = facts.model.as_deref().map(str::to_owned);
    // Another file may have it with other white space; without a time there is little else to go by.
    let length = if facts.at.is_some() { 0 } else { facts.length() };
    (facts.kind, facts.at, model, facts.typed.clone(), tokens(facts), length)
}

/// Returns token counts as something that can be hashed.
fn tokens(facts: &MessageFacts) -> Option<[u64; 8]> {
    let usage = facts.call.as_ref()?.usage;
    Some(Bucket::ALL.map(|bucket| usage.get(bucket)))
}

/// Gives messages without an id the same name in all sources of a session, and different ones another. The
/// source that the agent would load keeps its names.
pub(super) fn name(parts: &mut [Part<'_>], resumable_file: Option<usize>) {
    let has_one = |part: &Part<'_>| part.facts.messages.iter().any(MessageFacts::is_nameless);
    if parts.len() < 2 || !parts.iter().any(has_one) {
        return;
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| Some(*at) != resumable_file);
    let mut known: HashMap<(Look, usize), String> = HashMap::default();
    let mut taken: HashSet<String> = HashSet::default();
    for at in order {
        let mut alike: HashMap<Look, usize> = HashMap::default();
        for facts in parts[at].facts.messages.iter_mut().filter(|facts| facts.is_nameless()) {
            let look = look(facts);
            let number = alike.entry(look.clone()).or_default();
            *number += 1;
            let name = known.entry((look, *number)).or_insert_with(|| {
                let is_free = taken.insert(facts.id.clone());
                if is_free { facts.id.clone() } else { format!("{}~{}", facts.id, at + 1) }
            });
            facts.id.clone_from(name);
        }
    }
}

/// All that distinguishes calls without an id.
type Call = (Option<Timestamp>, Option<String>, Option<[u64; 8]>);

/// Lets each call without an id count once: two of the same time, model and token counts are one.
pub(super) fn count_once(messages: &mut [MessageEntry]) {
    let mut known: HashMap<Call, usize> = HashMap::default();
    for at in 0..messages.len() {
        let facts = &messages[at].facts;
        if facts.call.is_none() || !facts.is_nameless() {
            continue;
        }
        let model = facts.model.as_deref().map(str::to_owned);
        let key = (facts.at, model, tokens(facts));
        let first = *known.entry(key).or_insert(at);
        if first != at {
            // The text is not in memory: what is as long as the first says the same.
            let length = |at: usize| Some(messages[at].places.first()?.span.length());
            let is_copy = length(at) == length(first);
            let at_least = messages[at].at_least;
            messages[first].at_least &= at_least;
            let facts = &mut messages[at].facts;
            facts.call = None;
            facts.is_copy |= is_copy;
        }
    }
}
