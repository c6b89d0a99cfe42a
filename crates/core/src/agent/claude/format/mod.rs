//! Reads the files of Claude Code: transcripts and prompt logs.

pub(super) mod content;
pub(super) mod line;
mod note;
pub(super) mod prompt_log;
pub(super) mod recognize;
mod scan;
mod transcript;
pub(super) mod usage;

pub(super) use scan::{resume, scan};
