//! Reads the files of Codex CLI: file names, lines, headers and token counts.

mod injected;
mod limits;
mod meta;
mod name;
mod object;
mod prompts;
mod quick;
mod record;
mod scan;
mod titles;
mod tokens;

pub(crate) use injected::{TextOrigin, classify, typed};
pub(crate) use limits::limits;
pub(crate) use meta::{Meta, is_elsewhere};
pub(crate) use name::RolloutName;
pub(crate) use object::{Object, parts};
pub(crate) use quick::is_output;
pub(crate) use record::{Kind, Record};
pub(crate) use scan::{is_prompt_log, is_session, resume, scan};
pub(crate) use tokens::{Count, Tokens};
