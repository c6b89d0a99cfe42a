//! Defines a tool call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::{SessionId, ToolCallId};

/// A tool call with its outcome.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Identifies it within its session; empty if the record has no id.
    pub id: ToolCallId,
    /// The tool.
    pub name: ToolName,
    /// The name that the agent displayed.
    pub display_name: Option<String>,
    /// The agent's description of the call.
    pub description: Option<String>,
    /// The arguments as the agent wrote them, usually an object.
    pub args: Option<Box<RawValue>>,
    /// Its outcome.
    pub status: ToolStatus,
    /// Whether the agent recorded the call. Otherwise only the model's history requests it, and it
    /// is not counted.
    pub recorded: bool,
    /// The time of the call.
    pub at: Option<Timestamp>,
    /// The output.
    pub output: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// The result as the agent displayed it, in its own form.
    pub result_display: Option<Box<RawValue>>,
    /// Whether the output is Markdown.
    pub markdown: bool,
    /// The exit code of the command it ran.
    pub exit_code: Option<i32>,
    /// The lines added by an edit.
    pub lines_added: Option<u64>,
    /// The lines removed by an edit.
    pub lines_removed: Option<u64>,
    /// The session of the agent that this call started.
    pub agent_session: Option<SessionId>,
    /// Whether its command is a PowerShell command.
    pub is_powershell: bool,
}

impl ToolCall {
    /// Returns a call with only its name.
    pub fn new(id: ToolCallId, name: ToolName) -> Self {
        Self {
            id,
            name,
            display_name: None,
            description: None,
            args: None,
            status: ToolStatus::Unfinished,
            recorded: false,
            at: None,
            output: None,
            error: None,
            result_display: None,
            markdown: false,
            exit_code: None,
            lines_added: None,
            lines_removed: None,
            agent_session: None,
            is_powershell: false,
        }
    }

    /// Returns whether it ended in an error, or ran a command that did.
    pub fn has_failed(&self) -> bool {
        self.status.with_exit_code(self.exit_code) == ToolStatus::Error
    }
}

/// A tool's recorded name, and its common names across agents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolName {
    /// The recorded name.
    pub name: String,
    /// The name shown to people.
    pub label: String,
    /// The common name across agents.
    pub canonical: &'static str,
    /// The category.
    pub category: &'static str,
    /// The MCP server it belongs to.
    pub server: Option<String>,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolStatus {
    /// It succeeded.
    Success,
    /// It failed.
    Error,
    /// The user cancelled it.
    Cancelled,
    /// The record ends before the tool did.
    Unfinished,
}

impl ToolStatus {
    /// Returns the outcome given an exit code: a command with a code other than 0 has failed,
    /// although the tool that ran it has not.
    #[must_use]
    pub fn with_exit_code(self, code: Option<i32>) -> Self {
        match self {
            Self::Success if code.is_some_and(|code| code != 0) => Self::Error,
            status => status,
        }
    }

    /// Returns the name for documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Unfinished => "unfinished",
        }
    }
}
