//! Reads the text of messages: prompts, replies and tool calls.

mod messages;
pub(super) mod prompt;
pub(super) mod tool_call;

pub(super) use messages::{complete, fill, follow_outputs};
