//! Reads the sessions that coding agents leave on disk.

pub mod agent;
pub mod archive;
pub mod argument;
pub mod clean;
pub mod collection;
pub mod discover;
pub mod env;
pub mod export;
pub mod fault;
pub mod file;
pub(crate) mod metadata;
pub mod model;
pub mod money;
pub mod number;
pub mod path_text;
pub mod pricing;
pub mod project;
pub mod query;
pub mod read;
pub mod redact;
pub mod search;
pub mod shell;
pub mod time;
pub mod transcript;
