//! The full view of one file: every message it ever held, and what became of each.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use rustc_hash::FxBuildHasher;

use super::content::Key;
use super::facts::{Facts, Tokens, ToolFact};
use super::log::Span;
use super::record::Message;
use super::tools;
use crate::model::{Fate, MessageKind};

/// A message without its text, merged from all records of its id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    pub id: String,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    pub kind: MessageKind,
    /// What was typed, for prompts and slash commands.
    pub typed: Option<String>,
    typed_is_sure: bool,
    pub tokens: Option<Tokens>,
    pub model: Option<Arc<str>>,
    pub tools: Vec<ToolFact>,
    /// Every record of it, in order.
    pub spans: Vec<Span>,
    pub fate: Fate,
    /// Whether no rule but the last explained why it left the list.
    pub unexplained: bool,
    /// It only repeats other messages.
    pub is_copy: bool,
    /// It was read from a document of ours, which says all of it outright.
    pub is_ours: bool,
    pub(super) lead: String,
    keys: Vec<Key>,
    live: bool,
    /// The later messages that repeat this one.
    copies: Vec<usize>,
    /// The parts of other messages that this one repeats.
    repeats: Vec<PartKey>,
}

/// How the task of a subagent begins, in versions that do not mark it.
pub(super) const TASK: &str = "Your task is to";

/// The messages of a file in the order of their first appearance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct History {
    said: IndexMap<Box<[u8]>, Said, FxBuildHasher>,
    /// The list as the agent has it after the last record.
    list: Vec<usize>,
    models: Vec<Arc<str>>,
}

impl History {
    /// A message record: inserted, or merged with what is known of its id.
    pub(super) fn store(&mut self, mut message: Message<'_>, span: Span) {
        let key = std::mem::take(&mut message.id);
        self.store_as(&key, message, span);
    }

    /// The same for the `n`-th message of a document, which may have no id.
    pub(super) fn store_at(&mut self, n: usize, message: Message<'_>, span: Span) {
        if message.has_id {
            return self.store(message, span);
        }
        self.store_as(format!("#{}", n + 1).as_bytes(), message, span);
    }

    fn store_as(&mut self, key: &[u8], message: Message<'_>, span: Span) {
        let facts = Facts::new(message, &mut self.models);
        let at = self.merge(key, facts, span);
        let said = &mut self.said[at];
        if !said.live {
            (said.live, said.fate, said.unexplained) = (true, Fate::Kept, false);
            self.list.push(at);
        }
    }

    pub(super) fn rewind(&mut self, to: &[u8]) {
        let to = self.said.get_index_of(to);
        let keep = self.list.iter().position(|at| Some(*at) == to).unwrap_or(0);
        for at in self.list.split_off(keep) {
            self.said[at].remove(Fate::Rewound, false);
        }
    }

