//! The light facts of one message, merged from all its records.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::call::{CallFacts, CallKey};
use super::span::Span;
use crate::model::{Fate, MessageId, MessageKind, ToolCallId, ToolStatus};
use crate::time::earlier;

/// A message without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFacts {
    /// Identifies it within its session.
    pub id: MessageId,
    /// Identifies it among all sources.
    pub key: CallKey,
    /// The message it follows, in agents whose sessions are trees.
    pub parent: Option<MessageId>,
    /// The time it was sent.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// Its kind.
    pub kind: MessageKind,
    /// The typed words, for prompts and slash commands.
    pub typed: Option<String>,
    /// Whether the record itself separates the typed words from the rest.
    pub typed_is_sure: bool,
    /// The call that produced it.
    pub call: Option<CallFacts>,
    /// The model that wrote it.
    pub model: Option<Arc<str>>,
    /// The tools it used.
    pub tools: Vec<ToolFacts>,
    /// Every record of it, in order; empty if only calls are counted.
    pub spans: Vec<Span>,
    /// Its fate in the agent's own list.
    pub fate: Fate,
    /// Whether only the last rule explains why it left the list.
    pub unexplained: bool,
    /// Whether it only repeats other messages and was not billed.
    pub is_copy: bool,
    /// The file only repeats a message of another session.
    pub is_inherited: bool,
    /// It was read from a document of backstory, which states all of it outright.
    pub is_ours: bool,
    /// Whether it begins like the task of a subagent.
    pub is_task: bool,
}

/// The facts of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// The id; none if the record has none.
    pub id: Option<ToolCallId>,
    /// The name of the tool.
    pub name: Box<str>,
    /// The session of the agent it started, as the record names it.
    pub agent_id: Option<Box<str>>,
    /// Its status; a command with an exit code other than 0 has failed.
    pub status: ToolStatus,
    /// The MCP server it belongs to.
    pub server: Option<Box<str>>,
    /// The time it finished.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// Lines added and removed, for a tool that edits files.
    pub lines: Option<(u64, u64)>,
}

impl MessageFacts {
    /// Returns a message with only its kind and time.
    pub fn new(id: MessageId, kind: MessageKind, at: Option<Timestamp>) -> Self {
        Self {
            id,
            key: CallKey::Local,
            parent: None,
            at,
            kind,
            typed: None,
            typed_is_sure: false,
            call: None,
            model: None,
            tools: Vec::new(),
            spans: Vec::new(),
            fate: Fate::Kept,
            unexplained: false,
            is_copy: false,
            is_inherited: false,
            is_ours: false,
            is_task: false,
        }
    }

    /// Returns the length of its records in bytes.
    pub fn length(&self) -> u64 {
        self.spans.iter().map(Span::length).sum()
    }

    /// Returns whether it was billed or used tools.
    pub fn counts(&self) -> bool {
        self.call.is_some() || !self.tools.is_empty()
    }

    /// Returns whether it has no id of its own and is identified by its place in a list instead.
    pub fn is_nameless(&self) -> bool {
        self.id.is_nameless()
    }

