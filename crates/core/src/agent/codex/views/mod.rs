//! Builds the messages of a thread in both views, with their model calls.

mod calls;
mod copies;
mod counts;
mod draft;
mod events;
mod history;
mod ids;
mod items;
mod resume;
mod steps;
mod thread;

pub(crate) use copies::mark_copies;
pub(crate) use thread::Thread;
