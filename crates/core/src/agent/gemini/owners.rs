//! Which session a call belongs to that several hold.

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

use super::assemble::Assembled;
use super::facts::Tokens;
use super::said::Said;
use super::scan::Scanned;
use super::segment::is_uuid;
use crate::model::SessionKind;

/// Whether a message can be owned: it was paid for or did something, and its id is its own anywhere.
fn counts(id: &[u8], said: &Said) -> bool {
    (said.tokens.is_some() || !said.tools.is_empty()) && is_uuid(id)
}

/// The ids of the messages of a source that other sessions could hold too, as numbers.
pub fn keys(scanned: &Scanned) -> Vec<i64> {
    let said = scanned.segments().iter().flat_map(|segment| &segment.said);
    keys_of(said.map(|said| (said.id.as_bytes(), said))).collect()
}

pub(super) fn keys_of<'a>(
    said: impl Iterator<Item = (&'a [u8], &'a Said)>,
) -> impl Iterator<Item = i64> {
    said.filter(|(id, said)| counts(id, said)).map(|(id, _)| key(id))
}

/// Returns the id of each message of a source, with its token counts.
pub fn message_tokens(scanned: &Scanned) -> impl Iterator<Item = (String, Option<Tokens>)> {
    let messages = scanned.segments().iter().flat_map(|segment| &segment.said);
    messages.map(|message| (message.id.clone(), message.tokens))
}

/// How many token counts of a source cannot be right.
pub fn token_problems(scanned: &Scanned) -> usize {
    let said = scanned.segments().iter().flat_map(|segment| &segment.said);
    said.filter_map(|said| said.tokens).map(|tokens| tokens.problems().len()).sum()
}

/// The first and the last eight digits of a UUID. Two that clash only cost a look at both sessions.
fn key(id: &[u8]) -> i64 {
    let digits = id.iter().take(8).chain(id.iter().rev().take(8));
    let value = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
    digits.fold(0, |number: i64, byte| number << 4 | i64::from(value(byte)))
}

/// A call that several sessions hold was made in the one that started first; the others imported it.
pub(super) fn settle(sessions: &mut [Assembled]) {
    // What one session holds alone is its own.
    if sessions.len() < 2 {
        return;
    }
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by(|a, b| {
        let key = |at: usize| {
            let session = &sessions[at].session;
            (session.kind == SessionKind::Checkpoint, session.started, &session.id)
        };
        key(*a).cmp(&key(*b))
    });
    let messages = sessions.iter().map(|assembled| assembled.messages.len()).sum();
    let mut taken: HashMap<&str, (usize, usize)> =
        HashMap::with_capacity_and_hasher(messages, FxBuildHasher);
    let mut imported = Vec::new();
    for at in order {
        for (n, placed) in sessions[at].messages.iter().enumerate() {
            if !counts(placed.said.id.as_bytes(), &placed.said) {
                continue;
            }
            match taken.get(placed.said.id.as_str()) {
                Some(owner) => imported.push(((at, n), *owner)),
                None => _ = taken.insert(&placed.said.id, (at, n)),
            }
        }
    }
    for ((at, n), (owner, place)) in imported {
        sessions[at].messages[n].owned = false;
        // What only the copy still knows of the call is true of the call.
        let said = sessions[at].messages[n].said.clone();
        sessions[owner].messages[place].said.complete(&said);
    }
}
