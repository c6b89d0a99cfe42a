//! A message while its thread is read.

use xxhash_rust::xxh3::xxh3_64;

use crate::facts::MessageFacts;

/// A message while its thread is read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) facts: MessageFacts,
    /// Its position in the history.
    pub(crate) position: u64,
    /// The number of its first line.
    pub(crate) line: u64,
    /// Equal for equal texts; none without text.
    pub(crate) look: Option<u64>,
    /// The length of its text.
    pub(crate) length: usize,
    /// Whether going back can stop before it.
    pub(crate) starts_turn: bool,
    /// Whether it is in the list that the agent loads.
    pub(crate) is_loaded: bool,
    /// Whether an item contains its text, and not only an event.
    pub(crate) is_sure: bool,
    /// Whether any item belongs to it.
    pub(crate) has_item: bool,
    /// Whether a tool that it called has answered.
    pub(crate) is_answered: bool,
    /// Whether its token count came before its items, as in versions to 0.63.
    pub(crate) is_counted_first: bool,
    /// How its call is known.
    pub(crate) origin: Option<Origin>,
}

/// How a call is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A record of one response.
    Record,
    /// A token count, in a turn or outside any.
    Count(Option<Box<str>>),
}

impl Draft {
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

    /// Records its text without keeping it.
    pub(crate) fn says(&mut self, text: &str) {
        self.look = look(text);
        self.length = text.len();
    }

    /// Returns whether a response that goes on may still add to it.
    pub(crate) fn is_open(&self) -> bool {
        self.is_counted_first || (self.facts.call.is_none() && !self.is_answered)
    }

    /// Returns whether it has neither text nor tool calls yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.look.is_none() && self.facts.tools.is_empty()
    }

    /// Returns whether nothing but a call is known of it.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_empty() && !self.has_item
    }
}

/// Returns a number that is equal for equal texts; none without text.
pub(crate) fn look(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty()).then(|| xxh3_64(text.as_bytes()))
}
