//! Defines the facts that are counted: billed model requests and tool uses.
//!
//! The same fact can be read from several places: a message written twice, a copied file, an
//! imported session, another machine. `merge.rs` merges these readings.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::service::Service;
use super::tool::ToolStatus;
use super::usage::Usage;
use crate::id::MessageId;

/// One billed model request of a session; its model and prompt are places in the session's lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call<Id = MessageId> {
    /// The id of its message.
    pub message: Id,
    /// The place of the prompt that led to it.
    pub prompt: Option<u32>,
    /// The time of the request.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// Whether the time is that of its session or file.
    pub undated: bool,
    /// The place of its model.
    pub model: Option<u32>,
    /// The billed tokens.
    pub usage: Usage,
    /// The conditions under which it was served.
    pub service: Service,
    /// Whether its tokens are a lower bound: its final counts never reached the file, or only rewritten documents
    /// contain it.
    pub at_least: bool,
    /// Whether the agent would still load it.
    pub current: bool,
    /// Whether it is an additional line item of the preceding call.
    pub is_extra: bool,
}

/// One tool use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The id of its message.
    pub message: MessageId,
    /// The recorded name of the tool.
    pub name: String,
    /// The MCP server of the tool.
    pub server: Option<String>,
    /// Its outcome.
    pub status: ToolStatus,
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The lines added by an edit.
    pub lines_added: u64,
    /// The lines removed by an edit.
    pub lines_removed: u64,
}
