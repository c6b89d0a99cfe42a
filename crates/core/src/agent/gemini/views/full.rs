//! Computes the full view of one file: every message it ever contained, each with its fate.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::copies::PartKey;
use super::facts::Facts;
use crate::agent::gemini::format::content::Key;
use crate::agent::gemini::format::quick_reply::Reply;
use crate::agent::gemini::format::record::{Depth, Message};
use crate::facts::{CallKey, MessageFacts, Span};
use crate::id::is_uuid;
use crate::model::{Fate, MessageKind};
use crate::tools;

/// The beginning of a subagent's task, in versions that do not mark it.
const TASK: &str = "Your task is to";

/// The messages of a file in the order of their first appearance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct History {
    /// The messages by id.
    pub(crate) drafts: IndexMap<Box<[u8]>, Draft, FxBuildHasher>,
    /// The agent's list after the last record.
    pub(crate) list: Vec<usize>,
    models: Vec<Arc<str>>,
    #[serde(skip)]
    depth: Depth,
}

/// A message while its file is being read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// Its facts. The id is set when everything is read; until then it is only the key.
    #[serde(with = "unsettled")]
    pub(crate) said: MessageFacts,
    pub(crate) live: bool,
    pub(crate) lead: String,
    pub(crate) keys: Vec<Key>,
    /// Later messages that repeat this one.
    pub(crate) copies: Vec<usize>,
    /// The parts of other messages that this one repeats.
    pub(crate) repeats: Vec<PartKey>,
}

impl History {
    pub(crate) fn new(depth: Depth) -> Self {
        Self { depth, ..Self::default() }
    }

    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// Inserts a message record, or merges it with earlier records of the same id.
    pub(crate) fn store(&mut self, message: &mut Message<'_>, span: Span) {
        let key = std::mem::take(&mut message.id);
        self.store_as(&key, message, span);
    }

    /// Inserts the `n`-th message of a list on `line`. A message without an id is named by its
    /// place; a document has only one list, so there the number is enough.
    pub(crate) fn store_at(&mut self, line: u64, n: usize, message: &mut Message<'_>, span: Span) {
        if message.has_id {
            return self.store(message, span);
        }
        let place = if line == 1 { format!("#{}", n + 1) } else { format!("#{line}.{}", n + 1) };
        self.store_as(place.as_bytes(), message, span);
    }

    fn store_as(&mut self, key: &[u8], message: &mut Message<'_>, span: Span) {
        let facts = Facts::new(message, self.depth, &mut self.models);
        // The text of messages that are only counted is never read.
        let span = (self.depth == Depth::Whole).then_some(span);
        self.store_facts(key, facts, span);
    }

    /// Counts a reply.
    pub(crate) fn count(&mut self, reply: &Reply<'_>) {
        let facts = reply.facts(&mut self.models);
        self.store_facts(reply.id(), facts, None);
    }

    fn store_facts(&mut self, key: &[u8], facts: Facts, span: Option<Span>) {
        let at = match self.drafts.get_full_mut(key) {
            Some((at, _, draft)) => {
                draft.merge(facts, span);
                at
            }
            None => self.drafts.insert_full(key.into(), Draft::new(facts, span)).0,
        };
        let draft = &mut self.drafts[at];
        if !draft.live {
            draft.live = true;
            (draft.said.fate, draft.said.unexplained) = (Fate::Kept, false);
            self.list.push(at);
        }
    }

    pub(crate) fn rewind(&mut self, to: &[u8]) {
        let to = self.drafts.get_index_of(to);
        // Searched from the end: the message and all after it leave the list.
        let keep = self.list.iter().rposition(|at| Some(*at) == to).unwrap_or(0);
        for at in self.list.split_off(keep) {
            self.drafts[at].remove(Fate::Rewound, false);
        }
    }

