//! Defines the events of a session, regardless of the agent and its format.

use serde::Serialize;
use serde_json::value::RawValue;

use super::usage::UsageRow;
use crate::time::Time;

/// One event.
#[derive(Debug, Clone, Serialize)]
pub struct Event<'a> {
    /// Never earlier than that of the previous event; none only if nothing records any time.
    pub at: Option<Time>,
    /// The stem of the file it was read from.
    #[serde(skip)]
    pub source: Option<&'a str>,
    /// The type and its fields.
    #[serde(flatten)]
    pub what: Happening<'a>,
}

/// The type of an event, with the fields of each type.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Happening<'a> {
    /// The session begins.
    SessionStart {
        started: Option<Time>,
        title: String,
    },
    UserPrompt {
        message: &'a str,
        text: &'a str,
    },
    Thought {
        message: &'a str,
        subject: &'a str,
        text: &'a str,
    },
    AssistantMessage {
        message: &'a str,
        text: &'a str,
        model: Option<&'a str>,
    },
    /// One billed request.
    ModelCall {
        message: &'a str,
        model: Option<&'a str>,
        usage: UsageRow,
        cost_usd: Option<String>,
    },
    ToolUse {
        id: String,
        name: &'a str,
        label: &'a str,
        canonical: &'static str,
        category: &'static str,
        server: Option<&'a str>,
        args: Option<&'a RawValue>,
    },
    ToolResult {
        id: String,
        name: &'a str,
        status: &'static str,
        output: Option<&'a str>,
        error: Option<&'a str>,
        exit_code: Option<i32>,
    },
    /// The user went back, which removed this many messages from the conversation.
    Rewind {
        messages: usize,
    },
    /// A summary replaced this many messages.
    Compress {
        messages: usize,
    },
    /// The agent reported an error.
    Error {
        text: &'a str,
    },
    /// The session ends.
    SessionEnd {
        updated: Option<Time>,
    },
}

impl Happening<'_> {
    /// Returns the type without its fields.
    pub fn kind(&self) -> EventType {
        match self {
            Self::SessionStart { .. } => EventType::SessionStart,
            Self::UserPrompt { .. } => EventType::UserPrompt,
            Self::Thought { .. } => EventType::Thought,
            Self::AssistantMessage { .. } => EventType::AssistantMessage,
            Self::ModelCall { .. } => EventType::ModelCall,
            Self::ToolUse { .. } => EventType::ToolUse,
            Self::ToolResult { .. } => EventType::ToolResult,
            Self::Rewind { .. } => EventType::Rewind,
            Self::Compress { .. } => EventType::Compress,
            Self::Error { .. } => EventType::Error,
            Self::SessionEnd { .. } => EventType::SessionEnd,
        }
    }
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    SessionStart,
    UserPrompt,
    Thought,
    AssistantMessage,
    ModelCall,
    ToolUse,
    ToolResult,
    Rewind,
    Compress,
    Error,
    SessionEnd,
}

impl EventType {
    /// All types.
    pub const ALL: [Self; 11] = [
        Self::SessionStart,
        Self::UserPrompt,
        Self::Thought,
        Self::AssistantMessage,
        Self::ModelCall,
        Self::ToolUse,
        Self::ToolResult,
        Self::Rewind,
        Self::Compress,
        Self::Error,
        Self::SessionEnd,
    ];

    /// The types that are selected by default.
    pub const USUAL: [Self; 5] =
        [Self::SessionStart, Self::UserPrompt, Self::ToolUse, Self::ToolResult, Self::SessionEnd];

    /// Returns the name for documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::UserPrompt => "user_prompt",
            Self::Thought => "thought",
            Self::AssistantMessage => "assistant_message",
            Self::ModelCall => "model_call",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
            Self::Rewind => "rewind",
            Self::Compress => "compress",
            Self::Error => "error",
            Self::SessionEnd => "session_end",
        }
    }

    /// Returns the type with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
