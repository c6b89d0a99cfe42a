//! Attaches the model calls of a thread to their replies.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::counts::Revealed;
use super::draft::{Draft, Origin, mark};
use super::lost::{LOST, bill};
use super::thread::{Thread, Turn, time_in_id};
use crate::agent::codex::format::{Count, Object, Tokens};
use crate::facts::{CallFacts, CallKey, FirstTotal};
use crate::model::{MessageId, MessageKind, SessionId};

/// The beginnings of keys: of a recorded response, and of a count within a turn or, without one, a history.
const RESPONSE: &str = "response:";
const TURN: &str = "turn:";
const TOTAL: &str = "total:";

/// The usual length of the numbers in a key.
const KEY: usize = 48;

/// Returns what identifies a call: the id of its response, or else its thread, turn and token count.
pub(crate) fn call_id(session: &SessionId, message: &MessageId, key: &CallKey) -> String {
    let CallKey::Id(key) = key else { return format!("{session}:{message}") };
    if let Some(response) = key.strip_prefix(RESPONSE) {
        return response.to_owned();
    }
    let count = [TURN, TOTAL, LOST].iter().find_map(|prefix| key.strip_prefix(prefix));
    format!("{session}:{}", count.unwrap_or(message))
}

/// Returns the total after a call, if its key contains it.
pub(super) fn total_in(key: &CallKey) -> Option<Tokens> {
    let CallKey::Id(key) = key else { return None };
    let count = key.strip_prefix(TURN).or_else(|| key.strip_prefix(TOTAL))?;
    Tokens::from_key(count.rsplit_once(':')?.1)
}

/// Returns the key of a call that a count within a turn shows.
fn turn_key(turn: &str, total: &str) -> String {
    [TURN, turn, ":", total].concat()
}

/// A model call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Step {
    call: CallFacts,
    key: String,
    model: Option<Arc<str>>,
    #[serde(with = "crate::time::stored")]
    at: Option<Timestamp>,
    /// The time at which its line was written.
    #[serde(with = "crate::time::stored")]
    written: Option<Timestamp>,
    origin: Origin,
}

impl Thread {
    /// Adds a record of one response.
    pub(super) fn usage(&mut self, body: &Object<'_>) {
        self.has_turns = true;
        let turn = body.text("turn_id").unwrap_or_default();
        self.recorded.insert(turn.as_ref().into());
        let Some(response) = body.text("response_id") else { return };
        if !self.responses.insert(mark(&response)) {
            return;
        }
        let tokens = Tokens::of(body.get("usage"));
        let is_inherited = body.text("thread_id").is_some_and(|thread| self.is_other(&thread));
        let began = time_in_id(&turn).filter(|_| is_inherited);
        let mut call = CallFacts::new(tokens.usage()).with_service(self.service);
        call.is_inherited = is_inherited;
        self.made(Step {
            call,
            key: format!("{RESPONSE}{response}"),
            model: self.model.clone(),
            at: began.or_else(|| self.time(is_inherited)),
            written: self.written(),
            origin: Origin::Record,
        });
    }

    /// Adds a token count; `None` if it has no total.
    pub(crate) fn count(&mut self, count: Option<Count>) {
        let is_first = self.has_base() && self.counts.is_unknown();
        let is_first_own =
            self.spawner().is_some() && self.counts.is_skipped() && !self.is_inherited();
        let Revealed { lost, call } = self.counts.step(count);
        if self.is_spawned_copy() {
            self.counts.skip();
        }
        let Some((total, last)) = count else { return };
        if call.is_none() && lost.is_none() && !self.has_lineage() {
            return;
        }
        let mut numbers = String::with_capacity(KEY);
        total.push_key(&mut numbers);
        let hash = mark(&numbers);
        self.note_total(hash);
        if let Some(turn) = self.turn.as_ref().filter(|turn| self.recorded.contains(&turn.id)) {
            let key = turn_key(&turn.id, &numbers);
            return self.alias(&last, key);
        }
        if let Some(lost) = lost {
            let mut key = format!("{LOST}{}:{}:", self.root(), self.counts.restarts);
            lost.push_key(&mut key);
            let mut bill = bill(&lost.usage(), &last.usage(), self.model.as_ref());
            // How many calls were lost is not known. What one count reveals counts as one call.
            bill.is_extra = call.is_some();
            self.made_alone(self.counted(bill, key));
        }
        let Some(tokens) = call else { return };
        // Until the first output of the model, a file that continues another one usually repeats its total.
        let seems_repeated = (is_first || is_first_own) && !self.is_heard && total != last;
        if seems_repeated && (is_first_own || !self.has_lineage()) {
            return;
        }
        let (key, other_keys) = match &self.turn {
            Some(Turn { id, began: Some(_) }) => (turn_key(id, &numbers), Vec::new()),
            _ => self.total_keys(&numbers),
        };
        if is_first {
            let key = key.as_str().into();
            self.first_total = Some(FirstTotal { hash, key, seems_repeated });
        }
        let call = CallFacts::new(tokens.usage()).with_other_keys(other_keys);
        let step = self.counted(call, key);
        if seems_repeated { self.made_alone(step) } else { self.made(step) }
    }

