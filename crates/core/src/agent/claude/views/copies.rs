//! Marks messages that a fork or a resume of an old version copied from another session.

use rustc_hash::FxHashMap as HashMap;

use crate::assemble::{MessageEntry, SessionFacts};
use crate::model::MessageKind;

/// Marks the messages that are only copies, so that of sessions that share calls exactly one shows each message.
pub(in crate::agent::claude) fn mark_copies(sessions: &mut [SessionFacts]) {
    for session in &mut *sessions {
        follow_calls(session);
    }
    for (at, n) in repeated(sessions) {
        sessions[at].messages[n].facts.is_copy = true;
    }
    // A copy whose original is lost counts like an original.
    let messages = sessions.iter_mut().flat_map(|session| &mut session.messages);
    for entry in messages.filter(|entry| !entry.facts.counts() && !entry.facts.is_ours) {
        entry.owned = true;
        entry.facts.is_inherited = false;
    }
}

/// Marks calls of other sessions, and the messages that lead to them: they were copied together, in some versions
/// with new ids.
fn follow_calls(session: &mut SessionFacts) {
    let mut is_own = true;
    for entry in session.messages.iter_mut().rev() {
        if entry.facts.counts() {
            is_own = entry.owned;
        }
        entry.facts.is_copy |= !is_own;
    }
}

/// Returns the places of messages that another session shows under the same id: those that a fork copied after
/// the last call.
fn repeated(sessions: &[SessionFacts]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    if sessions.len() < 2 {
        return out;
    }
    let mut originals: HashMap<&str, (usize, usize)> = HashMap::default();
    let rank = |(at, n): (usize, usize)| {
        let (session, facts) = (&sessions[at].session, &sessions[at].messages[n].facts);
        let at = (facts.at.is_none(), facts.at);
        (at, facts.is_inherited, session.started, &session.id)
    };
    for (at, session) in sessions.iter().enumerate() {
        for (n, entry) in session.messages.iter().enumerate().filter(|(_, entry)| is_telling(entry))
        {
            let original = originals.entry(entry.facts.id.as_str()).or_insert((at, n));
            if *original == (at, n) {
                continue;
            }
            let is_first = rank((at, n)) < rank(*original);
            out.push(if is_first { std::mem::replace(original, (at, n)) } else { (at, n) });
        }
    }
    out
}

/// Returns whether the id of a message that is shown so far identifies it: context may reuse one, and a line without
/// an id is numbered.
fn is_telling(entry: &MessageEntry) -> bool {
    let facts = &entry.facts;
    let is_shown = !facts.is_copy && !facts.counts();
    is_shown && facts.kind != MessageKind::Injected && !facts.id.starts_with('#')
}
