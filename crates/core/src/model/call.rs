//! Facts for counting: a billed model request, a tool use.
//!
//! The same fact can be read from several places: a message written twice, a copied file, an
//! imported session, another machine. Each fact has a key, and `merge.rs` joins what the
//! places say.

use std::sync::Arc;

use jiff::Timestamp;

use super::tool::ToolStatus;
use super::usage::Usage;

/// One billed model request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub key: Arc<str>,
    /// The session it was made in, and when that started: the one that started first owns it.
    pub session: Arc<Owner>,
    pub message: Arc<str>,
    /// The prompt that led to it.
    pub prompt: Option<Arc<str>>,
    pub at: Option<Timestamp>,
    /// The time is not the call's own, but its session's or file's.
    pub undated: bool,
    pub model: Option<Arc<str>>,
    pub usage: Usage,
    /// It was read only from whole documents, which can have lost other calls.
    pub at_least: bool,
    /// Whether the agent would still load it.
    pub current: bool,
}

/// A session that holds a fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// None sorts last.
    pub started: (bool, Option<Timestamp>),
    pub id: String,
}

impl Owner {
    pub fn new(id: &str, started: Option<Timestamp>) -> Self {
        Self { started: (started.is_none(), started), id: id.to_owned() }
    }
}

impl Call {
    /// The message id when it is unique by itself; else with the session; else by what is known.
    pub fn key(
        session: &str,
        message: Option<&Arc<str>>,
        is_unique: bool,
        at: Option<Timestamp>,
        model: Option<&str>,
        usage: &Usage,
    ) -> Arc<str> {
        match message {
            Some(message) if is_unique => message.clone(),
            Some(message) => format!("{session}\n{message}").into(),
            None => format!(
                "{session}\n{}\n{}\n{}\n{}\n{}\n{}",
                at.map(|at| at.to_string()).unwrap_or_default(),
                model.unwrap_or_default(),
                usage.input,
                usage.output,
                usage.cached,
                usage.thoughts
            )
            .into(),
        }
    }
}

/// One tool use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    pub key: String,
    pub session: Arc<Owner>,
    pub message: String,
    pub name: String,
    pub server: Option<String>,
    pub status: ToolStatus,
    pub at: Option<Timestamp>,
    pub lines_added: u64,
    pub lines_removed: u64,
}