    /// Adds the key of the count that shows a recorded call: a subagent's copy may have only the count.
    fn alias(&mut self, tokens: &Tokens, key: String) {
        let pending = self.pending.as_mut().map(|step| &mut step.call);
        let drafts = self.drafts.iter_mut().rev();
        let mut calls = pending.into_iter().chain(drafts.filter_map(|one| one.facts.call.as_mut()));
        let call = calls.next().filter(|call| call.usage == tokens.usage());
        if let Some(call) = call.filter(|call| call.aliases().is_empty()) {
            call.add_alias(key.into());
        }
    }

    /// Returns the key of a call without a turn, and those that it has in the threads that the file copies. What it
    /// copies has the key of the oldest of them, which all copies share.
    fn total_keys(&self, total: &str) -> (String, Vec<Box<str>>) {
        let restarts = self.counts.restarts.to_string();
        let key = |thread: &str| [TOTAL, thread, ":", &restarts, ":", total].concat();
        let own = if self.is_inherited() { self.origin() } else { self.id() };
        let others = self.copied_threads().filter(|thread| *thread != own);
        (key(own), others.map(|thread| key(thread).into()).collect())
    }

    /// Returns a call that a token count reveals.
    fn counted(&self, call: CallFacts, key: String) -> Step {
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        let is_inherited = self.is_inherited();
        let mut call = call.with_service(self.service);
        call.is_inherited = is_inherited;
        Step {
            call,
            key,
            model: self.model.clone(),
            at: self.time(is_inherited),
            written: self.written(),
            origin: if self.has_turns { Origin::Count(turn) } else { Origin::EarlyCount },
        }
    }

    /// Adds a call without a reply.
    fn made_alone(&mut self, step: Step) {
        self.flush();
        self.pending = Some(step);
        self.flush();
    }

    /// Stores the hash of a running total for the files that continue this one.
    fn note_total(&mut self, hash: u64) {
        if self.has_lineage() && self.totals.last().is_none_or(|(_, last)| *last != hash) {
            self.totals.push((self.position(), hash));
        }
    }

    /// Attaches a call to its reply. If the reply is still to come, the call is kept pending.
    fn made(&mut self, step: Step) {
        if let Some(at) = self.reply {
            let draft = &mut self.drafts[at];
            let is_better = step.origin == Origin::Record && is_recorded(&self.recorded, draft);
            if draft.facts.call.is_none() || is_better {
                draft.is_counted_first = !draft.has_item;
                return draft.take(step);
            }
        }
        self.flush();
        self.pending = Some(step);
    }

    /// Attaches a pending call to a message that has just begun.
    pub(super) fn claim(&mut self, at: usize) {
        if let Some(step) = self.pending.take() {
            self.drafts[at].is_counted_first = true;
            self.drafts[at].take(step);
        }
    }

    /// Creates a message for a pending call whose reply never came.
    pub(super) fn flush(&mut self) {
        if let Some(step) = &self.pending {
            let (mark, written) = (mark(&step.key), step.written);
            let at = self.begin_at(MessageKind::Reply, mark, written);
            self.claim(at);
        }
    }

    /// Drops calls taken from token counts if they are recorded individually as well.
    pub(super) fn drop_recorded(&mut self) {
        for draft in &mut self.drafts {
            if is_recorded(&self.recorded, draft) {
                draft.facts.call = None;
                draft.facts.key = CallKey::Local;
                // A message that consisted of nothing but the call counts as a copy.
                draft.facts.is_copy = draft.is_bare();
            }
        }
    }
}

/// Returns whether the call of a message is taken from a token count although the calls of its turn are in
/// `recorded`. In a file with any such turn, a count outside of all turns is not a call either, unless it
/// precedes them all.
pub(super) fn is_recorded(recorded: &BTreeSet<Box<str>>, draft: &Draft) -> bool {
    let Some(Origin::Count(turn)) = &draft.origin else { return false };
    !recorded.is_empty() && turn.as_ref().is_none_or(|turn| recorded.contains(turn))
}

impl Draft {
    fn take(&mut self, step: Step) {
        self.facts.call = Some(step.call);
        self.facts.key = CallKey::Id(step.key.into());
        self.facts.model = step.model;
        self.facts.at = step.at.or(self.facts.at);
        self.origin = Some(step.origin);
    }
}
