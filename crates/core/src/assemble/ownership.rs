//! Attributes a model call that appears in several sessions to the one that made it.

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{MessageEntry, ScannedSource, SessionFacts};
use crate::facts::{CallKey, MessageFacts};
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
    scanned.facts.messages().filter_map(shared_key).chain(files).map(key).collect()
}

/// Attributes each call to one session: not to one that inherited it, otherwise to the one that
/// started first.
pub(super) fn settle(sessions: &mut [SessionFacts]) {
    // A session with a single file owns all its calls.
    if sessions.iter().map(|session| session.files.len()).sum::<usize>() < 2 {
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
    let messages = sessions.iter().map(|session| session.messages.len()).sum();
    let mut owners: HashMap<(&AgentId, &str), (usize, usize)> =
        HashMap::with_capacity_and_hasher(messages, FxBuildHasher);
    let mut copies = Vec::new();
    for at in order {
        let agent = &sessions[at].session.agent;
        for (n, entry) in sessions[at].messages.iter().enumerate() {
            let Some(key) = shared_key(&entry.facts) else { continue };
            let owner = owners.entry((agent, key)).or_insert((at, n));
            if *owner == (at, n) {
                continue;
            }
            let held = &sessions[owner.0].messages[owner.1];
            if is_inherited(held) && !is_inherited(entry) {
                copies.push((std::mem::replace(owner, (at, n)), (agent, key)));
            } else {
                copies.push(((at, n), (agent, key)));
            }
        }
    }
    let copies: Vec<_> = copies.into_iter().map(|(copy, key)| (copy, owners[&key])).collect();
    for ((at, n), (owner, place)) in copies {
        sessions[at].messages[n].owned = false;
        // What only the copy still has of the call is true of the call, but for the time, which a file that
        // repeats a call without its id rarely has.
        let mut facts = sessions[at].messages[n].facts.clone();
        if is_inherited(&sessions[at].messages[n])
            && !is_inherited(&sessions[owner].messages[place])
            && facts.key != CallKey::Message
        {
            facts.at = None;
        }
        sessions[owner].messages[place].facts.complete(&facts);
    }
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
