//! Identifies messages without an id by their other facts.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use jiff::Timestamp;

use super::MessageEntry;
use super::part::Part;
use crate::facts::MessageFacts;
use crate::model::{Bucket, MessageId, MessageKind};

/// All facts that distinguish messages whose text is not in memory.
type Signature =
    (MessageKind, Option<Timestamp>, Option<String>, Option<String>, Option<[u64; 8]>, u64);

fn signature(facts: &MessageFacts) -> Signature {
    let model = facts.model.as_deref().map(str::to_owned);
    // Another file may contain the message with other white space. Without a time, the length is
    // needed.
    let length = if facts.at.is_some() { 0 } else { facts.length() };
    (facts.kind, facts.at, model, facts.typed.clone(), tokens(facts), length)
}

/// Returns the token counts in a form that can be hashed.
fn tokens(facts: &MessageFacts) -> Option<[u64; 8]> {
    let usage = facts.call.as_ref()?.usage;
    Some(Bucket::ALL.map(|bucket| usage.get(bucket)))
}

/// Gives equal messages without an id the same name in all sources of a session, and different ones
/// different names. The source that the agent would load keeps its names.
pub(super) fn name(parts: &mut [Part<'_>], resumable_file: Option<usize>) {
    let has_one = |part: &Part<'_>| part.facts.messages.iter().any(MessageFacts::is_nameless);
    if parts.len() < 2 || !parts.iter().any(has_one) {
        return;
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| Some(*at) != resumable_file);
    let mut known: HashMap<(Signature, usize), MessageId> = HashMap::default();
    let mut taken: HashSet<MessageId> = HashSet::default();
    for at in order {
        let mut alike: HashMap<Signature, usize> = HashMap::default();
        for facts in parts[at].facts.messages.iter_mut().filter(|facts| facts.is_nameless()) {
            let signature = signature(facts);
            let number = alike.entry(signature.clone()).or_default();
            *number += 1;
            let name = known.entry((signature, *number)).or_insert_with(|| {
                let is_free = taken.insert(facts.id.clone());
                if is_free { facts.id.clone() } else { format!("{}~{}", facts.id, at + 1).into() }
            });
            facts.id.clone_from(name);
        }
    }
}

/// All facts that distinguish calls without an id.
type Call = (Option<Timestamp>, Option<String>, Option<[u64; 8]>);

/// Counts each call without an id once. Calls with the same time, model and token counts are the
/// same.
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
            // The text is not in memory, so records of the same length are considered equal.
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
