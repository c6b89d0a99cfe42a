//! Marks messages that a fork or a resume of an old version copied from another session.

use rustc_hash::FxHashMap as HashMap;

use crate::assemble::{MessageEntry, SessionFacts};
use crate::model::MessageKind;

/// Marks the messages that are only copies, so that of sessions that share calls exactly one shows each message.
pub(in crate::agent::claude) fn mark_copies(sessions: &mut [SessionFacts]) {
    for session in &mut *sessions {
        follow_calls(session);
    }
    let copies: Vec<_> = repeated(sessions).into_iter().chain(unanswered(sessions)).collect();
    for (at, n) in copies {
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

/// Returns the places of messages after the last call that a session repeats, if they repeat what follows the call in
/// another session, which ended there: versions that gave copied lines new ids also copied prompts that were never
/// answered.
fn unanswered(sessions: &[SessionFacts]) -> Vec<(usize, usize)> {
    let is_repeated = |entry: &MessageEntry| entry.facts.counts() && !entry.owned;
    let ends = sessions.iter().enumerate().filter_map(|(at, session)| {
        session.messages.iter().rposition(is_repeated).map(|end| (at, end))
    });
    let ends: HashMap<usize, usize> = ends.collect();
    let id = |at: usize, n: usize| sessions[at].messages[n].facts.id.as_str();
    let mut places: HashMap<&str, Vec<(usize, usize)>> =
        ends.iter().map(|(at, end)| (id(*at, *end), Vec::new())).collect();
    for (at, session) in sessions.iter().enumerate().filter(|_| !ends.is_empty()) {
        for n in (0..session.messages.len()).filter(|n| session.messages[*n].facts.counts()) {
            places.entry(id(at, n)).and_modify(|places| places.push((at, n)));
        }
    }
    let repeats = |(own, original): &((usize, &MessageEntry), &MessageEntry)| {
        let (own, original) = (&own.1.facts, &original.facts);
        own.kind == original.kind && own.typed == original.typed && original.at < own.at
    };
    let said_before = |at: usize, n: usize| {
        let mut before = sessions[at].messages[..n].iter().rev();
        before.find(|entry| !entry.facts.counts()).map(|entry| &entry.facts.id)
    };
    let mut out = Vec::new();
    for (at, end) in &ends {
        let own = || (end + 1..).zip(until_call(&sessions[*at], end + 1));
        let is_original = |(other, n): &&(usize, usize)| {
            let mut rest = sessions[*other].messages[n + 1..].iter();
            other != at
                && rest.all(|entry| !entry.facts.counts())
                && said_before(*other, *n) != said_before(*at, *end)
        };
        let others = places[id(*at, *end)].iter().filter(is_original);
        let originals = others.map(|(other, n)| until_call(&sessions[*other], n + 1));
        let most =
            originals.map(|originals| own().zip(originals).take_while(repeats).count()).max();
        out.extend(own().take(most.unwrap_or(0)).map(|(n, _)| (*at, n)));
    }
    out
}

/// Iterates over the messages of a session from a place to the next call.
fn until_call(session: &SessionFacts, from: usize) -> impl Iterator<Item = &MessageEntry> {
    session.messages[from..].iter().take_while(|entry| !entry.facts.counts())
}

/// Returns whether the id of a message that is shown so far identifies it: context may reuse one, and a line without
/// an id is numbered.
fn is_telling(entry: &MessageEntry) -> bool {
    let facts = &entry.facts;
    let is_shown = !facts.is_copy && !facts.counts();
    is_shown && facts.kind != MessageKind::Injected && !facts.id.starts_with('#')
}
