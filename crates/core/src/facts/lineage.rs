//! Describes how a file continues the history of other files, for agents that refer to them instead of
//! repeating them.

use serde::{Deserialize, Serialize};

use crate::model::MessageId;

/// The place of a file among those that share a history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The id by which other files refer to this one.
    pub id: String,
    /// The history that the file continues.
    pub base: Option<BranchPoint>,
    /// The position of each message in the history, in the order of the messages.
    pub positions: Vec<u64>,
    /// The changes of the list that the agent loads, in order.
    pub changes: Vec<ListChange>,
    /// A hash of the text of each message, in the order of the messages; 0 without text.
    pub texts: Vec<u64>,
    /// The messages that first appear in a replaced list: they may restate messages of the history, which the file
    /// does not contain.
    pub restated: Vec<MessageId>,
    /// The running totals of tokens that the file records, as positions and hashes, in order. Files that continue
    /// it may begin with one of them.
    pub totals: Vec<(u64, u64)>,
    /// The first running total of a file that continues another one, if it seems to reveal a call.
    pub first_total: Option<FirstTotal>,
}

/// A running total that reveals a call, unless it only repeats the last one of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTotal {
    /// A hash of the total.
    pub hash: u64,
    /// The key of the call.
    pub key: Box<str>,
    /// Whether it looks like a repeat, which decides if the history is missing.
    pub seems_repeated: bool,
}

/// A point in the history of another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPoint {
    /// The id of the file.
    pub file: String,
    /// The first position that is no longer part of the history.
    pub end: u64,
}

/// One change of the list of messages that the agent loads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ListChange {
    /// Appends a message to the list.
    Append {
        /// The position of the change in the history.
        position: u64,
        /// The id of the message.
        id: MessageId,
    },
    /// Replaces the whole list.
    Replace {
        /// The position of the change in the history.
        position: u64,
        /// The ids of the messages in the new list.
        ids: Vec<MessageId>,
    },
    /// Removes the last messages.
    Cut {
        /// The position of the change in the history.
        position: u64,
        /// The number of messages to remove.
        count: usize,
    },
}

impl ListChange {
    /// Returns the position of the change in the history.
    pub fn position(&self) -> u64 {
        match self {
            Self::Append { position, .. }
            | Self::Replace { position, .. }
            | Self::Cut { position, .. } => *position,
        }
    }

    /// Applies the change to a list.
    pub fn apply(&self, list: &mut Vec<MessageId>) {
        match self {
            Self::Append { id, .. } => list.push(id.clone()),
            Self::Replace { ids, .. } => list.clone_from(ids),
            Self::Cut { count, .. } => list.truncate(list.len().saturating_sub(*count)),
        }
    }
}
