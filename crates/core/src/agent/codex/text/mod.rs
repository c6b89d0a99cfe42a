//! The second pass: adds the content of records to messages, and the outcomes of tool calls.

mod activity;
mod fill;
mod outcome;
mod patch;
mod request;

pub(crate) use activity::Activity;
pub(crate) use fill::fill;
pub(crate) use outcome::{Outcome, started_agent};
pub(crate) use request::requested;
