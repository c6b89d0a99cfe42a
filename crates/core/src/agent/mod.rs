//! Reads the sessions of coding agents, with one folder per agent.
//!
//! An agent finds its files, scans them into `facts`, and later reads the text of
//! messages from the positions that the scan recorded. Everything else works on facts and reaches an
//! agent through [`Agents`]: no other module uses the code of a particular one. Two lists outside have
//! names from all agents: their tools in `tools`, and the files that they leave in
//! projects in `projects::locate`.
//!
//! Besides the agents, `backstory` reads our own documents. `registry` is the list of agents, `lifecycle` and
//! `native` are what an agent may offer beyond reading, and `finder`, `settings`, `attached` and `versions` are
//! shared by several.

mod attached;
#[doc(hidden)]
pub mod backstory;
#[doc(hidden)]
pub mod claude;
#[doc(hidden)]
pub mod codex;
mod finder;
#[doc(hidden)]
pub mod gemini;
#[doc(hidden)]
pub mod lifecycle;
#[doc(hidden)]
pub mod native;
mod registry;
mod settings;
mod versions;

use std::fmt::Debug;
use std::io;
use std::path::Path;

#[doc(hidden)]
pub use attached::attached;
pub use lifecycle::Lifecycle;
pub use native::NativeFormat;
pub use registry::Agents;

use crate::assemble::{Part, SessionFacts};
use crate::discover::{Discovery, Source};
use crate::env::Env;
use crate::facts::{CallKey, MessageFacts, PartFacts, SourceFacts};
use crate::model::{AgentId, Message, MessageId, MessageKind, SessionId};
use crate::projects::{Projects, SessionHints};
use crate::read::bytes::Bytes;

/// One coding agent. Stateless; listed in [`Agents`].
pub trait Agent: Sync + Debug {
    /// Returns the name that the archive and the command line use, such as `gemini`.
    fn id(&self) -> AgentId;

    /// Returns the name that people use, such as `Gemini CLI`.
    fn name(&self) -> &'static str;

    /// Returns a number that changes when stored facts must be read again.
    fn revision(&self) -> u32;

    /// Finds its files in the usual places.
    fn discover(&self, env: &Env) -> Discovery;

    /// Finds its files at or below a path that the user named.
    fn discover_at(&self, path: &Path) -> Discovery;

    /// Returns whether a folder that the user named is the agent's own, or a home that has it, by its
    /// structure. Then agents that do not recognize it need not search it.
    fn recognizes(&self, _folder: &Path) -> bool {
        false
    }

    /// Returns whether a file outside its folders is certainly the agent's, by its content.
    fn claims(&self, _file: &Path) -> bool {
        true
    }

    /// Returns the calls of the model that its files never record.
    fn unrecorded_calls(&self) -> &'static str {
        ""
    }

    /// Scans a source from its beginning. An error means that the file could not be read; problems
    /// of its content are faults among the facts.
    fn scan(&self, source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan>;

    /// Scans a source that has only grown from the end of an earlier scan. Returns `None` if it
    /// must be read from its beginning.
    fn continue_scan(
        &self,
        _source: &Source,
        _bytes: &dyn Bytes,
        _earlier: SourceFacts,
        _state: &[u8],
    ) -> Option<Scan> {
        None
    }

    /// Extracts what is archived of a file that also has other content ([`SourceKind::State`]). Returns the
    /// lines that the earlier extract lacks; [`scan`](Self::scan) gets them all.
    ///
    /// [`SourceKind::State`]: crate::discover::SourceKind::State
    fn extract(&self, _source: &Source, _earlier: &[u8]) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Adds the content of one record to a message. Called for each of its records, in order.
    fn fill(&self, message: &mut Message, facts: &MessageFacts, record: &str);

    /// Completes messages with information from the whole session.
    fn complete(&self, _session: &SessionFacts, _messages: &mut [Message]) {}

    /// Adds the full text of tool outputs that are stored in separate files.
    fn follow_outputs(
        &self,
        _session: &SessionFacts,
        _bytes: &dyn Bytes,
        _messages: &mut [Message],
    ) {
    }

    /// Returns the session that a file belongs to by its path, if its content does not name it.
    fn owner<'a>(&self, _source: &'a Source) -> Option<&'a str> {
        None
    }

    /// Names the sessions of the parts of a group by rules that only this agent has, and completes them
    /// with what the other parts reveal.
    fn refine(&self, _group: &str, _parts: &mut [Part<'_>]) {}

    /// Marks what its sessions only repeat, once it is settled which of them made each call. The sessions that
    /// share calls are given together.
    fn mark_copies(&self, _sessions: &mut [SessionFacts]) {}

    /// Returns what identifies a call among all calls of the agent, for programs that deduplicate them: by default
    /// its session and its message.
    fn call_id(&self, session: &SessionId, message: &MessageId, _key: &CallKey) -> String {
        format!("{session}:{message}")
    }

    /// Returns the kind of a line of its prompt log.
    fn kind_of_typed(&self, _line: &str) -> MessageKind {
        MessageKind::Prompt
    }

    /// Returns whether the worktrees of a repository are one project.
    fn joins_worktrees(&self) -> bool {
        false
    }

    /// Learns which projects the agent's folders belong to.
    fn learn_folder(&self, _folder: &Path, _projects: &mut Projects) {}

    /// Returns the agent's own session format, if another installation of it can import one.
    fn native_format(&self) -> Option<&dyn NativeFormat> {
        None
    }

    /// Returns the agent's handling of existing files, or `None` if it leaves them alone.
    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        None
    }

    /// Extracts hints at the project folder of sessions from their text.
    fn hints(&self, _source: &Source, _part: &PartFacts, _bytes: &dyn Bytes) -> SessionHints {
        SessionHints::default()
    }
}

/// The amount of detail to read from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All facts.
    Full,
    /// Only the calls, and the faults.
    Calls,
}

/// The result of a scan.
#[derive(Debug)]
pub struct Scan {
    /// The facts of the source.
    pub facts: SourceFacts,
    /// The state needed to continue when the source has grown.
    pub resume: Option<Resume>,
}

/// The state at the end of a scan.
#[derive(Debug)]
pub struct Resume {
    /// The end of the last complete record.
    pub offset: u64,
    /// The data that the agent needs beyond the facts.
    pub state: Vec<u8>,
}

impl Scan {
    /// Returns a scan that cannot be continued.
    pub fn whole(facts: SourceFacts) -> Self {
        Self { facts, resume: None }
    }
}
