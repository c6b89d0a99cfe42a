//! Builds the messages of a thread in both views, with their model calls.

mod copies;
mod counts;
mod draft;
mod events;
mod finish;
mod history;
mod ids;
mod items;
mod lost;
mod origin;
mod resume;
mod steps;
mod thread;
mod tool_calls;

pub(crate) use copies::mark_copies;
pub(crate) use lost::refine;
pub(crate) use steps::call_id;
pub(crate) use thread::Thread;
