//! What is known of a message when its file was read.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::facts::{Facts, Tokens, ToolFact};
use super::log::Span;
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
    /// Every record of it, in order; none where only calls are counted.
    pub spans: Vec<Span>,
    pub fate: Fate,
    /// Whether no rule but the last explained why it left the list.
    pub unexplained: bool,
    /// It only repeats other messages, and no tokens were paid for it.
    pub is_copy: bool,
    /// It was read from a document of ours, which says all of it outright.
    pub is_ours: bool,
    /// It begins like the task of a subagent.
    pub(super) is_task: bool,
}

impl Said {
    pub(super) fn new(id: String, facts: Facts, span: Option<Span>) -> Self {
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
            spans: span.into_iter().collect(),
            fate: Fate::Kept,
            unexplained: false,
            is_copy: false,
            is_ours: false,
            is_task: false,
        }
    }

    /// Returns the length of its records.
    pub(super) fn length(&self) -> u64 {
        self.spans.iter().map(Span::length).sum()
    }

    /// The later record wins, except that what it lacks is kept.
    pub(super) fn merge(&mut self, facts: Facts, span: Option<Span>) {
        self.spans.extend(span);
        self.at = self.at.or(facts.at);
        self.kind = facts.kind;
        if let Some((typed, sure)) = facts.typed
            && (sure || !self.typed_is_sure)
            && !typed.is_empty()
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
        let span = Span::Inline(record.to_string().into());
        Self::new(format!("log-{number}"), facts, Some(span))
    }

    /// Joins what another file says of the same message; `newer` is whether that file was updated
    /// later, and so knows better what became of it.
    pub(super) fn join(&mut self, other: &Self, newer: bool) {
        // A message that was cut off before its text has none, and seems to be injected.
        let known = |said: &Self| {
            let typed = said.typed.as_ref().filter(|typed| !typed.is_empty());
            typed.map(|_| said.typed_is_sure)
        };
        let (own, others) = (known(self), known(other));
        if own.is_none() && others.is_some() {
            self.kind = other.kind;
        }
        if others > own || (newer && others == own) {
            self.typed.clone_from(&other.typed);
            self.typed_is_sure = other.typed_is_sure;
        }
        if newer {
            (self.fate, self.unexplained) = (other.fate, other.unexplained);
            self.is_copy = other.is_copy;
        }
        self.complete(other);
    }

    /// Takes over what only another record of the same call says.
    pub(super) fn complete(&mut self, other: &Self) {
        self.at = self.at.min(other.at).or(self.at).or(other.at);
        // The model is the one that the tokens were counted for.
        if self.tokens.is_none() && other.tokens.is_some() && other.model.is_some() {
            self.model.clone_from(&other.model);
        }
        self.tokens = self.tokens.or(other.tokens);
        // What was paid for is no repetition, whatever it looks like.
        self.is_copy &= self.tokens.is_none();
        if self.model.is_none() {
            self.model.clone_from(&other.model);
        }
        if self.tools.len() < other.tools.len() {
            self.tools.clone_from(&other.tools);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_paid_for_is_no_copy() {
        let mut paid = Said::typed(1, None, "x");
        paid.tokens = Some(Tokens::default());
        let mut copy = Said::typed(1, None, "x");
        copy.is_copy = true;
        for newer in [false, true] {
            let (mut first, mut second) = (paid.clone(), copy.clone());
            first.join(&copy, newer);
            second.join(&paid, newer);
            assert!(!first.is_copy && !second.is_copy && second.tokens.is_some(), "{newer}");
        }
        copy.join(&copy.clone(), true);
        assert!(copy.is_copy);
    }

    #[test]
    fn tokens_bring_their_model() {
        let mut acted = Said::typed(1, None, "x");
        acted.model = Some("a".into());
        let mut paid = acted.clone();
        (paid.tokens, paid.model) = (Some(Tokens::default()), Some("b".into()));
        acted.complete(&paid);
        assert_eq!(acted.model.as_deref(), Some("b"));
        paid.complete(&Said { model: Some("c".into()), ..acted });
        assert_eq!(paid.model.as_deref(), Some("b"));
    }
}
