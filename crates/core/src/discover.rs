//! From places to the files that matter there.
//!
//! Only names and metadata are looked at; what a file really holds is decided when it is read.
//! Nothing is fatal: what cannot be opened is listed, what is passed over has a reason.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::agent::AgentKind;

/// One file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub agent: AgentKind,
    pub path: PathBuf,
    pub kind: SourceKind,
    /// The agent's folder for one project, when the file stands in one.
    pub folder: Option<Arc<Path>>,
    pub size: u64,
    pub modified: Option<SystemTime>,
    /// When its metadata changed last, in nanoseconds since 1970, where the system records it.
    pub changed: Option<i64>,
    /// Which file it is, whatever its name, where the system can tell.
    pub inode: Option<u64>,
    /// What the archive knows of it; none for a file that was only found.
    pub archived: Option<Archived>,
}

/// A source's place in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    pub number: i64,
    /// Where it was read.
    pub machine: Arc<str>,
    pub state: SourceState,
}

/// What became of a file since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceState {
    Live,
    /// The agent, or somebody, deleted it.
    Gone,
    /// The agent wrote it anew, without something it held.
    Replaced,
}

impl SourceState {
    pub const ALL: [Self; 3] = [Self::Live, Self::Gone, Self::Replaced];

    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
        }
    }
}

impl Source {
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether the agent has written another file in its place.
    pub fn is_replaced(&self) -> bool {
        self.archived.as_ref().is_some_and(|archived| archived.state == SourceState::Replaced)
    }

    /// By which sources are put in one order, wherever and whenever they are read.
    pub(crate) fn order(&self) -> impl Ord {
        (self.path.clone(), self.modified, self.size)
    }

    /// The file name without its ending.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What a file should be by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceKind {
    /// A conversation, or a file given by name, which its content must explain.
    Chat,
    /// A conversation of an agent that another one started.
    Subagent,
    /// A job that ran by itself, such as skill extraction.
    Background,
    /// A history saved by hand (`/chat save`).
    ChatSave,
    /// A snapshot taken before a tool changed a file.
    RestorePoint,
    /// What was typed, across sessions.
    PromptLog,
    /// Shell commands that were typed.
    ShellHistory,
    /// The full text of a long tool output.
    ToolOutput,
    Plan,
    /// A task of the task tracker.
    Task,
}

impl SourceKind {
    pub const ALL: [Self; 10] = [
        Self::Chat,
        Self::Subagent,
        Self::Background,
        Self::ChatSave,
        Self::RestorePoint,
        Self::PromptLog,
        Self::ShellHistory,
        Self::ToolOutput,
        Self::Plan,
        Self::Task,
    ];

    /// Whether the file holds a conversation of its own.
    pub fn is_session(self) -> bool {
        matches!(self, Self::Chat | Self::Subagent | Self::Background)
    }

    /// Whether what it says is read, and not only kept.
    pub fn is_read(self) -> bool {
        self.is_session() || matches!(self, Self::ChatSave | Self::RestorePoint | Self::PromptLog)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "session",
            Self::Subagent => "subagent",
            Self::Background => "background job",
            Self::ChatSave => "saved chat",
            Self::RestorePoint => "restore point",
            Self::PromptLog => "prompt log",
            Self::ShellHistory => "shell history",
            Self::ToolOutput => "tool output",
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }
}

/// A file or folder passed over on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    pub why: &'static str,
}

/// A place that could not be looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub what: String,
}

/// A place that was looked at, and why there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    pub path: PathBuf,
    pub why: String,
    pub exists: bool,
}

/// All that was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub looked: Vec<Looked>,
    /// The agent's own folders, such as `~/.gemini`.
    pub roots: Vec<PathBuf>,
    pub sources: Vec<Source>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

impl Found {
    /// Sorted by path and each file once, so that no order of looking changes any result.
    pub fn settle(&mut self) {
        self.sources.sort_by(|a, b| a.path.cmp(&b.path));
        self.sources.dedup_by(|a, b| a.path == b.path);
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.skipped.dedup();
        self.problems.sort_by(|a, b| a.path.cmp(&b.path));
        self.problems.dedup();
    }
}
