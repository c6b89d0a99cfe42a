//! The second pass: what records say, and how tools went.

mod activity;
mod fill;
mod outcome;
mod patch;
mod request;

pub(crate) use activity::Activity;
pub(crate) use fill::fill;
pub(crate) use outcome::{Outcome, started_agent};
pub(crate) use request::requested;
