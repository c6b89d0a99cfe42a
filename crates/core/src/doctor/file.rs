//! Describes one file for the report: its contents and its faults.

use std::borrow::Cow;

use crate::archive::FileRow;
use crate::discover::{Source, SourceKind};
use crate::facts::{Contents, SessionFile};
use crate::fault::{Fault, Faults};

pub(super) struct FileRead {
    pub(super) source: Source,
    pub(super) holds: FileContent,
    pub(super) faults: Faults,
    /// Whether no other file continues its session. Only then may an unfinished last line still be
    /// in progress.
    pub(super) is_newest: bool,
    /// Whether the archive has all of its session.
    pub(super) is_kept: bool,
}

pub(super) enum FileContent {
    Session(String, SessionFile),
    /// Something else that is usable, with its name.
    Other(&'static str),
    /// Nothing usable, with the reason.
    Nothing(Cow<'static, str>),
}

impl FileRead {
    /// Creates the description; `id` is the session that the file belongs to.
    pub(super) fn new(row: FileRow, id: Option<&str>) -> Self {
        let FileRow { source, about, .. } = row;
        let holds = match (about.contents, id) {
            (Contents::Session(file), Some(id)) => FileContent::Session(id.to_owned(), file),
            (Contents::History, _) if source.kind.is_session() => {
                FileContent::Other("saved history")
            }
            (Contents::Prompts, _) if source.kind.is_session() => {
                FileContent::Other(SourceKind::PromptLog.label())
            }
            (Contents::Nothing(what), _) => FileContent::Nothing(what),
            _ => FileContent::Other(source.kind.label()),
        };
        Self { source, holds, faults: about.faults, is_newest: true, is_kept: false }
    }

    /// Returns the session's id as commands accept it.
    pub(super) fn session_id(&self) -> Option<&str> {
        match &self.holds {
            FileContent::Session(id, _) => Some(id),
            _ => None,
        }
    }

    pub(super) fn session(&self) -> Option<&SessionFile> {
        match &self.holds {
            FileContent::Session(_, session) => Some(session),
            _ => None,
        }
    }

    /// Returns the number of faults, of which only the first thousand per file are stored in
    /// detail.
    pub(super) fn fault_count(&self) -> u64 {
        let details = self.faults.details.iter().filter(|fault| !self.is_pending(fault)).count();
        self.faults.unusable.max(details as u64)
    }

    /// Returns whether the fault is only the line that an agent is currently writing.
    pub(super) fn is_pending(&self, fault: &Fault) -> bool {
        fault.what.is_pending() && self.is_newest
    }
}
