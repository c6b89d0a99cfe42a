//! Turns the lines of a transcript into sessions, with the messages that each would load and the full
//! history.

mod copies;
mod full;
pub(super) mod joined;
pub(super) mod replies;
mod row;
mod speaker;
mod split;
mod tree;

pub(super) use copies::mark_copies;
pub(super) use full::{View, view};
pub(super) use row::{LineContent, Names, Row, ToolOutcome};
pub(super) use speaker::{OUTPUTS, prompt_text};
pub(super) use split::{Owner, Place, Share, split};
pub(super) use tree::Checkpoint;