    /// Merges another source's facts about the same message. `newer` is whether that source was
    /// updated later and therefore decides the fate of the message.
    pub fn join(&mut self, other: &Self, newer: bool) {
        // A message that was cut off before its text has none, and looks injected.
        let known = |message: &Self| {
            let typed = message.typed.as_ref().filter(|typed| !typed.is_empty());
            typed.map(|_| message.typed_is_sure)
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

    /// Adds the facts that only another record of the same call has.
    pub fn complete(&mut self, other: &Self) {
        // The time of a call is that of the records that count its tokens.
        self.at = match (&self.call, &other.call) {
            (Some(_), None) => self.at,
            (None, Some(_)) => other.at,
            _ => earlier(self.at, other.at),
        };
        if self.parent.is_none() {
            self.parent.clone_from(&other.parent);
        }
        // The model is the one for which the tokens were counted.
        if self.call.is_none() && other.call.is_some() && other.model.is_some() {
            self.model.clone_from(&other.model);
        }
        match (&mut self.call, &other.call) {
            (Some(call), Some(other)) => call.merge(other),
            (None, Some(_)) => self.call.clone_from(&other.call),
            (_, None) => {}
        }
        // A billed message is not a copy, whatever it looks like.
        self.is_copy &= self.call.is_none();
        self.is_inherited &= other.is_inherited;
        if self.model.is_none() {
            self.model.clone_from(&other.model);
        }
        self.complete_tools(&other.tools);
    }

    /// Takes the tool calls that only another record has: one may be cut off, or each have some of them.
    fn complete_tools(&mut self, others: &[ToolFacts]) {
        if self.tools.is_empty() {
            self.tools.extend_from_slice(others);
            return;
        }
        for other in others.iter().filter(|other| other.id.is_some()) {
            match self.tools.iter_mut().find(|tool| tool.id == other.id) {
                Some(tool) if tool.status == ToolStatus::Unfinished => tool.clone_from(other),
                Some(_) => {}
                None => self.tools.push(other.clone()),
            }
        }
        if self.tools.len() < others.len() {
            self.tools = others.to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> MessageFacts {
        MessageFacts::new("a".into(), MessageKind::Prompt, None)
    }

    #[test]
    fn the_time_of_a_call_is_that_of_the_records_that_count_it() {
        let at = |second| Timestamp::from_second(second).ok();
        let record = |second, is_billed: bool| {
            let call = is_billed.then(CallFacts::default);
            MessageFacts { at: at(second), call, ..prompt() }
        };
        let records = [record(1, false), record(3, true), record(2, true)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut joined = records[order[0]].clone();
            joined.complete(&records[order[1]]);
            joined.complete(&records[order[2]]);
            assert_eq!(joined.at, at(2), "{order:?}");
        }
        let mut unbilled = record(2, false);
        unbilled.complete(&records[0]);
        assert_eq!(unbilled.at, at(1));
    }

    #[test]
    fn a_message_that_was_paid_for_is_not_a_copy() {
        let mut paid = prompt();
        paid.call = Some(CallFacts::default());
        let mut copy = prompt();
        copy.is_copy = true;
        for newer in [false, true] {
            let (mut first, mut second) = (paid.clone(), copy.clone());
            first.join(&copy, newer);
            second.join(&paid, newer);
            assert!(!first.is_copy && !second.is_copy && second.call.is_some(), "{newer}");
        }
        copy.join(&copy.clone(), true);
        assert!(copy.is_copy);
    }

    #[test]
    fn each_record_can_have_some_of_the_tool_calls() {
        let tool = |id: &str, status| ToolFacts {
            id: Some(id.into()),
            name: "Bash".into(),
            agent_id: None,
            status,
            server: None,
            at: None,
            lines: None,
        };
        let with = |tools: &[ToolFacts]| MessageFacts { tools: tools.to_vec(), ..prompt() };
        let (open, done) = (tool("a", ToolStatus::Unfinished), tool("a", ToolStatus::Success));
        let other = tool("b", ToolStatus::Error);
        let mut first = with(&[open]);
        first.complete(&with(&[other.clone(), done.clone()]));
        assert_eq!(first.tools, [done, other]);
    }

    #[test]
    fn tokens_bring_their_model() {
        let mut acted = prompt();
        acted.model = Some("a".into());
        let mut paid = acted.clone();
        (paid.call, paid.model) = (Some(CallFacts::default()), Some("b".into()));
        acted.complete(&paid);
        assert_eq!(acted.model.as_deref(), Some("b"));
        paid.complete(&MessageFacts { model: Some("c".into()), ..acted });
        assert_eq!(paid.model.as_deref(), Some("b"));
    }
}
