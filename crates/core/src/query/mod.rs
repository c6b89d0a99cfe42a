//! Answers questions with plain data, one question per file.

// Modules that are hidden serve the program.
pub mod blocks;
#[doc(hidden)]
pub mod calls;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod failures;
#[doc(hidden)]
pub mod files;
pub mod filter;
#[doc(hidden)]
pub mod hits;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod log;
pub mod overview;
#[doc(hidden)]
pub mod projects;
#[doc(hidden)]
pub mod prompts;
mod reports;
pub mod spending;
mod tally;
pub mod tools;
pub mod usage;
pub mod verify;

pub use blocks::{Block, Pace};
pub use filter::Filter;
pub use reports::Reports;
