//! The text of messages: what was typed, said and done.

mod messages;
pub(super) mod prompt;
pub(super) mod tool_call;

pub(super) use messages::{complete, fill, follow_outputs};