    /// A whole new list.
    pub(super) fn replace<'a>(&mut self, messages: impl Iterator<Item = (Message<'a>, Span)>) {
        let before = std::mem::take(&mut self.list);
        for at in &before {
            self.said[*at].live = false;
        }
        let first_new = self.said.len();
        for (message, span) in messages {
            self.store(message, span);
        }
        let removed: Vec<usize> =
            before.iter().copied().filter(|at| !self.said[*at].live).collect();
        let snapshot = self
            .list
            .iter()
            .any(|at| *at >= first_new && self.said[*at].kind == MessageKind::CompressSummary);
        self.match_copies(&removed, first_new, snapshot);
        let mut place = vec![0; self.said.len()];
        for (n, at) in before.iter().enumerate() {
            place[*at] = n;
        }
        let failed_from = self.failed_from(&before, &removed, &place);
        for at in removed {
            let said = &mut self.said[at];
            let (fate, unexplained) = if snapshot {
                (Fate::Compressed, false)
            } else if failed_from.is_some_and(|from| place[at] >= from) {
                (Fate::Failed, false)
            } else if said.kind.is_notice() || said.kind == MessageKind::Injected {
                (Fate::Kept, false)
            } else {
                (Fate::Compressed, true)
            };
            said.remove(fate, unexplained);
        }
    }

    /// The last prompt, if the new list ends before it or before its answer: a prompt that failed or
    /// was cancelled, or a refused tool call, is rolled back with all that followed it.
    fn failed_from(&self, before: &[usize], removed: &[usize], place: &[usize]) -> Option<usize> {
        let prompt = before.iter().rposition(|at| self.said[*at].kind.is_typed())?;
        let mut lost = removed.iter().filter(|at| self.said[**at].is_missed()).peekable();
        (lost.peek().is_some() && lost.all(|at| place[*at] >= prompt)).then_some(prompt)
    }

    /// Finds the messages of the new list that only repeat removed ones, part by part and in order.
    /// After a cancel Gemini CLI records its whole history again under new ids; a compression keeps
    /// the end of it, so there the last one that fits is meant.
    fn match_copies(&mut self, removed: &[usize], first_new: usize, from_the_end: bool) {
        if removed.is_empty() {
            return;
        }
        // The parts that are gone, in order.
        let mut gone: Vec<(usize, PartKey)> = Vec::new();
        for at in removed {
            gone.extend(self.said[*at].parts().into_iter().map(|key| (*at, key)));
        }
        let mut candidates = self.candidates(first_new);
        if from_the_end {
            gone.reverse();
            candidates.reverse();
        }
        let mut from = 0;
        for copy in candidates {
            let own = self.said[copy].own_parts();
            let mut keys: Vec<&Key> = own.iter().map(|part| &part.key).collect();
            if from_the_end {
                keys.reverse();
            }
            let mut next = from;
            let mut found = Vec::new();
            let all = keys.into_iter().all(|key| {
                let fits = |(at, part): &(usize, PartKey)| {
                    *at < copy && part.is(key) && self.said[*at].side() == self.said[copy].side()
                };
                let place = gone[next..].iter().position(fits).map(|place| next + place);
                next = place.map_or(next, |place| place + 1);
                found.extend(place);
                place.is_some()
            });
            if all {
                from = next;
                if from_the_end {
                    found.reverse();
                }
                for place in &found {
                    self.said[gone[*place].0].copies.push(copy);
                }
                let said = &mut self.said[copy];
                said.is_copy = true;
                // Of a copy of this copy, the parts of the original tell more.
                said.repeats = found.iter().map(|place| gone[*place].1.clone()).collect();
            }
        }
        // A call that was moved into the content of another message lives on there.
        for at in removed {
            let said = &self.said[*at];
            if said.tools.is_empty() || !said.keys.is_empty() || !said.copies.is_empty() {
                continue;
            }
            let calls = said.parts();
            let holds = |other: &&usize| {
                let keys = &self.said[**other].keys;
                calls.iter().all(|call| keys.contains(&call.key))
            };
            if let Some(holder) = self.list.iter().find(holds).copied() {
                self.said[*at].copies.push(holder);
            }
        }
    }

    /// The messages of the list that may be copies: those it brought itself, and those that were
    /// recorded again line by line before it. A text that was typed again is no copy: the answers
    /// around it have tokens.
    fn candidates(&self, first_new: usize) -> Vec<usize> {
        let is_made_up = |at: usize| {
            let said = &self.said[at];
            said.tokens.is_none() && said.model.is_none() && said.tools.is_empty()
        };
        // Whether the reply that follows each message, or else the last one, is made up.
        let mut near = vec![false; self.list.len()];
        let is_reply = |at: &&usize| self.said[**at].kind == MessageKind::Reply;
        let mut reply = self.list.iter().rfind(is_reply);
        for (n, at) in self.list.iter().enumerate().rev() {
            reply = Some(at).filter(is_reply).or(reply);
            near[n] = reply.is_some_and(|at| is_made_up(*at));
        }
        let fits = |n: usize, at: usize| {
            let said = &self.said[at];
            if said.keys.is_empty() || said.tokens.is_some() {
                return false;
            }
            if at >= first_new {
                // Each compression is thanked for anew.
                let before = n.checked_sub(1).map(|before| &self.said[self.list[before]]);
                return !before.is_some_and(|before| said.is_thanks_after(before));
            }
            match said.kind {
                MessageKind::Reply => is_made_up(at),
                // An id answers one call.
                _ if said.keys.iter().all(|key| matches!(key, Key::Response(_))) => true,
                _ => near[n],
            }
        };
        self.list.iter().enumerate().filter(|(n, at)| fits(*n, **at)).map(|(_, at)| *at).collect()
    }

    fn merge(&mut self, key: &[u8], facts: Facts, span: Span) -> usize {
        if let Some(at) = self.said.get_index_of(key) {
            self.said[at].merge(facts, span);
            return at;
        }
        let id = String::from_utf8_lossy(key).into_owned();
        self.said.insert_full(key.into(), Said::new(id, facts, span)).0
    }

    /// The messages so far.
    pub(super) fn said(&self) -> impl Iterator<Item = &Said> {
        self.said.values()
    }

    /// The messages with their last fates.
    pub(super) fn finish(mut self) -> Vec<Said> {
        self.mark_repeated_results();
        let mut fates: Vec<Fate> = self.said.values().map(|said| said.fate).collect();
        // A copy is later than its original, so going backwards each one's fate is settled first.
        for at in (0..self.said.len()).rev() {
            let said = &self.said[at];
            if !said.live && !said.copies.is_empty() {
                let kept = said.copies.iter().find(|copy| fates[**copy] == Fate::Kept);
                fates[at] = fates[*kept.unwrap_or(&said.copies[said.copies.len() - 1])];
                self.said[at].unexplained = false;
            }
        }
        let mut out: Vec<Said> = self.said.into_values().collect();
        for (said, fate) in out.iter_mut().zip(fates) {
            said.fate = fate;
        }
        settle_kinds(&mut out);
        out.iter_mut().for_each(Said::slim);
        out
    }

    /// A resume adds `<id>_response` beside the tool result that is already there: a record of its
    /// own, or what the calls of `<id>` hold.
    fn mark_repeated_results(&mut self) {
        let mut answered: HashSet<Box<str>> = HashSet::new();
        for at in 0..self.said.len() {
            let said = &self.said[at];
            if said.kind != MessageKind::ToolResult {
                continue;
            }
            let asked = said.id.strip_suffix("_response");
            let asked = asked.and_then(|id| self.said.get(id.as_bytes()));
            let in_call = |id: &str| {
                let mut calls = asked.iter().flat_map(|said| &said.tools);
                calls.any(|call| call.id.as_deref() == Some(id))
            };
            let mut fresh = false;
            for key in &said.keys {
                fresh |= match key {
                    Key::Response(id) => answered.insert(id.clone()) && !in_call(id),
                    Key::ResponseOf(_) => true,
                    Key::Text(_) | Key::Call(_) => false,
                };
            }
            self.said[at].is_copy |= !fresh;
        }
    }
}

