//! Applies compactions and rollbacks to the list of messages that the agent loads.

use super::draft::{look, mark};
use super::thread::Thread;
use crate::agent::codex::format::{Object, TextOrigin, classify, is_from_agent};
use crate::facts::Base;
use crate::model::{Fate, MessageKind};

/// The number of bytes of typed text that survive a compaction without a list: about 20,000 tokens.
const KEPT: usize = 80_000;

impl Thread {
    /// Adds a compaction.
    pub(super) fn compact(&mut self, body: &Object<'_>, base: Base<'_>) {
        let summary = body.text("message").unwrap_or_default();
        self.mark_summary(&summary);
        let list = match body.get("replacement_history") {
            Some(_) => self.replacement(body, base),
            None => self.typed_and_summary(&summary, base),
        };
        self.flush();
        self.reply = None;
        self.reload(list);
        for draft in &mut self.drafts {
            let facts = &mut draft.facts;
            let is_gone = !draft.is_loaded && !facts.kind.is_notice();
            if is_gone && matches!(facts.fate, Fate::Kept | Fate::Interrupted) {
                facts.fate = Fate::Compressed;
            }
        }
    }

    /// Marks the last reply as a summary if it is the answer to the compaction.
    fn mark_summary(&mut self, summary: &str) {
        let answer = self.last_answer.trim();
        let Some(draft) = self.reply.map(|at| &mut self.drafts[at]) else { return };
        if !answer.is_empty() && draft.look == look(answer) && summary.trim().ends_with(answer) {
            draft.facts.kind = MessageKind::CompressSummary;
        }
    }

    /// Returns the list that a compaction records, matching its items with earlier messages.
    fn replacement(&mut self, body: &Object<'_>, base: Base<'_>) -> Vec<usize> {
        let mut list: Vec<usize> = Vec::new();
        for raw in body.list("replacement_history") {
            let item = Object::of(raw);
            let text = item.words().join("\n");
            let known = match item.text("call_id") {
                Some(id) => self.calls.get(&id).map(|(at, _)| at),
                None => look(&text).and_then(|look| {
                    let is_same = |at: &&usize| self.drafts[**at].look == Some(look);
                    self.history.iter().rev().find(is_same).copied()
                }),
            };
            let at = match known {
                Some(at) => at,
                None if item.has("call_id")
                    || item.text("type").as_deref() == Some("reasoning") =>
                {
                    continue;
                }
                None => {
                    let at = self.begin(kind(&item), mark(&text));
                    self.place(at, base, raw.get());
                    let draft = &mut self.drafts[at];
                    draft.says(&text);
                    (draft.is_sure, draft.has_item, draft.is_restated) = (true, true, true);
                    draft.starts_turn = item.text("role").as_deref() == Some("user")
                        && draft.facts.kind != MessageKind::Injected;
                    self.claim(at);
                    at
                }
            };
            if !list.contains(&at) {
                list.push(at);
            }
        }
        list
    }

    /// Returns the list after a compaction that records none: the newest typed messages, and the summary.
    fn typed_and_summary(&mut self, summary: &str, base: Base<'_>) -> Vec<usize> {
        let mut list = Vec::new();
        let mut length = 0;
        for at in self.history.iter().rev() {
            let draft = &self.drafts[*at];
            let is_typed = draft.starts_turn && draft.facts.kind != MessageKind::CompressSummary;
            if is_typed && length < KEPT {
                length += draft.length;
                list.push(*at);
            }
        }
        list.reverse();
        let at = self.begin(MessageKind::CompressSummary, mark(summary));
        self.place(at, base, base.text);
        let draft = &mut self.drafts[at];
        draft.says(summary);
        (draft.is_sure, draft.has_item, draft.starts_turn) = (true, true, true);
        self.claim(at);
        list.push(at);
        list
    }

    /// Removes the last turns from the list.
    pub(super) fn roll_back(&mut self, turns: u64) {
        self.flush();
        self.reply = None;
        let starts =
            self.history.iter().enumerate().filter(|(_, at)| self.drafts[**at].starts_turn);
        let starts: Vec<usize> = starts.map(|(n, _)| n).collect();
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        let place = starts.get(starts.len().saturating_sub(turns)).filter(|_| turns > 0);
        let Some(from) = place.copied() else { return };
        let first = self.history[from];
        self.cut(from);
        for draft in self.drafts.iter_mut().skip(first) {
            let facts = &mut draft.facts;
            let is_gone = !draft.is_loaded && !facts.kind.is_notice();
            if is_gone && matches!(facts.fate, Fate::Kept | Fate::Interrupted) {
                facts.fate = Fate::Rewound;
            }
        }
    }
}

/// Returns the kind of an item that first appears in the list of a compaction.
fn kind(item: &Object<'_>) -> MessageKind {
    let parts = item.texts("content");
    match item.text("role").as_deref() {
        Some("assistant") if is_from_agent(&parts.join("\n")) => MessageKind::Injected,
        Some("assistant") => MessageKind::Reply,
        Some("user") if classify(parts.iter().map(AsRef::as_ref)) != TextOrigin::Summary => {
            MessageKind::Injected
        }
        Some("user") => MessageKind::CompressSummary,
        None if item.text("type").as_deref() == Some("compaction") => MessageKind::CompressSummary,
        _ => MessageKind::Injected,
    }
}
