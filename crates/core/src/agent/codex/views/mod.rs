//! The messages of a thread in both views, and the model calls behind them.

mod counts;
mod draft;
mod events;
mod history;
mod items;
mod steps;
mod thread;

pub(crate) use thread::Thread;
