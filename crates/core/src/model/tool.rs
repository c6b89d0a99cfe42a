//! One tool use.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: String,
    pub name: ToolName,
    pub display_name: Option<String>,
    pub description: Option<String>,
    /// As the agent wrote them: usually an object.
    pub args: Option<Box<RawValue>>,
    pub status: ToolStatus,
    /// Whether the agent kept a record of the call; else only the model's history requests it, and it
    /// is not counted.
    pub recorded: bool,
    pub at: Option<Timestamp>,
    pub output: Option<String>,
    pub error: Option<String>,
    /// What the agent showed its user, in its own form.
    pub result_display: Option<Box<RawValue>>,
    /// Whether the output is meant as Markdown.
    pub markdown: bool,
    pub exit_code: Option<i32>,
    pub lines_added: Option<u64>,
    pub lines_removed: Option<u64>,
    /// The session of the agent that this call started.
    pub agent_session: Option<String>,
    /// Whether a command in it is one of PowerShell.
    pub is_powershell: bool,
}

impl ToolCall {
    /// Returns a call of which nothing but its name is known.
    pub fn new(id: String, name: ToolName) -> Self {
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

/// A tool's name, and what it is called in a world of many agents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolName {
    /// As recorded.
    pub name: String,
    pub label: String,
    pub canonical: &'static str,
    pub category: &'static str,
    /// The MCP server it belongs to.
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolStatus {
    Success,
    Error,
    Cancelled,
    /// The record ends before the tool did.
    Unfinished,
}

impl ToolStatus {
    /// Returns how a call ended: a command that exits with another code than 0 has failed, although
    /// the tool that ran it has not.
    #[must_use]
    pub fn with_exit_code(self, code: Option<i32>) -> Self {
        match self {
            Self::Success if code.is_some_and(|code| code != 0) => Self::Error,
            status => status,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Unfinished => "unfinished",
        }
    }
}
