//! One conversation, however many files it is spread over.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use super::usage::Usage;
use crate::agent::AgentKind;
use crate::project::Project;

/// A session without the text of its messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub agent: AgentKind,
    pub kind: SessionKind,
    /// The session that started this one.
    pub parent: Option<String>,
    pub project: Arc<Project>,
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The agent's own one-line summary.
    pub summary: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    /// Messages of kind prompt and slash, each once.
    pub prompts: usize,
    /// Prompts, slash commands, shell escapes and replies.
    pub turns: usize,
    pub messages_current: usize,
    pub messages_full: usize,
    pub calls: usize,
    pub tool_calls: usize,
    /// Sorted by name.
    pub models: Vec<String>,
    pub usage: Usage,
    pub subagents: usize,
    pub parts: Vec<Part>,
    pub state: State,
    pub faults: usize,
    /// What the user calls it.
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// Whether the archive holds all its bytes.
    pub captured: bool,
    /// Where it was read.
    pub machine: String,
}

impl Session {
    /// A session of which nothing else is known yet.
    pub fn new(id: String, agent: AgentKind, project: Arc<Project>) -> Self {
        Self {
            id,
            agent,
            kind: SessionKind::Main,
            parent: None,
            project,
            started: None,
            updated: None,
            summary: None,
            first_prompt: None,
            last_prompt: None,
            prompts: 0,
            turns: 0,
            messages_current: 0,
            messages_full: 0,
            calls: 0,
            tool_calls: 0,
            models: Vec::new(),
            usage: Usage::default(),
            subagents: 0,
            parts: Vec::new(),
            state: State::Live,
            faults: 0,
            name: None,
            tags: Vec::new(),
            captured: false,
            machine: String::new(),
        }
    }

    /// What to call it, and how that was chosen.
    pub fn title(&self) -> (String, TitleFrom) {
        if let Some(name) = &self.name {
            return (name.clone(), TitleFrom::Name);
        }
        if let Some(summary) = self.summary.as_deref().filter(|text| !text.trim().is_empty()) {
            return (one_line(summary), TitleFrom::Summary);
        }
        if let Some(prompt) = self.first_prompt.as_deref().filter(|text| !text.trim().is_empty()) {
            return (one_line(prompt), TitleFrom::Prompt);
        }
        (self.id.clone(), TitleFrom::Id)
    }

    /// Whether it belongs into a list that nobody narrowed: a conversation in which something was
    /// said.
    pub fn is_listed(&self) -> bool {
        self.kind == SessionKind::Main && self.turns > 0 && self.state != State::LogOnly
    }
}

/// Text in one line, white space collapsed.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SessionKind {
    Main,
    Subagent,
    /// A job that ran by itself.
    Background,
    /// A saved chat, a restore point or a shared history: it repeats what a session did.
    Checkpoint,
}

impl SessionKind {
    pub const ALL: [Self; 4] = [Self::Main, Self::Subagent, Self::Background, Self::Checkpoint];

    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::Checkpoint => "checkpoint",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleFrom {
    Name,
    Summary,
    Prompt,
    Id,
}

impl TitleFrom {
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Summary => "summary",
            Self::Prompt => "prompt",
            Self::Id => "id",
        }
    }
}

/// One file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    #[serde(with = "crate::path_text")]
    pub file: PathBuf,
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    pub why: PartWhy,
}

/// Why a file is part of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartWhy {
    First,
    /// It goes on after a compression that began a new file.
    Compress,
    /// It goes on after a resume.
    Resume,
    Continuation,
    /// It repeats messages of another part.
    Copy,
    /// Nothing but injected context: what a resume leaves behind.
    Stub,
    /// It holds messages that were imported from another session.
    Import,
}

impl PartWhy {
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Compress => "compress",
            Self::Resume => "resume",
            Self::Continuation => "continuation",
            Self::Copy => "copy",
            Self::Stub => "stub",
            Self::Import => "import",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Live,
    /// Its files are gone; the archive has it.
    Gone,
    /// Known only from the log of prompts: its own files are gone.
    LogOnly,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::LogOnly => "log-only",
        }
    }
}
