//! Reads the sessions of Claude Code, and determines the messages that its own resume would load.

mod desktop;
mod format;
mod lifecycle;
mod paths;
mod text;
mod views;

use std::io;
use std::path::Path;

use super::{Agent, Detail, Lifecycle, Scan};
use crate::assemble::{Part, SessionFacts};
use crate::discover::{Discovery, Source};
use crate::env::Env;
use crate::facts::{CallKey, MessageFacts, SourceFacts};
use crate::model::{AgentId, Message, MessageId, MessageKind, SessionId};
use crate::read::bytes::Bytes;

/// The version of this reader. Increases when stored facts must be read again.
const REVISION: u32 = 5;

/// The reader of Claude Code's sessions.
#[derive(Debug, Clone, Copy)]
pub struct Claude;

impl Agent for Claude {
    fn id(&self) -> AgentId {
        AgentId::new("claude")
    }

    fn name(&self) -> &'static str {
        "Claude Code"
    }

    fn revision(&self) -> u32 {
        REVISION
    }

    fn discover(&self, env: &Env) -> Discovery {
        paths::discover(env)
    }

    fn discover_at(&self, path: &Path) -> Discovery {
        paths::discover_at(path)
    }

    fn recognizes(&self, folder: &Path) -> bool {
        paths::recognizes(folder)
    }

    fn unrecorded_calls(&self) -> &'static str {
        "titles, compactions, web searches and suggestions"
    }

    fn scan(&self, source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan> {
        format::scan(source, bytes, detail)
    }

    fn continue_scan(
        &self,
        source: &Source,
        bytes: &dyn Bytes,
        _earlier: SourceFacts,
        state: &[u8],
    ) -> Option<Scan> {
        format::continue_scan(source, bytes, state)
    }

    fn extract(&self, source: &Source, earlier: &[u8]) -> io::Result<Vec<u8>> {
        format::config::extract(&source.path, earlier)
    }

    fn fill(&self, message: &mut Message, facts: &MessageFacts, record: &str) {
        text::fill(message, facts, record);
    }

    fn follow_outputs(&self, session: &SessionFacts, bytes: &dyn Bytes, messages: &mut [Message]) {
        text::follow_outputs(session, bytes, messages);
    }

    fn owner<'a>(&self, source: &'a Source) -> Option<&'a str> {
        paths::owner(source)
    }

    fn kind_of_typed(&self, line: &str) -> MessageKind {
        let name = line.split_whitespace().next().unwrap_or_default();
        match name.split_at_checked(1) {
            Some(("!", _)) => MessageKind::Shell,
            // A path may be the beginning of a prompt.
            Some(("/", name)) if !name.contains('/') => MessageKind::Slash,
            _ => MessageKind::Prompt,
        }
    }

    fn refine(&self, group: &str, parts: &mut [Part<'_>]) {
        views::joined::refine(group, parts);
    }

    fn call_id(&self, session: &SessionId, message: &MessageId, key: &CallKey) -> String {
        match key {
            // The API made the id.
            CallKey::Message => message.to_string(),
            _ => format!("{session}:{message}"),
        }
    }

    fn joins_worktrees(&self) -> bool {
        true
    }

    fn mark_copies(&self, sessions: &mut [SessionFacts]) {
        views::mark_copies(sessions);
    }

    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        Some(self)
    }
}
