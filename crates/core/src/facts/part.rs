//! What one source contains of one session.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::MessageFacts;
use crate::model::{AgentId, SessionKind, State};
use crate::project::Project;

/// What one source contains of one session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PartFacts {
    pub session: SessionRef,
    pub kind: SessionKind,
    /// The session that started this one.
    pub parent: Option<String>,
    /// The tool call of the parent that started it.
    pub spawned_by: Option<Box<str>>,
    /// The session that this one is a branch of, where the file records it.
    pub forked_from: Option<String>,
    /// The path of its project, or the agent's hash of it, as recorded.
    pub project: Option<String>,
    /// Other folders that the session worked in.
    pub directories: Vec<String>,
    /// Recorded times of the session as a whole.
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The time in the name of the file, for a session that records none.
    #[serde(with = "crate::time::stored")]
    pub named_at: Option<Timestamp>,
    pub summary: Option<String>,
    pub form: Form,
    /// Whether the agent would continue the session from this file.
    pub is_resumable: bool,
    /// Whether the file is in a folder that the agent has abandoned for another.
    pub is_abandoned: bool,
    /// Whether its messages were imported from elsewhere.
    pub is_import: bool,
    /// The ids of the messages that the agent itself would load, in its order.
    pub current: Vec<String>,
    pub messages: Vec<MessageFacts>,
    /// What the source states outright instead of leaving it to be derived.
    pub stated: Option<Box<Stated>>,
}

/// Names the session that a part belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionRef {
    /// An id that is the same wherever the file is copied.
    Id(String),
    /// An id that is unique only within its project.
    InProject { scope: String, name: String },
    /// The one session in the same folder whose id begins so; without such a one, `otherwise`.
    StartingWith { beginning: String, otherwise: String },
}

impl Default for SessionRef {
    fn default() -> Self {
        Self::Id(String::new())
    }
}

/// How a source is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Lines are only ever appended.
    #[default]
    Log,
    /// Written whole each time, so that it can have lost calls.
    Document,
    /// The model's own list of contents: without ids, times or tokens.
    History,
}

/// What a document of backstory states of its session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stated {
    pub agent: AgentId,
    pub project: Arc<Project>,
    pub state: State,
    /// Includes copies, which the document does not contain.
    pub messages_current: usize,
    /// The task of an agent: not a prompt, but the title of its session.
    pub task: Option<String>,
}
