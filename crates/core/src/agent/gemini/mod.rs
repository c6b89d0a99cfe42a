//! Reads the sessions of Gemini CLI as its own loader does, and everything else in its files.

mod format;
mod identity;
mod lifecycle;
mod native;
mod paths;
mod projects;
mod text;
mod views;

use std::io;
use std::path::Path;

pub use format::{
    Holds, Loaded, LogReader, Shape, Tail, load, load_current, read_conversation, read_prompt_log,
};
pub use lifecycle::retention;
pub use native::{Fallback, write_native};
pub use projects::folder_project;
pub use views::{Mode, Replay};

use super::{Agent, Detail, Lifecycle, NativeFormat, Scan};
use crate::assemble::{Part, SessionFacts};
use crate::discover::{Discovery, Source};
use crate::env::Env;
use crate::facts::{MessageFacts, PartFacts, SourceFacts};
use crate::model::{AgentId, Message, MessageKind};
use crate::projects::{Projects, SessionHints};
use crate::read::bytes::{Bytes, open_regular};

/// The version of this reader. Increases when stored facts must be read again.
const REVISION: u32 = 5;

/// The reader of Gemini CLI's sessions.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Agent for Gemini {
    fn id(&self) -> AgentId {
        AgentId::new("gemini")
    }

    fn name(&self) -> &'static str {
        "Gemini CLI"
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

    fn claims(&self, file: &Path) -> bool {
        open_regular(file).is_ok_and(|mut input| format::is_certain(&mut input).unwrap_or(false))
    }

    fn unrecorded_calls(&self) -> &'static str {
        "compression, summaries, routing and search"
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

    fn fill(&self, message: &mut Message, facts: &MessageFacts, record: &str) {
        text::fill(message, facts, record);
    }

    fn complete(&self, session: &SessionFacts, messages: &mut [Message]) {
        text::complete(session, messages);
    }

    fn follow_outputs(&self, session: &SessionFacts, bytes: &dyn Bytes, messages: &mut [Message]) {
        text::follow_outputs(session, bytes, messages);
    }

    fn owner<'a>(&self, source: &'a Source) -> Option<&'a str> {
        lifecycle::restore::owner(source)
    }

    fn kind_of_typed(&self, line: &str) -> MessageKind {
        match line.as_bytes().first() {
            Some(b'!') => MessageKind::Shell,
            Some(b'/' | b'?') => MessageKind::Slash,
            _ => MessageKind::Prompt,
        }
    }

    fn refine(&self, group: &str, parts: &mut [Part<'_>]) {
        views::refine(group, parts);
    }

    fn learn_folder(&self, folder: &Path, projects: &mut Projects) {
        projects::learn(folder, projects);
    }

    fn native_format(&self) -> Option<&dyn NativeFormat> {
        Some(self)
    }

    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        Some(self)
    }

    fn hints(&self, source: &Source, part: &PartFacts, bytes: &dyn Bytes) -> SessionHints {
        projects::hints(source, part, bytes)
    }
}
