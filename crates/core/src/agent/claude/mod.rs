//! Reads the sessions of Claude Code, and determines the messages that its own resume would load.

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
use crate::facts::{MessageFacts, SourceFacts};
use crate::model::{AgentId, Message};
use crate::read::bytes::Bytes;

/// The version of this reader. Increases when stored facts must be read again.
const REVISION: u32 = 2;

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

    fn resume(
        &self,
        source: &Source,
        bytes: &dyn Bytes,
        _earlier: SourceFacts,
        state: &[u8],
    ) -> Option<Scan> {
        format::resume(source, bytes, state)
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

    fn refine(&self, group: &str, parts: &mut [Part<'_>]) {
        views::joined::refine(group, parts);
    }

    fn joins_worktrees(&self) -> bool {
        true
    }

    fn mark_copies(&self, session: &mut SessionFacts) {
        views::collapse(session);
    }

    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        Some(self)
    }
}
