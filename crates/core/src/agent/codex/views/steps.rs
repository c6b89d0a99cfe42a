//! Attaches the model calls of a thread to their replies.

use std::sync::Arc;

use jiff::Timestamp;

use super::draft::{Draft, Origin};
use super::thread::{Thread, Turn, time_in_id};
use crate::agent::codex::format::{Object, Tokens};
use crate::facts::{CallFacts, CallKey};
use crate::model::MessageKind;

/// A model call.
#[derive(Debug)]
pub(super) struct Step {
    call: CallFacts,
    key: String,
    model: Option<Arc<str>>,
    at: Option<Timestamp>,
    origin: Origin,
}

impl Thread {
    /// Adds a record of one response.
    pub(super) fn usage(&mut self, body: &Object<'_>) {
        let turn = body.text("turn_id").unwrap_or_default();
        self.recorded.insert(turn.as_ref().into());
        let Some(response) = body.text("response_id") else { return };
        let tokens = Tokens::read(&body.object("usage"));
        let is_inherited = body.text("thread_id").is_some_and(|thread| self.is_other(&thread));
        let began = time_in_id(&turn).filter(|_| is_inherited);
        let mut call = CallFacts::new(tokens.usage()).with_service(self.service);
        call.is_inherited = is_inherited;
        self.made(Step {
            call,
            key: format!("response:{response}"),
            model: self.model.clone(),
            at: began.or_else(|| self.time(is_inherited)),
            origin: Origin::Record,
        });
    }

    /// Adds a token count.
    pub(super) fn count(&mut self, event: &Object<'_>) {
        let info = event.get("info").map(Object::of);
        let count = info.as_ref().filter(|info| info.has("total_token_usage")).map(|info| {
            let tokens = |name: &str| Tokens::read(&info.object(name));
            (tokens("total_token_usage"), tokens("last_token_usage"))
        });
        // Until the first output of the model, a file that continues another one only repeats its total.
        let is_repeat = self.has_base() && self.counts.is_unknown() && !self.is_heard;
        let is_repeat = is_repeat && count.is_some_and(|(total, last)| total != last);
        let step = self.counts.step(count);
        let (Some(tokens), Some((total, _))) = (step.filter(|_| !is_repeat), count) else { return };
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        if turn.as_ref().is_some_and(|turn| self.recorded.contains(turn)) {
            return;
        }
        let key = match &self.turn {
            Some(Turn { id, began: Some(_) }) => format!("turn:{id}:{}", total.key()),
            _ => format!("total:{}:{}:{}", self.root(), self.counts.restarts, total.key()),
        };
        let is_inherited = self.is_inherited();
        let mut call = CallFacts::new(tokens.usage()).with_service(self.service);
        call.is_inherited = is_inherited;
        let at = self.time(is_inherited);
        self.made(Step { call, key, model: self.model.clone(), at, origin: Origin::Count(turn) });
    }

    /// Attaches a call to its reply. If the reply is still to come, the call is kept pending.
    fn made(&mut self, step: Step) {
        if let Some(at) = self.reply {
            let draft = &mut self.drafts[at];
            let is_better =
                step.origin == Origin::Record && matches!(draft.origin, Some(Origin::Count(_)));
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
        if self.pending.is_some() {
            let at = self.begin(MessageKind::Reply);
            self.claim(at);
        }
    }

    /// Drops calls taken from token counts if they are recorded individually as well.
    pub(super) fn drop_recorded(&mut self) {
        if self.recorded.is_empty() {
            return;
        }
        for draft in &mut self.drafts {
            let Some(Origin::Count(turn)) = &draft.origin else { continue };
            if turn.as_ref().is_none_or(|turn| self.recorded.contains(turn)) {
                draft.facts.call = None;
                draft.facts.key = CallKey::Local;
                // A message that consisted of nothing but the call counts as a copy.
                draft.facts.is_copy = draft.is_bare();
            }
        }
    }
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
