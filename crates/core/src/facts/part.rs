//! The facts about one session that one source contains.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::lineage::Lineage;
use super::message::MessageFacts;
use crate::model::{AgentId, MessageId, SessionId, SessionKind, State, ToolCallId, Usage};
use crate::project::Project;

/// The facts about one session that one source contains.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PartFacts {
    /// The session it belongs to.
    pub session: SessionRef,
    /// The kind of the session.
    pub kind: SessionKind,
    /// The session that started this one.
    pub parent: Option<SessionId>,
    /// The tool call of the parent that started it.
    pub spawned_by: Option<ToolCallId>,
    /// The session that this one is a branch of, where the file records it.
    pub forked_from: Option<SessionId>,
    /// The path of its project, or the agent's hash of it, as recorded.
    pub project: Option<String>,
    /// The repository that the folder of its project is a worktree of, where the file names it.
    pub worktree_of: Option<String>,
    /// The git branch that it worked on last.
    pub branch: Option<String>,
    /// The tokens of all its calls and those of its agents in the agent's own count, which includes calls
    /// that no file records.
    pub reported: Option<Box<Usage>>,
    /// Other folders that the session worked in.
    pub directories: Vec<String>,
    /// The recorded start of the session.
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    /// The recorded time of its last update.
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The time in the name of the file, for a session that records none.
    #[serde(with = "crate::time::stored")]
    pub named_at: Option<Timestamp>,
    /// The recorded summary of the session.
    pub summary: Option<String>,
    /// The ids of records at which it ended for a time, if it has no name: a list of names may refer to them.
    pub ends: Vec<Box<str>>,
    /// The form in which the source is written.
    pub form: Form,
    /// Whether the agent would resume the session from this file.
    pub is_resumable: bool,
    /// Whether the agent's own list of sessions names this file as the one to load. Another file says so, so
    /// this is determined when sessions are assembled.
    #[serde(skip)]
    pub is_listed: bool,
    /// Whether the file is in a folder that the agent has abandoned for another one.
    pub is_abandoned: bool,
    /// Whether its messages were imported from elsewhere.
    pub is_import: bool,
    /// The ids of the messages that the agent itself would load, in its order.
    pub current: Vec<MessageId>,
    /// The messages in it.
    pub messages: Vec<MessageFacts>,
    /// Its place among files that share a history.
    pub lineage: Option<Box<Lineage>>,
    /// What the source states outright instead of leaving it to be derived.
    pub stated: Option<Box<RecordedSession>>,
}

/// Identifies the session that a part belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionRef {
    /// An id that is the same wherever the file is copied.
    Id(SessionId),
    /// An id that is unique only within its project.
    InProject {
        /// The part of the id before the project.
        scope: String,
        /// The part of the id behind the project.
        name: String,
    },
    /// The only session in the same folder whose id starts with `beginning`, or `otherwise` if
    /// there is not exactly one.
    StartingWith {
        /// The first characters of the id.
        beginning: String,
        /// The id if no session matches.
        otherwise: String,
    },
}

impl Default for SessionRef {
    fn default() -> Self {
        Self::Id(SessionId::default())
    }
}

/// The form in which a source is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Lines are only appended.
    #[default]
    Log,
    /// It is rewritten as a whole each time, so it may have lost calls.
    Document,
    /// The model's own list of contents: without ids, times or tokens.
    History,
}

/// Facts about a session that a document of backstory records explicitly.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedSession {
    /// The agent of the session.
    pub agent: AgentId,
    /// Its project.
    pub project: Arc<Project>,
    /// Its state.
    pub state: State,
    /// The number of current messages, including copies, which the document does not contain.
    pub messages_current: usize,
    /// The task of an agent, which is not a prompt but serves as the title of its session.
    pub task: Option<String>,
}
