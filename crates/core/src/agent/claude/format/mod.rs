//! Reads the files of Claude Code: transcripts and prompt logs.

pub(super) mod config;
pub(super) mod content;
pub(super) mod line;
pub(super) mod prompt_log;
pub(super) mod recognize;
mod scan;
mod sidecar;
mod transcript;
pub(super) mod usage;

pub(super) use scan::{continue_scan, scan};
