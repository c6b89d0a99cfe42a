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
    pub body: EventBody<'a>,
}

/// The type of an event, with the fields of each type.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody<'a> {
    /// The session begins.
    SessionStart {
        /// The time of the start.
        started: Option<Time>,
        /// The title of the session.
        title: String,
    },
    /// A person typed a prompt.
    UserPrompt {
        /// The id of the message.
        message: &'a str,
        /// The typed text.
        text: &'a str,
    },
    /// The model had a thought.
    Thought {
        /// The id of the message.
        message: &'a str,
        /// The title of the thought.
        subject: &'a str,
        /// The text of the thought.
        text: &'a str,
    },
    /// The model replied.
    AssistantMessage {
        /// The id of the message.
        message: &'a str,
        /// The text of the reply.
        text: &'a str,
        /// The model that wrote it.
        model: Option<&'a str>,
    },
    /// One billed request.
    ModelCall {
        /// The id of the message.
        message: &'a str,
        /// The model that was called.
        model: Option<&'a str>,
        /// The billed tokens.
        usage: UsageRow,
        /// The cost, if the model has a price.
        cost_usd: Option<String>,
    },
    /// The model used a tool.
    ToolUse {
        /// Identifies the call; its result has the same id.
        id: String,
        /// The recorded name of the tool.
        name: &'a str,
        /// The name shown to people.
        label: &'a str,
        /// The common name across agents.
        canonical: &'static str,
        /// The category of the tool.
        category: &'static str,
        /// The MCP server of the tool.
        server: Option<&'a str>,
        /// The arguments.
        args: Option<&'a RawValue>,
    },
    /// A tool finished.
    ToolResult {
        /// Identifies the call.
        id: String,
        /// The recorded name of the tool.
        name: &'a str,
        /// The outcome.
        status: &'static str,
        /// The output.
        output: Option<&'a str>,
        /// The error.
        error: Option<&'a str>,
        /// The exit code of the command it ran.
        exit_code: Option<i32>,
    },
    /// The user went back, which removed this many messages from the conversation.
    Rewind {
        /// The number of messages.
        messages: usize,
    },
    /// A summary replaced this many messages.
    Compress {
        /// The number of messages.
        messages: usize,
    },
    /// The agent reported an error.
    Error {
        /// The text of the error.
        text: &'a str,
    },
    /// The session ends.
    SessionEnd {
        /// The time of the last update.
        updated: Option<Time>,
    },
}

impl EventBody<'_> {
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
    /// See [`EventBody::SessionStart`].
    SessionStart,
    /// See [`EventBody::UserPrompt`].
    UserPrompt,
    /// See [`EventBody::Thought`].
    Thought,
    /// See [`EventBody::AssistantMessage`].
    AssistantMessage,
    /// See [`EventBody::ModelCall`].
    ModelCall,
    /// See [`EventBody::ToolUse`].
    ToolUse,
    /// See [`EventBody::ToolResult`].
    ToolResult,
    /// See [`EventBody::Rewind`].
    Rewind,
    /// See [`EventBody::Compress`].
    Compress,
    /// See [`EventBody::Error`].
    Error,
    /// See [`EventBody::SessionEnd`].
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
