//! Attaches the model calls of a thread to their replies.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::draft::{Draft, Origin, mark};
use super::thread::{Thread, Turn, time_in_id};
use crate::agent::codex::format::{Count, Object, Tokens};
use crate::facts::{CallFacts, CallKey};
use crate::model::MessageKind;

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
            key: format!("response:{response}"),
            model: self.model.clone(),
            at: began.or_else(|| self.time(is_inherited)),
            written: self.written(),
            origin: Origin::Record,
        });
    }

    /// Adds a token count; `None` if it has no total.
    pub(crate) fn count(&mut self, count: Option<Count>) {
        // Until the first output of the model, a file that continues another one only repeats its total.
        let is_repeat = self.has_base() && self.counts.is_unknown() && !self.is_heard;
        let is_repeat = is_repeat && count.is_some_and(|(total, last)| total != last);
        let step = self.counts.step(count);
        let (Some(tokens), Some((total, last))) = (step.filter(|_| !is_repeat), count) else {
            return;
        };
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        if turn.as_ref().is_some_and(|turn| self.recorded.contains(turn)) {
            return;
        }
        let mut key = match &self.turn {
            Some(Turn { id, began: Some(_) }) => format!("turn:{id}:"),
            _ => format!("total:{}:{}:", self.root(), self.counts.restarts),
        };
        total.push_key(&mut key);
        let is_inherited = self.is_inherited();
        let mut call = CallFacts::new(tokens.usage()).with_service(self.service);
        call.is_inherited = is_inherited;
        let step = Step {
            call,
            key,
            model: self.model.clone(),
            at: self.time(is_inherited),
            written: self.written(),
            origin: Origin::Count(turn),
        };
        if last.is_call() {
            return self.made(step);
        }
        // Only the total still shows the call; its reply is gone.
        self.flush();
        self.pending = Some(step);
        self.flush();
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
/// `recorded`. In a file with any such turn, a count outside of all turns is not a call either.
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
