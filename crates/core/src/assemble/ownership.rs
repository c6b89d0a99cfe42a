//! Attributes a model call that appears in several sessions to the one that made it.

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{MessageEntry, ScannedSource, SessionFacts};
use crate::facts::{CallFacts, CallKey, MessageFacts};
use crate::model::{AgentId, SessionKind};

/// Returns the key of a message that other sessions may contain too, if it was billed or used
/// tools.
fn shared_key(facts: &MessageFacts) -> Option<&str> {
    facts.counts().then(|| facts.global_key()).flatten()
}

/// Returns the keys of a source's messages that other sessions could contain too, and of the files whose
/// history it shares, as numbers. Two keys that collide only cost a look at both sessions.
pub fn keys(scanned: &ScannedSource) -> Vec<i64> {
    let seed = xxh3_64(scanned.source.agent.as_str().as_bytes());
    let key = |key: &str| xxh3_64_with_seed(key.as_bytes(), seed).cast_signed();
    let lineages = scanned.facts.parts.iter().filter_map(|part| part.lineage.as_deref());
    let files = lineages.flat_map(|lineage| {
        let base = lineage.base.as_ref().map(|base| base.file.as_str());
        base.into_iter().chain([lineage.id.as_str()])
    });
    let messages = || scanned.facts.messages();
    let others = messages().flat_map(|facts| other_keys(facts).iter().chain(aliases(facts)));
    let others = others.map(|key| &**key);
    messages().filter_map(shared_key).chain(others).chain(files).map(key).collect()
}

/// Returns the keys under which sessions that a message may be copied from would have it.
fn other_keys(facts: &MessageFacts) -> &[Box<str>] {
    facts.call.as_ref().map_or(&[], CallFacts::other_keys)
}

/// Returns the further keys of a message, under which sessions that copied it may have it.
fn aliases(facts: &MessageFacts) -> &[Box<str>] {
    facts.call.as_ref().map_or(&[], CallFacts::aliases)
}

/// Attributes each call to one session: not to one that inherited it, otherwise to the one that has its earliest
/// record, or that started first.
pub(super) fn assign_owners(sessions: &mut [SessionFacts]) {
    // If all sessions together have one file, no call appears twice.
    if sessions.iter().map(|session| session.files.len()).sum::<usize>() < 2 {
        return;
    }
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    let started = |at: usize| (sessions[at].session.started, &sessions[at].session.id);
    order.sort_by(|a, b| started(*a).cmp(&started(*b)));
    let messages = sessions.iter().map(|session| session.messages.len()).sum();
    let mut calls: HashMap<(&AgentId, &str), usize> =
        HashMap::with_capacity_and_hasher(messages, FxBuildHasher);
    let mut owners: Vec<(usize, usize)> = Vec::with_capacity(messages);
    let mut copies = Vec::new();
    for at in order {
        let agent = &sessions[at].session.agent;
        for (n, entry) in sessions[at].messages.iter().enumerate() {
            let Some(key) = shared_key(&entry.facts) else { continue };
            let aliases = aliases(&entry.facts);
            let others = other_keys(&entry.facts).iter().map(|key| &**key);
            let mut known = others.chain([key]).chain(aliases.iter().map(|key| &**key));
            let known = known.find_map(|key| calls.get(&(agent, key)).copied());
            let call = known.unwrap_or(owners.len());
            for key in aliases.iter().map(|key| &**key).chain([key]) {
                calls.entry((agent, key)).or_insert(call);
            }
            if known.is_none() {
                owners.push((at, n));
                continue;
            }
            let owner = &mut owners[call];
            if rank(&sessions[at], entry)
                < rank(&sessions[owner.0], &sessions[owner.0].messages[owner.1])
            {
                copies.push((std::mem::replace(owner, (at, n)), call));
            } else {
                copies.push(((at, n), call));
            }
        }
    }
    for ((at, n), call) in copies {
        let (owner, place) = owners[call];
        sessions[at].messages[n].owned = false;
        // What only the copy still has of the message is true of it, but for the call itself: a file that repeats
        // one without its id rarely has its time, and may have been served under other conditions.
        let mut facts = sessions[at].messages[n].facts.clone();
        if is_inherited(&sessions[at].messages[n])
            && !is_inherited(&sessions[owner].messages[place])
            && facts.key != CallKey::Message
        {
            facts.call = None;
        }
        sessions[owner].messages[place].facts.complete(&facts);
    }
}

/// Returns a key that sorts the record of the session that made a call before those of sessions that repeat it.
fn rank(session: &SessionFacts, entry: &MessageEntry) -> impl Ord + use<> {
    let is_checkpoint = session.session.kind == SessionKind::Checkpoint;
    let at = entry.facts.at;
    let is_outdated = entry.facts.call.as_ref().is_some_and(|call| call.is_outdated);
    (is_inherited(entry), is_checkpoint, at.is_none(), at, is_outdated)
}

fn is_inherited(entry: &MessageEntry) -> bool {
    entry.facts.call.as_ref().is_some_and(|call| call.is_inherited)
}

impl MessageFacts {
    /// Returns the key that all copies of the message share, or `None` if it is only known within
    /// its session.
    pub fn global_key(&self) -> Option<&str> {
        match &self.key {
            CallKey::Local => None,
            CallKey::Message => Some(&self.id),
            CallKey::Id(key) => Some(key),
        }
    }
}
