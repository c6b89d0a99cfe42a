//! Messages without an id: they are known by what they say.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use jiff::Timestamp;

use super::assemble::Placed;
use super::facts::Tokens;
use super::piece::Piece;
use super::said::Said;
use crate::model::MessageKind;

/// Returns whether a message is called by its place in a list, because its record has no id.
pub fn is_nameless(id: &str) -> bool {
    id.is_empty() || id.starts_with('#')
}

/// All that tells messages apart whose text is not in memory.
type Facts = (MessageKind, Option<Timestamp>, Option<String>, Option<String>, [u64; 6], u64);

fn facts(said: &Said) -> Facts {
    let model = said.model.as_deref().map(str::to_owned);
    // Another file may have it with other white space; without a time there is little else to go by.
    let length = if said.at.is_some() { 0 } else { said.length() };
    (said.kind, said.at, model, said.typed.clone(), counts(said.tokens), length)
}

/// Returns token counts as something that can be compared.
fn counts(tokens: Option<Tokens>) -> [u64; 6] {
    let Some(tokens) = tokens else { return [u64::MAX; 6] };
    let Tokens { input, output, cached, thoughts, tool, total } = tokens;
    [input, output, cached, thoughts, tool, total.unwrap_or(f64::NAN)].map(f64::to_bits)
}

/// Gives messages without an id the same name in all files of a session, and different ones another. The
/// file that the agent would load keeps its names.
pub(super) fn name(pieces: &mut [Piece<'_>], true_piece: Option<usize>) {
    let has_one = |piece: &Piece<'_>| piece.segment.said.iter().any(|said| is_nameless(&said.id));
    if pieces.len() < 2 || !pieces.iter().any(has_one) {
        return;
    }
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|at| Some(*at) != true_piece);
    let mut known: HashMap<(Facts, usize), String> = HashMap::default();
    let mut taken: HashSet<String> = HashSet::default();
    for at in order {
        let mut alike: HashMap<Facts, usize> = HashMap::default();
        for said in pieces[at].segment.said.iter_mut().filter(|said| is_nameless(&said.id)) {
            let facts = facts(said);
            let number = alike.entry(facts.clone()).or_default();
            *number += 1;
            let name = known.entry((facts, *number)).or_insert_with(|| {
                let is_free = taken.insert(said.id.clone());
                if is_free { said.id.clone() } else { format!("{}~{}", said.id, at + 1) }
            });
            said.id.clone_from(name);
        }
    }
}

/// All that tells calls without an id apart.
type Call = (Option<Timestamp>, Option<String>, [u64; 6]);

/// Lets each call without an id count once: two of the same time, model and token counts are one.
pub(super) fn count_once(messages: &mut [Placed]) {
    let mut known: HashMap<Call, usize> = HashMap::default();
    for at in 0..messages.len() {
        let said = &messages[at].said;
        if said.tokens.is_none() || !is_nameless(&said.id) {
            continue;
        }
        let model = said.model.as_deref().map(str::to_owned);
        let key = (said.at, model, counts(said.tokens));
        let first = *known.entry(key).or_insert(at);
        if first != at {
            // The text is not in memory: what is as long as the first says the same.
            let length = |at: usize| Some(messages[at].places.first()?.span.length());
            let is_copy = length(at) == length(first);
            let at_least = messages[at].at_least;
            messages[first].at_least &= at_least;
            let said = &mut messages[at].said;
            said.tokens = None;
            said.is_copy |= is_copy;
        }
    }
}
