//! What happened in a session, one thing at a time, whatever agent it was and however it wrote.

use serde::Serialize;
use serde_json::value::RawValue;

use super::usage::UsageRow;
use crate::time::Time;

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Event<'a> {
    /// Never earlier than that of the event before; none only where nothing tells any time.
    pub at: Option<Time>,
    /// The stem of the file it was read from.
    #[serde(skip)]
    pub source: Option<&'a str>,
    #[serde(flatten)]
    pub what: Happening<'a>,
}

/// What it was, with the fields that each type has.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Happening<'a> {
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
    /// The user went back; so many messages were taken out of the conversation.
    Rewind {
        messages: usize,
    },
    /// A summary took the place of so many messages.
    Compress {
        messages: usize,
    },
    /// The agent told of an error.
    Error {
        text: &'a str,
    },
    SessionEnd {
        updated: Option<Time>,
    },
}

impl Happening<'_> {
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

    /// Those that are given when nobody asks for others.
    pub const USUAL: [Self; 5] =
        [Self::SessionStart, Self::UserPrompt, Self::ToolUse, Self::ToolResult, Self::SessionEnd];

    /// As documents have it.
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

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