impl Said {
    pub(super) fn new(id: String, facts: Facts, span: Span) -> Self {
        let (typed, typed_is_sure) = facts.typed.map_or((None, false), |(t, sure)| (Some(t), sure));
        Self {
            id,
            at: facts.at,
            kind: facts.kind,
            typed,
            typed_is_sure,
            tokens: facts.tokens,
            model: facts.model,
            tools: facts.tools,
            spans: vec![span],
            fate: Fate::Kept,
            unexplained: false,
            is_copy: false,
            is_ours: false,
            lead: facts.lead,
            keys: facts.keys,
            live: false,
            copies: Vec::new(),
            repeats: Vec::new(),
        }
    }

    /// The later record wins, except that what it lacks is kept.
    fn merge(&mut self, facts: Facts, span: Span) {
        self.spans.push(span);
        if self.is_copy && !self.still_repeats(&facts) {
            self.is_copy = false;
            self.repeats = Vec::new();
        }
        self.at = self.at.or(facts.at);
        self.kind = facts.kind;
        if let Some((typed, sure)) = facts.typed
            && (sure || !self.typed_is_sure)
        {
            self.typed = Some(typed);
            self.typed_is_sure = sure;
        }
        self.tokens = facts.tokens.or(self.tokens);
        if facts.model.is_some() {
            self.model = facts.model;
        }
        if !facts.tools.is_empty() {
            self.tools = facts.tools;
        }
        self.lead = facts.lead;
        self.keys = facts.keys;
    }

    /// Whether a later record of a copy says nothing that its originals do not.
    fn still_repeats(&self, facts: &Facts) -> bool {
        let known = |tool: &ToolFact| {
            let id = tool.id.as_deref();
            self.repeats
                .iter()
                .any(|part| matches!(&part.key, Key::Call(call) if Some(&**call) == id))
        };
        facts.kind == self.kind
            && facts.keys == self.keys
            && facts.tokens.is_none()
            && facts.tools.iter().all(known)
    }

    /// A line of the prompt log, where that is all there is.
    pub(super) fn typed(number: usize, at: Option<Timestamp>, text: &str) -> Self {
        let is_command = text.starts_with(['/', '?']);
        let kind = match text.as_bytes().first() {
            Some(b'!') => MessageKind::Shell,
            _ if is_command => MessageKind::Slash,
            _ => MessageKind::Prompt,
        };
        let facts = Facts {
            at,
            kind,
            typed: Some((text.to_owned(), true)),
            tokens: None,
            model: None,
            tools: Vec::new(),
            keys: Vec::new(),
            lead: String::new(),
        };
        let record = serde_json::json!({
            "id": format!("log-{number}"), "type": "user", "content": text, "timestamp": at,
        });
        Self::new(format!("log-{number}"), facts, Span::Inline(record.to_string().into()))
    }

