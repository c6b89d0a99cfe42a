//! One thing said.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tool::ToolCall;
use super::usage::Usage;

/// A message of the full view, with all its content.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: String,
    pub at: Option<Timestamp>,
    pub role: Role,
    pub kind: MessageKind,
    pub fate: Fate,
    /// Whether the agent itself would load it.
    pub current: bool,
    /// Which of the session's files it comes from, counted from 0.
    pub part: usize,
    /// All its text, thoughts left out.
    pub text: String,
    /// What a person typed, where the text holds more than that.
    pub typed: Option<String>,
    pub references: Vec<Reference>,
    pub attachments: Vec<Attachment>,
    pub thoughts: Vec<Thought>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub tool_calls: Vec<ToolCall>,
}

impl Message {
    /// What a person would call the content of this message.
    pub fn words(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    Assistant,
    Tool,
    System,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MessageKind {
    /// A person typed it.
    Prompt,
    Reply,
    /// What tools gave back to the model.
    ToolResult,
    /// Context or a task that a program put in.
    Injected,
    /// The summary that took the place of older messages, and the model's word of thanks.
    CompressSummary,
    /// The mark that a compression took place.
    Compress,
    /// A `!` command and its output.
    Shell,
    /// A `/` or `?` command.
    Slash,
    Info,
    Warning,
    Error,
}

impl MessageKind {
    pub const ALL: [Self; 11] = [
        Self::Prompt,
        Self::Reply,
        Self::ToolResult,
        Self::Injected,
        Self::CompressSummary,
        Self::Compress,
        Self::Shell,
        Self::Slash,
        Self::Info,
        Self::Warning,
        Self::Error,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Reply => "reply",
            Self::ToolResult => "tool_result",
            Self::Injected => "injected",
            Self::CompressSummary => "compress_summary",
            Self::Compress => "compress",
            Self::Shell => "shell",
            Self::Slash => "slash",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// A turn is what a person or the model said.
    pub fn is_turn(self) -> bool {
        matches!(self, Self::Prompt | Self::Slash | Self::Shell | Self::Reply)
    }

    /// Whether a person typed it.
    pub fn is_typed(self) -> bool {
        matches!(self, Self::Prompt | Self::Slash | Self::Shell)
    }

    pub fn is_notice(self) -> bool {
        matches!(self, Self::Info | Self::Warning | Self::Error | Self::Compress)
    }

    pub fn role(self) -> Role {
        match self {
            Self::Prompt | Self::Shell | Self::Slash => Role::User,
            Self::Reply => Role::Assistant,
            Self::ToolResult => Role::Tool,
            _ => Role::System,
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fate {
    Kept,
    /// The user went back to before it.
    Rewound,
    /// A summary took its place.
    Compressed,
    /// A prompt that failed or was cancelled, and what followed it.
    Failed,
}

impl Fate {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Rewound => "rewound",
            Self::Compressed => "compressed",
            Self::Failed => "failed",
        }
    }
}

/// A file whose content was put into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub path: String,
    pub bytes: u64,
}

/// A part that is no text.
#[derive(Debug, Clone)]
pub struct Attachment {
    pub mime: String,
    pub bytes: u64,
    pub name: Option<String>,
    /// The agent's own JSON of it, base64 and all.
    pub raw: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    pub subject: String,
    pub description: String,
    pub at: Option<Timestamp>,
}
