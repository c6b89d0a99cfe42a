//! Identifies calls and tool calls beyond one archive, for programs that bring many archives together.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::calls::SessionCalls;
use super::stamp::Stamp;
use super::{Archive, ArchiveError};
use crate::assemble::{MessageEntry, SessionFacts};
use crate::facts::{CallKey, MessageFacts};
use crate::model::{Bucket, Session, SessionId, SessionKind, ToolCallId};

/// Identifies a call: copies of one agent's call have equal identities in every archive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The range in which the key is unique.
    pub scope: Scope,
    /// The key.
    pub key: String,
    /// Whether the session only repeats a call that another one made.
    pub is_inherited: bool,
    /// Whether the session may only repeat the call, if another one has it at the same time.
    pub is_outdated: bool,
}

/// The length from which letters and digits are taken to be random.
const RANDOM: usize = 16;

/// The range in which the key of a call is unique, within one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All copies of its message have the same id.
    Message,
    /// All copies have a key that the agent's reader made.
    Call,
    /// The call is only known within its session, whose id is part of the key.
    Session,
}

/// The calls of a session and their identities.
#[derive(Debug, Clone, Default)]
pub struct IdentifiedCalls {
    /// The calls and tool calls.
    pub calls: SessionCalls,
    /// The identity of each call; further positions on its bill share it.
    pub call_ids: Vec<Identity>,
    /// The identity of each tool call.
    pub tool_ids: Vec<Identity>,
}

impl IdentifiedCalls {
    /// Counts the messages of a session.
    pub fn of(assembled: SessionFacts) -> Self {
        let SessionFacts { session, messages, .. } = assembled;
        let mut ids =
            Ids { session: &session, seen: HashMap::default(), tools: HashSet::default() };
        let (mut call_ids, mut tool_ids) = (Vec::new(), Vec::new());
        for entry in messages.iter().filter(|entry| !entry.facts.is_copy && entry.owned) {
            ids.add(entry, &mut call_ids, &mut tool_ids);
        }
        Self { calls: SessionCalls::of(&session, messages), call_ids, tool_ids }
    }
}

/// The identities given so far in a session.
struct Ids<'a> {
    session: &'a Session,
    /// The number of times that each key of the session alone was given.
    seen: HashMap<String, usize>,
    tools: HashSet<ToolCallId>,
}

impl Ids<'_> {
    fn add(&mut self, entry: &MessageEntry, calls: &mut Vec<Identity>, tools: &mut Vec<Identity>) {
        let facts = &entry.facts;
        if !facts.counts() {
            return;
        }
        let message = self.message(facts);
        for (n, tool) in facts.tools.iter().enumerate() {
            let within = |name: &str| Identity {
                key: format!("{}\0{name}", message.key),
                ..message.clone()
            };
            tools.push(match &tool.id {
                Some(id) if !self.tools.insert(id.clone()) => continue,
                // An older state of the file may not have what identifies the message. A saved chat repeats
                // tool calls of a session, and has its own.
                Some(id) if is_random(id) && self.session.kind != SessionKind::Checkpoint => {
                    Identity { scope: Scope::Call, key: id.to_string(), ..message.clone() }
                }
                Some(id) => within(id),
                None => within(&format!("#{n}")),
            });
        }
        if let Some(call) = &facts.call {
            let message = Identity { is_inherited: call.is_inherited, ..message };
            calls.extend(std::iter::repeat_n(message, 1 + call.lines().len()));
        }
    }

    fn message(&mut self, facts: &MessageFacts) -> Identity {
        let (scope, key) = match &facts.key {
            CallKey::Message => (Scope::Message, facts.id.to_string()),
            CallKey::Id(key) => (Scope::Call, key.to_string()),
            CallKey::Local => {
                let key = format!("{}\0{}", self.session.id, local(facts));
                let before = self.seen.entry(key.clone()).or_default();
                *before += 1;
                let key = if *before > 1 { format!("{key}\0{before}") } else { key };
                (Scope::Session, key)
            }
        };
        let is_outdated = facts.call.as_ref().is_some_and(|call| call.is_outdated);
        Identity { scope, key, is_inherited: facts.is_inherited, is_outdated }
    }
}

/// Returns whether an id is unique in the world: after a prefix, it has many letters and digits.
fn is_random(id: &str) -> bool {
    let end = id.rsplit(['_', '-']).next().unwrap_or_default();
    end.len() >= RANDOM
        && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && end.bytes().any(|byte| byte.is_ascii_digit())
        && end.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns the id of a message within its session. A call without an id is identified by all facts that
/// distinguish it.
fn local(facts: &MessageFacts) -> String {
    match &facts.call {
        Some(call) if facts.is_nameless() => {
            let at = facts.at.map(|at| at.to_string()).unwrap_or_default();
            let tokens = Bucket::ALL.map(|bucket| call.usage.get(bucket).to_string()).join(" ");
            format!("{at} {} {tokens}", facts.model.as_deref().unwrap_or_default())
        }
        _ => facts.id.to_string(),
    }
}

impl Archive {
    /// Returns the sessions of which this machine has a file, each with a hash that changes when the session or its
    /// calls do.
    pub fn session_stamps(&self) -> Result<Vec<(SessionId, i64)>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT id, sessions.body, rollup.body, summaries.tools, prompts.body FROM sessions
             LEFT JOIN prompts ON prompts.session = number
             LEFT JOIN rollup ON rollup.session = number LEFT JOIN summaries ON summaries.session = number
             WHERE sessions.machine = ?1 OR EXISTS (SELECT 1 FROM members JOIN sources ON sources.number = source
                WHERE members.group_key = sessions.group_key AND sources.machine = ?1)
             ORDER BY id, number",
        )?;
        let mut rows = find.query([self.machine().unwrap_or_default()])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let mut stamp = Stamp::default();
            for column in 1..5 {
                let blob =
                    row.get_ref(column)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
                stamp.maybe(blob, Stamp::bytes);
            }
            out.push((row.get(0)?, stamp.finish()));
        }
        Ok(out)
    }
}
