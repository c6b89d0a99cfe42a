//! The facts of one source.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::limit::LimitFacts;
use super::message::MessageFacts;
use super::part::{PartFacts, SessionRef};
use crate::fault::Faults;
use crate::model::{SessionId, ToolCallId};

/// The facts of one source.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SourceFacts {
    /// The type of its content.
    pub contents: Contents,
    /// The parts of sessions that it contains.
    pub parts: Vec<PartFacts>,
    /// The lines of a prompt log.
    pub prompts: Vec<PromptLine>,
    /// The names that it gives to sessions; of several for one session the last counts.
    pub titles: Vec<TitleLine>,
    /// The entries of the agent's own list of sessions; of several for one session, the last counts.
    pub listed: Vec<ListedSession>,
    /// The reports about limits of the user's plan, in order.
    pub limits: Vec<LimitFacts>,
    /// The problems found while reading it.
    pub faults: Faults,
}

/// The type of a source's content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// A session.
    Session(SessionFile),
    /// A history that was saved by hand or before a change.
    History,
    /// A prompt log.
    Prompts,
    /// It belongs to a session and is not read on its own.
    #[default]
    Attachment,
    /// Nothing usable, with a description of the content.
    Nothing(Cow<'static, str>),
    /// Its format is not one of the agent's.
    Unrecognized,
    /// The file could not be read.
    Unreadable,
    /// Names of sessions.
    Titles,
    /// An extract of the agent's own list of sessions.
    List,
}

/// The state of the session that a file records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The recorded time of the last update.
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// Whether it contains anything to resume.
    pub is_resumable: bool,
    /// Whether the agent would offer the file for resuming.
    pub is_offered: bool,
}

/// The beginning of the id under which typed lines are collected that record their project, but no session. Those
/// that do not even record a project have nothing behind it, and make no session.
pub const SESSIONLESS: &str = "prompts:";

/// One typed line in a prompt log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptLine {
    /// The id of its session.
    pub session: SessionId,
    /// Its number within the session.
    pub number: u64,
    /// The time it was typed.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The typed text.
    pub text: String,
    /// The path of the project, if the line records it.
    pub project: Option<String>,
}

/// What a file beside the sessions says about one: its name, and the tool call that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitleLine {
    /// The id of the session, or of a record at which it ended for a time.
    pub session: String,
    /// The time at which it was named.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The name.
    pub title: String,
    /// The tool call of its parent that started it.
    pub spawned_by: Option<ToolCallId>,
}

/// An entry of an agent's own list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSession {
    /// The id of the session.
    pub session: SessionId,
    /// The name of the file that the agent would load.
    pub file: Option<String>,
    /// The name of the session, unless a file of its own names it.
    pub name: Option<String>,
}

/// A source at a glance: what lists of files need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// The type of its content.
    pub contents: Contents,
    /// The problems found while reading it.
    pub faults: Faults,
}

impl SourceFacts {
    /// Returns facts with the given contents and nothing else.
    pub fn of(contents: Contents) -> Self {
        Self { contents, ..Self::default() }
    }

    /// Returns whether it contains a conversation.
    pub fn is_conversation(&self) -> bool {
        matches!(self.contents, Contents::Session(_) | Contents::History)
    }

    /// Returns whether its session can only be determined from its name and its neighbours.
    pub fn is_nameless(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.session, SessionRef::StartingWith { .. }))
    }

    /// Iterates over the messages of all sessions in it.
    pub fn messages(&self) -> impl Iterator<Item = &MessageFacts> {
        self.parts.iter().flat_map(|part| &part.messages)
    }

    /// Returns the number of token counts in it that cannot be right.
    pub fn problem_count(&self) -> usize {
        self.messages().filter_map(|message| Some(message.call.as_ref()?.problems().len())).sum()
    }

    /// Returns the summary for lists of files.
    pub fn summary(&self) -> SourceSummary {
        SourceSummary { contents: self.contents.clone(), faults: self.faults.clone() }
    }
}
