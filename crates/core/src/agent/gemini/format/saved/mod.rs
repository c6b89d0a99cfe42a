//! Files beside session files: saved histories, captured program output, and the prompt log.

pub(crate) mod checkpoint;
pub(crate) mod program_output;
mod prompt_log;

pub use prompt_log::read_prompt_log;