    /// Joins what another file says of the same message; `newer` is whether that file was updated
    /// later, and so knows better what became of it.
    pub(super) fn join(&mut self, other: &Self, newer: bool) {
        self.complete(other);
        if self.typed.is_none() || (other.typed_is_sure && !self.typed_is_sure) {
            self.typed.clone_from(&other.typed);
        }
        if newer {
            (self.fate, self.unexplained) = (other.fate, other.unexplained);
            self.is_copy = other.is_copy;
        }
    }

    /// Takes over what only another record of the same call says.
    pub(super) fn complete(&mut self, other: &Self) {
        self.at = self.at.min(other.at).or(self.at).or(other.at);
        self.tokens = self.tokens.or(other.tokens);
        if self.model.is_none() {
            self.model.clone_from(&other.model);
        }
        if self.tools.len() < other.tools.len() {
            self.tools.clone_from(&other.tools);
        }
    }

    /// Gives back what only the reading needed: there may be a million of these.
    fn slim(&mut self) {
        if !self.lead.starts_with(TASK) {
            self.lead = String::new();
        }
        (self.keys, self.copies, self.repeats) = (Vec::new(), Vec::new(), Vec::new());
        self.spans.shrink_to_fit();
        self.tools.shrink_to_fit();
    }

    fn remove(&mut self, fate: Fate, unexplained: bool) {
        self.live = false;
        self.fate = fate;
        self.unexplained = unexplained;
    }

    /// Who speaks: one does not repeat the other.
    fn side(&self) -> Side {
        match self.kind {
            MessageKind::Reply => Side::Model,
            kind if kind.is_notice() => Side::Program,
            _ => Side::User,
        }
    }

    /// Whether it is the model's word of thanks for a summary.
    fn is_thanks_after(&self, before: &Self) -> bool {
        before.kind == MessageKind::CompressSummary
            && self.kind == MessageKind::Reply
            && self.tokens.is_none()
            && self.lead.starts_with("Got it. Thanks for the additional context!")
    }

    /// Whether its absence from the model's history means anything.
    fn is_missed(&self) -> bool {
        self.copies.is_empty() && !self.kind.is_notice() && self.kind != MessageKind::Injected
    }

    /// Its text and calls, in the order in which a copy holds them.
    fn parts(&self) -> Vec<PartKey> {
        if self.repeats.is_empty() { self.own_parts() } else { self.repeats.clone() }
    }

    fn own_parts(&self) -> Vec<PartKey> {
        let mut parts: Vec<PartKey> =
            self.keys.iter().map(|key| PartKey { key: key.clone(), name: None }).collect();
        for tool in &self.tools {
            let key = Key::Call(tool.id.clone().unwrap_or_else(|| tool.name.clone()));
            match parts.iter_mut().find(|part| part.key == key) {
                Some(part) => part.name = Some(tool.name.clone()),
                None => parts.push(PartKey { key, name: Some(tool.name.clone()) }),
            }
        }
        parts
    }
}

#[derive(PartialEq, Eq)]
enum Side {
    User,
    Model,
    Program,
}

/// A part of an original. A copy of a call may lack the id and have only the name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PartKey {
    key: Key,
    name: Option<Box<str>>,
}

impl PartKey {
    fn is(&self, key: &Key) -> bool {
        self.key == *key
            || matches!((key, &self.name), (Key::Call(call), Some(name)) if call == name)
    }
}

/// What only the neighbours of a message tell: the acknowledgement after a summary, and the task of
/// a subagent that wrote into its parent's file (0.20).
fn settle_kinds(said: &mut [Said]) {
    let starts_agent = |said: &Said| said.tools.iter().any(|tool| tools::is_agent(&tool.name));
    for at in 0..said.len() {
        let before = at.checked_sub(1).map(|before| &said[before]);
        let after = said.get(at + 1);
        let this = &said[at];
        let is_thanks = before.is_some_and(|before| this.is_thanks_after(before));
        let is_task = this.kind == MessageKind::Prompt
            && this.lead.starts_with(TASK)
            && (before.is_some_and(starts_agent) || after.is_some_and(starts_agent));
        if is_thanks {
            said[at].kind = MessageKind::CompressSummary;
        } else if is_task {
            said[at].kind = MessageKind::Injected;
        }
    }
}
