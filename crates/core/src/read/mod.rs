//! Bytes to the bytes of records. Nothing here knows any agent's format.

pub mod document;
pub mod json;
pub mod lines;
