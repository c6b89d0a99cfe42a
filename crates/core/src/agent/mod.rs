//! The agents whose sessions can be read, one folder per agent.
//!
//! An agent finds its files, scans them into [`facts`](crate::facts), and reads the text of messages
//! again from where the scan found them. Everything else works on facts: nothing outside this
//! module names an agent.

mod attached;
pub mod backstory;
pub mod gemini;
pub mod lifecycle;
pub mod native;
mod registry;

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use attached::attached;
pub use lifecycle::Lifecycle;
pub use native::NativeFormat;
pub use registry::Agents;

use crate::assemble::{Part, SessionFacts};
use crate::discover::{Discovery, Source};
use crate::env::Env;
use crate::facts::{MessageFacts, PartFacts, SourceFacts};
use crate::model::{AgentId, Message};
use crate::projects::{Projects, SessionHints};
use crate::read::bytes::Bytes;

/// One coding agent. Stateless; listed in [`Agents`].
pub trait Agent: Sync + Debug {
    /// Returns the name that the archive and the command line use, such as `gemini`.
    fn id(&self) -> AgentId;

    /// Returns the name that people know it by, such as `Gemini CLI`.
    fn name(&self) -> &'static str;

    /// Returns a number that changes when stored facts must be read again.
    fn revision(&self) -> u32;

    /// Finds its files in the usual places.
    fn discover(&self, env: &Env) -> Discovery;

    /// Finds its files at or below a path that the user named.
    fn discover_at(&self, path: &Path) -> Discovery;

    /// Scans a source from its beginning. An error means that the file could not be read; whatever
    /// is wrong with its content is a fault among the facts.
    fn scan(&self, source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan>;

    /// Scans a source that has only grown from where an earlier scan ended; none when it must be
    /// read from its beginning.
    fn resume(
        &self,
        _source: &Source,
        _bytes: &dyn Bytes,
        _earlier: SourceFacts,
        _state: &[u8],
    ) -> Option<Scan> {
        None
    }

    /// Adds to a message what one of its records says; called for each record in order.
    fn fill(&self, message: &mut Message, facts: &MessageFacts, record: &str);

    /// Completes messages with what only their session reveals.
    fn complete(&self, _session: &SessionFacts, _messages: &mut [Message]) {}

    /// Adds the full text of tool outputs that are kept in files of their own.
    fn follow_outputs(
        &self,
        _session: &SessionFacts,
        _bytes: &dyn Bytes,
        _messages: &mut [Message],
    ) {
    }

    /// Returns the session that a file belongs to by its place, where its content does not name it.
    fn owner<'a>(&self, _source: &'a Source) -> Option<&'a str> {
        None
    }

    /// Gives parts of a group sessions of their own by rules that only this agent has.
    fn refine(&self, _group: &str, _parts: &mut [Part<'_>]) {}

    /// Learns which projects the agent's folders belong to.
    fn learn_folder(&self, _folder: &Path, _projects: &mut Projects) {}

    /// Returns the agent's own form of a session, where another installation of it can import one.
    fn native_format(&self) -> Option<&dyn NativeFormat> {
        None
    }

    /// Returns what the agent does with its files later; none if it leaves them alone.
    fn lifecycle(&self) -> Option<&dyn Lifecycle> {
        None
    }

    /// Extracts hints at the project folder of sessions from their text.
    fn hints(&self, _source: &Source, _part: &PartFacts, _bytes: &dyn Bytes) -> SessionHints {
        SessionHints::default()
    }
}

/// How much of a source is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All facts.
    Full,
    /// The calls that were made, and the faults.
    Calls,
}

/// What a scan gives.
#[derive(Debug)]
pub struct Scan {
    pub facts: SourceFacts,
    /// What it takes to continue when the source has grown.
    pub resume: Option<Resume>,
}

/// The end of a scan.
#[derive(Debug)]
pub struct Resume {
    /// The end of the last whole record.
    pub offset: u64,
    /// What the agent must remember beyond the facts.
    pub state: Vec<u8>,
}

impl Scan {
    /// Returns a scan that cannot be continued.
    pub fn whole(facts: SourceFacts) -> Self {
        Self { facts, resume: None }
    }
}
