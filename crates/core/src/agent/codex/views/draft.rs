//! Assembles a message while its thread is read.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::facts::{MessageFacts, ToolFacts};
use crate::model::{Fate, MessageId, MessageKind, ToolStatus};

/// A message that is being assembled while its thread is read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// The facts collected so far, which are stored among those of the source.
    #[serde(skip, default = "unknown")]
    pub(crate) facts: MessageFacts,
    /// A hash of the content it began with and of its time.
    pub(crate) mark: u64,
    /// The position of the message in the history.
    pub(crate) position: u64,
    /// The number of its first line.
    pub(crate) line: u64,
    /// A hash of the text; `None` without text.
    pub(crate) look: Option<u64>,
    /// The length of the text in bytes.
    pub(crate) length: usize,
    /// Whether a rollback can end before it.
    pub(crate) starts_turn: bool,
    /// Whether it is in the list that the agent loads.
    pub(crate) is_loaded: bool,
    /// Whether an item contains its text, rather than only an event.
    pub(crate) is_sure: bool,
    /// Whether it first appears in the list of a compaction.
    pub(crate) is_restated: bool,
    /// Whether any item belongs to it.
    pub(crate) has_item: bool,
    /// Whether a tool that it called has answered.
    pub(crate) is_answered: bool,
    /// Whether its token count preceded its items, as in versions up to 0.63.
    pub(crate) is_counted_first: bool,
    /// The record that its call was taken from.
    pub(crate) origin: Option<Origin>,
}

/// The record that a call was taken from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// A record of one response.
    Record,
    /// A token count, with the id of its turn if it has one.
    Count(Option<Box<str>>),
    /// A token count before the first turn and the first record of the file: an older version wrote it.
    EarlyCount,
}

impl Draft {
    /// Begins a message at a position of the history and a line of the file.
    pub(crate) fn new(facts: MessageFacts, mark: u64, position: u64, line: u64) -> Self {
        Self {
            facts,
            mark,
            position,
            line,
            look: None,
            length: 0,
            starts_turn: false,
            is_loaded: false,
            is_sure: false,
            is_restated: false,
            has_item: false,
            is_answered: false,
            is_counted_first: false,
            origin: None,
        }
    }

    /// Records the hash and the length of its text.
    pub(crate) fn says(&mut self, text: &str) {
        self.look = look(text);
        self.length = text.len();
    }

    /// Returns whether a continuing response may still add to it.
    pub(crate) fn is_open(&self) -> bool {
        self.is_counted_first || (self.facts.call.is_none() && !self.is_answered)
    }

    /// Returns whether it has neither text nor tool calls yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.look.is_none() && self.facts.tools.is_empty()
    }

    /// Returns whether it is a reply that was cut off, which leaves an event but no item.
    pub(crate) fn is_lost(&self) -> bool {
        let is_unconfirmed =
            self.facts.kind == MessageKind::Reply && self.look.is_some() && !self.is_sure;
        is_unconfirmed && self.facts.fate == Fate::Kept && !self.facts.is_inherited
    }

    /// Returns whether it has a tool call that was to change lines and did not succeed so far.
    pub(crate) fn has_vain_lines(&self) -> bool {
        let is_vain = |tool: &ToolFacts| tool.lines.is_some() && tool.status != ToolStatus::Success;
        self.facts.tools.iter().any(is_vain)
    }

    /// Returns whether it consists of nothing but a call.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_empty() && !self.has_item
    }
}

/// Returns facts that are to be replaced by stored ones.
fn unknown() -> MessageFacts {
    MessageFacts::new(MessageId::default(), MessageKind::Info, None)
}

/// Returns a hash of a text that identifies a message.
pub(crate) fn mark(text: &str) -> u64 {
    look(text).unwrap_or_default()
}

/// Returns a hash of a text; `None` if it is empty.
pub(crate) fn look(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty()).then(|| xxh3_64(text.as_bytes()))
}