    /// Replaces the list.
    pub(crate) fn replace<'e, 'a: 'e>(
        &mut self,
        messages: impl Iterator<Item = (&'e mut Message<'a>, Span)>,
    ) {
        if self.depth == Depth::Calls {
            // The fate of a call does not change its cost.
            return messages.for_each(|(message, span)| self.store(message, span));
        }
        let before = std::mem::take(&mut self.list);
        for at in &before {
            self.drafts[*at].live = false;
        }
        let first_new = self.drafts.len();
        for (message, span) in messages {
            self.store(message, span);
        }
        let removed: Vec<usize> =
            before.iter().copied().filter(|at| !self.drafts[*at].live).collect();
        let is_summary = |at: usize| self.drafts[at].said.kind == MessageKind::CompressSummary;
        let snapshot = self.list.iter().any(|at| *at >= first_new && is_summary(*at));
        self.match_copies(&removed, first_new, snapshot);
        let mut place = vec![0; self.drafts.len()];
        for (n, at) in before.iter().enumerate() {
            place[*at] = n;
        }
        let failed_from = self.failed_from(&before, &removed, &place);
        for at in removed {
            let draft = &mut self.drafts[at];
            let kind = draft.said.kind;
            let (fate, unexplained) = if snapshot {
                (Fate::Compressed, false)
            } else if failed_from.is_some_and(|from| place[at] >= from) {
                (Fate::Failed, false)
            } else if kind.is_notice() || kind == MessageKind::Injected {
                (Fate::Kept, false)
            } else {
                (Fate::Compressed, true)
            };
            draft.remove(fate, unexplained);
        }
    }

    /// Returns the last prompt if the new list ends before it or before its answer: a prompt that
    /// failed or was cancelled, or a refused tool call, is rolled back with everything that
    /// followed it.
    fn failed_from(&self, before: &[usize], removed: &[usize], place: &[usize]) -> Option<usize> {
        let prompt = before.iter().rposition(|at| self.drafts[*at].said.kind.is_typed())?;
        let mut lost = removed.iter().filter(|at| self.drafts[**at].is_missed()).peekable();
        (lost.peek().is_some() && lost.all(|at| place[*at] >= prompt)).then_some(prompt)
    }

    /// Restores the facts of an earlier scan into the drafts. Returns false if they do not match.
    pub(crate) fn restore(&mut self, messages: Vec<MessageFacts>) -> bool {
        let is_same = messages.len() == self.drafts.len();
        for (draft, message) in self.drafts.values_mut().zip(messages) {
            let MessageFacts { kind, fate, unexplained, is_copy, .. } = draft.said;
            draft.said = MessageFacts { kind, fate, unexplained, is_copy, ..message };
        }
        is_same
    }

    /// Returns the messages with their final fates.
    pub(crate) fn finish(mut self) -> Vec<MessageFacts> {
        if self.depth == Depth::Whole {
            self.mark_repeated_results();
            self.settle_fates();
            self.settle_kinds();
        }
        let id = |key: Box<[u8]>| {
            let text = String::from_utf8(key.into_vec());
            text.unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned())
        };
        let said = |(key, mut draft): (Box<[u8]>, Draft)| {
            if is_uuid(&key) {
                draft.said.key = CallKey::Message;
            }
            draft.said.id = id(key).into();
            draft.said
        };
        self.drafts.into_iter().map(said).collect()
    }

    /// Gives originals the fate of their copies.
    fn settle_fates(&mut self) {
        // A copy is later than its original, so the reverse order settles copies first.
        for at in (0..self.drafts.len()).rev() {
            let draft = &self.drafts[at];
            if !draft.live && !draft.copies.is_empty() {
                let fate = |copy: &usize| self.drafts[*copy].said.fate;
                let kept = draft.copies.iter().find(|copy| fate(copy) == Fate::Kept);
                let fate = fate(kept.unwrap_or(&draft.copies[draft.copies.len() - 1]));
                let said = &mut self.drafts[at].said;
                (said.fate, said.unexplained) = (fate, false);
            }
        }
    }

    /// Sets the kinds that only the neighbours of a message reveal: the acknowledgement after a
    /// summary, and the task of a subagent that wrote into its parent's file (0.20).
    fn settle_kinds(&mut self) {
        let starts_agent =
            |draft: &Draft| draft.said.tools.iter().any(|tool| tools::is_agent(&tool.name));
        for at in 0..self.drafts.len() {
            let before = at.checked_sub(1).map(|before| &self.drafts[before]);
            let after = self.drafts.get_index(at + 1).map(|(_, after)| after);
            let this = &self.drafts[at];
            let is_thanks = before.is_some_and(|before| this.is_thanks_after(before));
            let is_task = this.said.kind == MessageKind::Prompt
                && this.said.is_task
                && (before.is_some_and(starts_agent) || after.is_some_and(starts_agent));
            if is_thanks {
                self.drafts[at].said.kind = MessageKind::CompressSummary;
            } else if is_task {
                self.drafts[at].said.kind = MessageKind::Injected;
            }
        }
    }
}

/// Stores the fields of a message that finishing may change; the others are among the facts of the
/// source.
mod unsettled {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::facts::MessageFacts;
    use crate::model::{Fate, MessageId, MessageKind};

    type Unsettled = (MessageKind, Fate, bool, bool);

    pub(super) fn serialize<S: Serializer>(
        said: &MessageFacts,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let unsettled: Unsettled = (said.kind, said.fate, said.unexplained, said.is_copy);
        unsettled.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<MessageFacts, D::Error> {
        let (kind, fate, unexplained, is_copy) = Unsettled::deserialize(deserializer)?;
        let said = MessageFacts::new(MessageId::default(), kind, None);
        Ok(MessageFacts { fate, unexplained, is_copy, ..said })
    }
}

impl Draft {
    fn new(mut facts: Facts, span: Option<Span>) -> Self {
        let (keys, lead) = (std::mem::take(&mut facts.keys), std::mem::take(&mut facts.lead));
        let mut said = facts.into_message(span);
        said.is_task = lead.starts_with(TASK);
        Self { said, live: false, lead, keys, copies: Vec::new(), repeats: Vec::new() }
    }

    fn merge(&mut self, mut facts: Facts, span: Option<Span>) {
        if self.said.is_copy && !self.still_repeats(&facts) {
            self.said.is_copy = false;
            self.repeats = Vec::new();
        }
        self.keys = std::mem::take(&mut facts.keys);
        self.lead = std::mem::take(&mut facts.lead);
        self.said.is_task = self.lead.starts_with(TASK);
        facts.merge_into(&mut self.said, span);
    }

    fn remove(&mut self, fate: Fate, unexplained: bool) {
        self.live = false;
        (self.said.fate, self.said.unexplained) = (fate, unexplained);
    }

    /// Returns whether it is the model's acknowledgement of a summary.
    pub(crate) fn is_thanks_after(&self, before: &Self) -> bool {
        before.said.kind == MessageKind::CompressSummary
            && self.said.kind == MessageKind::Reply
            && self.said.call.is_none()
            && self.lead.starts_with("Got it. Thanks for the additional context!")
    }

    /// Returns whether its absence from the model's history is significant.
    fn is_missed(&self) -> bool {
        let kind = self.said.kind;
        self.copies.is_empty() && !kind.is_notice() && kind != MessageKind::Injected
    }
}
