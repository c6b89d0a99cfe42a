//! One file as the doctor sees it: what it holds, what was wrong with it.

use backstory_core::agent::gemini::{self, Loaded, Scanned, Shape};
use backstory_core::discover::Source;
use backstory_core::fault::{Fault, Faults};
use jiff::Timestamp;

pub(crate) struct FileRead {
    pub(crate) source: Source,
    pub(crate) holds: Holds,
    pub(crate) faults: Faults,
    /// Whether no other file continues its session: only then an unfinished last line may still be
    /// being written.
    pub(crate) is_newest: bool,
}

pub(crate) enum Holds {
    Session(Box<SessionFile>),
    /// Something else that is of use; what to call it.
    Other(&'static str),
    /// Nothing of use; why.
    Nothing(&'static str),
}

impl FileRead {
    /// `id` is the session that the file was found to belong to.
    pub(super) fn new(scanned: &Scanned, id: Option<&str>) -> Self {
        let source = &scanned.source;
        let holds = match (&scanned.holds, id) {
            (gemini::Holds::Sessions(loaded), Some(id)) => {
                Holds::Session(Box::new(SessionFile::new(id, loaded)))
            }
            (gemini::Holds::Nothing(Shape::NotJson), _) => Holds::Other(source.kind.name()),
            (gemini::Holds::History(_), _) if source.kind.is_session() => {
                Holds::Other(Shape::History.name())
            }
            (gemini::Holds::Prompts(_), _) if source.kind.is_session() => {
                Holds::Other(Shape::PromptLog.name())
            }
            (gemini::Holds::Nothing(shape), _) => Holds::Nothing(shape.name()),
            _ => Holds::Other(source.kind.name()),
        };
        Self { source: source.clone(), holds, faults: scanned.faults.clone(), is_newest: true }
    }

    pub(crate) fn session(&self) -> Option<&SessionFile> {
        match &self.holds {
            Holds::Session(session) => Some(session),
            _ => None,
        }
    }

    /// How many faults there are; only the first thousand of a file are kept in detail.
    pub(crate) fn fault_count(&self) -> u64 {
        let details = self.faults.details.iter().filter(|fault| !self.is_pending(fault)).count();
        self.faults.unusable.max(details as u64)
    }

    /// Whether it is only the line that an agent is writing right now.
    pub(crate) fn is_pending(&self, fault: &Fault) -> bool {
        fault.what.is_pending() && self.is_newest
    }

    pub(crate) fn name(&self) -> String {
        self.source.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What one file says of its session.
pub(crate) struct SessionFile {
    /// The session's id as every command takes it.
    pub(crate) id: String,
    pub(crate) is_subagent: bool,
    pub(crate) updated: Option<Timestamp>,
    /// Whether Gemini CLI's own loader takes the file.
    pub(crate) accepted: bool,
    /// Whether there is anything to go back to.
    pub(crate) resumable: bool,
}

impl SessionFile {
    fn new(id: &str, loaded: &Loaded) -> Self {
        let time = |key: &str| loaded.text(key).and_then(|text| text.parse().ok());
        Self {
            id: id.to_owned(),
            is_subagent: loaded.text("kind").as_deref() == Some("subagent"),
            updated: time("lastUpdated"),
            accepted: loaded.accepted,
            resumable: loaded.resumable,
        }
    }

    /// Whether Gemini CLI would offer the file for resuming.
    pub(crate) fn is_offered(&self) -> bool {
        self.accepted && self.resumable && !self.is_subagent
    }
}
