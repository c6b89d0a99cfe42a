//! Builds the messages of a thread in both views, with their model calls.

mod counts;
mod draft;
mod events;
mod history;
mod items;
mod steps;
mod thread;

pub(crate) use thread::Thread;
