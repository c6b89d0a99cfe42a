//! All that was read of one source.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::MessageFacts;
use super::part::{PartFacts, SessionRef};
use crate::fault::Faults;

/// The facts of one source.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SourceFacts {
    pub contents: Contents,
    /// What it contains of each session.
    pub parts: Vec<PartFacts>,
    /// The lines of a prompt log.
    pub prompts: Vec<PromptLine>,
    pub faults: Faults,
}

/// What a source turned out to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    Session(SessionFile),
    /// A history that was saved by hand or before a change.
    History,
    Prompts,
    /// It belongs to a session and is not read for itself.
    #[default]
    Attachment,
    /// Nothing of use; what it is instead.
    Nothing(Cow<'static, str>),
    /// It is not in a format of the agent at all.
    Unrecognized,
    Unreadable,
}

/// What a file says of its session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// Whether there is anything to go back to.
    pub is_resumable: bool,
    /// Whether the agent would offer the file for resuming.
    pub is_offered: bool,
}

/// One line that was typed, as a prompt log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptLine {
    pub session: String,
    /// Counts within its session.
    pub number: u64,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    pub text: String,
}

/// A source at a glance: what lists of files need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    pub contents: Contents,
    pub faults: Faults,
}

impl SourceFacts {
    /// Returns the facts of a source that contains nothing but `contents`.
    pub fn of(contents: Contents) -> Self {
        Self { contents, ..Self::default() }
    }

    /// Returns whether it contains a conversation.
    pub fn is_conversation(&self) -> bool {
        matches!(self.contents, Contents::Session(_) | Contents::History)
    }

    /// Returns whether only its name and its neighbours decide which session it belongs to.
    pub fn is_nameless(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.session, SessionRef::StartingWith { .. }))
    }

    /// Iterates over the messages of all sessions in it.
    pub fn messages(&self) -> impl Iterator<Item = &MessageFacts> {
        self.parts.iter().flat_map(|part| &part.messages)
    }

    /// Returns how many token counts in it cannot be right.
    pub fn problem_count(&self) -> usize {
        self.messages().filter_map(|message| Some(message.call.as_ref()?.problems().len())).sum()
    }

    /// Returns what lists of files need.
    pub fn summary(&self) -> SourceSummary {
        SourceSummary { contents: self.contents.clone(), faults: self.faults.clone() }
    }
}
