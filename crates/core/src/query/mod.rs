//! Answers questions with plain data, one question per file.

pub mod blocks;
pub mod calls;
pub mod commands;
pub mod failures;
pub mod files;
pub mod filter;
pub mod hits;
pub mod limits;
pub mod log;
pub mod overview;
pub mod projects;
pub mod prompts;
mod reading;
mod reports;
mod tally;
pub mod tools;
pub mod usage;
pub mod verify;

pub use blocks::{Block, Pace};
pub use filter::Filter;
pub use reports::Reports;
