//! Assembles a message while its thread is read.

use xxhash_rust::xxh3::xxh3_64;

use crate::facts::MessageFacts;

/// A message that is being assembled while its thread is read.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The facts collected so far.
    pub(crate) facts: MessageFacts,
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
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A record of one response.
    Record,
    /// A token count, with the id of its turn if it has one.
    Count(Option<Box<str>>),
}

impl Draft {
    /// Begins a message at a position of the history and a line of the file.
    pub(crate) fn new(facts: MessageFacts, position: u64, line: u64) -> Self {
        Self {
            facts,
            position,
            line,
            look: None,
            length: 0,
            starts_turn: false,
            is_loaded: false,
            is_sure: false,
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

    /// Returns whether it consists of nothing but a call.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_empty() && !self.has_item
    }
}

/// Returns a hash of a text; `None` if it is empty.
pub(crate) fn look(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty()).then(|| xxh3_64(text.as_bytes()))
}
