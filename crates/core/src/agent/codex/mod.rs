//! Reads the sessions of Codex CLI, and determines the messages that it would load again.

mod format;
mod lifecycle;
mod names;
mod paths;
mod state;
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
const REVISION: u32 = 7;

/// The reader of Codex CLI's sessions.
#[derive(Debug, Clone, Copy)]
pub struct Codex;

impl Agent for Codex {
    fn id(&self) -> AgentId {
        AgentId::new("codex")
    }

    fn name(&self) -> &'static str {
        "Codex CLI"
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
        "titles, compactions and ephemeral threads"
    }

    fn scan(&self, source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan> {
        format::scan(source, bytes, detail)
    }

    fn continue_scan(
        &self,
        source: &Source,
        bytes: &dyn Bytes,
        earlier: SourceFacts,
        state: &[u8],
    ) -> Option<Scan> {
        format::continue_scan(source, bytes, earlier, state)
    }

    fn extract(&self, source: &Source, earlier: &[u8]) -> io::Result<Vec<u8>> {
        state::extract(&source.path, earlier)
    }

    fn call_id(&self, session: &SessionId, message: &MessageId, key: &CallKey) -> String {
        views::call_id(session, message, key)
    }

    fn kind_of_typed(&self, line: &str) -> MessageKind {
        // It does not log commands of its own, and a path may be the beginning of a prompt.
        if line.starts_with('!') { MessageKind::Shell } else { MessageKind::Prompt }
    }

    fn refine(&self, _group: &str, parts: &mut [Part<'_>]) {
        views::refine(parts);
    }

    fn mark_copies(&self, sessions: &mut [SessionFacts]) {
        sessions.iter_mut().for_each(views::mark_copies);
    }

    fn fill(&self, message: &mut Message, facts: &MessageFacts, record: &str) {
        text::fill(message, facts, record);
    }

    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        Some(self)
    }
}
