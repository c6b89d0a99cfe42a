//! Defines a message and its parts.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::service::Service;
use super::tool::ToolCall;
use super::usage::Usage;
use crate::id::MessageId;

/// A message of the full view, with all its content.
#[derive(Debug, Clone)]
pub struct Message {
    /// Identifies it within its session.
    pub id: MessageId,
    /// The time it was sent.
    pub at: Option<Timestamp>,
    /// Its role.
    pub role: Role,
    /// Its kind.
    pub kind: MessageKind,
    /// Its fate.
    pub fate: Fate,
    /// Whether the agent itself would load it.
    pub current: bool,
    /// The place of its file among those of the session, counted from 0.
    pub part: usize,
    /// All its text, without thoughts.
    pub text: String,
    /// The typed text, if the text contains more than that.
    pub typed: Option<String>,
    /// The files whose content is part of the text.
    pub references: Vec<Reference>,
    /// The parts that are not text.
    pub attachments: Vec<Attachment>,
    /// The model's thoughts.
    pub thoughts: Vec<Thought>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The tokens of its call.
    pub usage: Option<Usage>,
    /// The conditions under which the call was served.
    pub service: Service,
    /// Whether another session made the call and counts it and its tools.
    pub is_imported: bool,
    /// The tools it used.
    pub tool_calls: Vec<ToolCall>,
}

impl Message {
    /// Returns the text to show for this message: the typed text if there is any.
    pub fn words(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.text)
    }
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// The program.
    System,
}

impl Role {
    /// Returns the name for documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MessageKind {
    /// A prompt that a person typed.
    Prompt,
    /// A reply of the model.
    Reply,
    /// Results of tools for the model.
    ToolResult,
    /// Context or a task that a program added.
    Injected,
    /// The summary that replaced older messages, and the model's acknowledgement of it.
    CompressSummary,
    /// The mark of a compression.
    Compress,
    /// A `!` command and its output.
    Shell,
    /// A `/` or `?` command.
    Slash,
    /// A notice.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

impl MessageKind {
    /// All kinds.
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

    /// Returns the name for documents.
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

    /// Returns whether it is a turn: a message of a person or the model.
    pub fn is_turn(self) -> bool {
        matches!(self, Self::Prompt | Self::Slash | Self::Shell | Self::Reply)
    }

    /// Returns whether a person typed it.
    pub fn is_typed(self) -> bool {
        matches!(self, Self::Prompt | Self::Slash | Self::Shell)
    }

    /// Returns whether it is a notice of the program.
    pub fn is_notice(self) -> bool {
        matches!(self, Self::Info | Self::Warning | Self::Error | Self::Compress)
    }

    /// Returns the role of such messages.
    pub fn role(self) -> Role {
        match self {
            Self::Prompt | Self::Shell | Self::Slash => Role::User,
            Self::Reply => Role::Assistant,
            Self::ToolResult => Role::Tool,
            _ => Role::System,
        }
    }
}

/// The fate of a message in the agent's own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fate {
    /// It is still in the list.
    Kept,
    /// The user went back to before it.
    Rewound,
    /// A summary replaced it.
    Compressed,
    /// It is a prompt that failed or was cancelled, or followed one.
    Failed,
    /// The user stopped it half-way.
    Interrupted,
    /// Another answer to the same request took its place.
    Superseded,
}

impl Fate {
    /// All fates.
    pub const ALL: [Self; 6] = [
        Self::Kept,
        Self::Rewound,
        Self::Compressed,
        Self::Failed,
        Self::Interrupted,
        Self::Superseded,
    ];

    /// Returns its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Rewound => "rewound",
            Self::Compressed => "compressed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Superseded => "superseded",
        }
    }
}

/// A file whose content was added to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The path as written in the prompt.
    pub path: String,
    /// The size of the content.
    pub bytes: u64,
}

/// A part that is not text.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The media type.
    pub mime: String,
    /// The size of the content.
    pub bytes: u64,
    /// The name of the file.
    pub name: Option<String>,
    /// The agent's own JSON of it, including the base64 content.
    pub raw: Option<Box<RawValue>>,
}

impl Attachment {
    /// Creates an attachment from recorded facts.
    pub(crate) fn new(
        mime: Option<Cow<'_, str>>,
        bytes: u64,
        name: Option<Cow<'_, str>>,
        raw: Box<RawValue>,
    ) -> Self {
        let mime = mime.map_or_else(|| "unknown".to_owned(), Cow::into_owned);
        Self { mime, bytes, name: name.map(Cow::into_owned), raw: Some(raw) }
    }

    /// Returns the size of the content that base64 text encodes: four characters are three bytes.
    pub(crate) fn decoded_size(base64: impl AsRef<[u8]>) -> u64 {
        let text = base64.as_ref();
        let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
        ((text.len() - padding) * 3 / 4) as u64
    }
}

/// A thought of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// Its title.
    pub subject: String,
    /// Its text.
    pub description: String,
    /// The time of the thought.
    pub at: Option<Timestamp>,
}
