//! Reads the files of Codex CLI: file names, lines, headers and token counts.

mod injected;
mod limits;
mod list;
mod meta;
mod name;
mod object;
mod prompts;
mod quick;
mod record;
mod scan;
mod titles;
mod tokens;

pub(crate) use injected::{TextOrigin, classify, is_from_agent, typed};
pub(crate) use limits::limits;
pub(crate) use list::{line as list_line, read as read_list};
pub(crate) use meta::{Meta, is_elsewhere};
pub(crate) use name::{RolloutName, is_rollout};
pub(crate) use object::{Object, parts};
pub(crate) use quick::is_output;
pub(crate) use record::{Kind, Record};
pub(crate) use scan::{continue_scan, is_prompt_log, is_session, scan};
pub(crate) use titles::read as read_titles;
pub(crate) use tokens::{Count, Tokens};
