//! Facts for counting: a billed model request, a tool use.
//!
//! The same fact can be read from several places: a message written twice, a copied file, an
//! imported session, another machine. `merge.rs` joins what the places say.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::tool::ToolStatus;
use super::usage::Usage;

/// One billed model request of a session; its model and prompt are places in the session's lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub message: String,
    /// The prompt that led to it.
    pub prompt: Option<u32>,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The time is not the call's own, but its session's or file's.
    pub undated: bool,
    pub model: Option<u32>,
    pub usage: Usage,
    /// It was read only from whole documents, which can have lost other calls.
    pub at_least: bool,
    /// Whether the agent would still load it.
    pub current: bool,
    /// It is a further position on the bill of the call before it.
    pub is_extra: bool,
}

/// One tool use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub message: String,
    pub name: String,
    pub server: Option<String>,
    pub status: ToolStatus,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    pub lines_added: u64,
    pub lines_removed: u64,
}
