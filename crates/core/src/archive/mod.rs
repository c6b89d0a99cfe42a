//! Stores everything that was read from the agents' files, and their own bytes, in one SQLite file.
//!
//! Sources go in (`sync`), sessions come out. The stored facts of a source are enough to assemble
//! its sessions again, so every other row is a function of the sources: reading them in another
//! order, twice, or on another machine gives the same rows.
//!
//! The parts:
//!
//! - The file: `open`, `lock`, `wal`, `machine`, `temporary`, `notes` (values under a key).
//! - Reading: `sync` finds what changed by `fingerprint` and `digest`, `reading` asks the agent,
//!   `ingest` writes the rows, `affected` finds the sessions of a change, and `finish` resolves what
//!   needs all sources. `slot` and `versions` keep older content, `capture` the bytes, `listed` an
//!   extract of an agent's own list. `count_only` does the same for a run that stores nothing.
//! - Rows of sources and sessions: `sources`, `session_rows` and `calls` write them, `sessions` reads
//!   them, `codec`, `ids` and `stamp` encode values.
//! - Rows of reports: `sums` (`extent` decides when they are enough), `prompt_sums`, `call_rows`, `windows`, `limits`,
//!   `tool_sums`, `doubts`, `unrecorded`, and `activity` with its parts, texts, `program_sums` and `file_sums`.
//! - Search: `text_index` and `text_search`.
//! - The user's own data: `annotations` and `forget`.
//! - Other archives: `import`, `salvage`, `rebuild`, `parcel`; `identity` is for programs that bring
//!   many archives together.
//! - `maintenance`: size, integrity, backup.

mod activity;
mod activity_parts;
mod activity_texts;
mod affected;
mod annotations;
mod call_rows;
mod calls;
mod capture;
mod codec;
mod count_only;
mod digest;
mod doubts;
mod extent;
mod file_sums;
mod fingerprint;
mod finish;
mod forget;
mod identity;
mod ids;
mod import;
mod ingest;
mod limits;
mod listed;
mod lock;
mod machine;
mod maintenance;
mod notes;
mod open;
mod parcel;
mod program_sums;
mod prompt_sums;
mod reading;
mod rebuild;
mod salvage;
mod session_rows;
mod sessions;
mod slot;
mod sources;
mod stamp;
mod sums;
mod sync;
mod temporary;
mod text_index;
mod text_search;
mod tool_sums;
mod unrecorded;
mod versions;
mod wal;
mod windows;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) use activity::Activities;
pub(crate) use activity_parts::{LineHead, TypedHead, text_hash};
pub(crate) use activity_texts::{Examples, LineTexts, TextReader, TypedTexts};
pub(crate) use call_rows::{CallRow, SessionKey, SessionKeys};
#[doc(hidden)]
pub use calls::SessionCalls;
pub use capture::Captured;
pub(crate) use doubts::Doubts;
pub use doubts::TokenProblem;
pub(crate) use file_sums::FileSum;
pub use forget::Forgotten;
#[doc(hidden)]
pub use identity::{IdentifiedCalls, Identity, Scope};
pub use import::{Foreign, Imported};
pub use limits::Limit;
pub use machine::MachineId;
#[doc(hidden)]
pub use machine::named as machine_named;
pub use maintenance::{ArchiveCounts, Checked, Info};
#[doc(hidden)]
pub use parcel::{Shareable, ShareableFile};
pub(crate) use program_sums::{ProgramSum, add_up};
pub use rebuild::{Rebuild, Rebuilt};
#[doc(hidden)]
pub use sessions::{ExistingFile, FolderSessions, Sizes};
pub use sessions::{FaultCount, FileRow};
#[doc(hidden)]
pub use sums::rollup_answers;
pub use sync::{Exclude, Machine, SyncOptions, SyncStats};
pub use text_index::IndexStats;
#[doc(hidden)]
pub use text_search::{Hit, TextRow};
pub use text_search::{Match, Order};
pub use tool_sums::ToolCounts;
#[doc(hidden)]
pub use windows::WINDOW;
pub(crate) use windows::Windows;

use crate::agent::Agents;
use crate::content::Reader;
use crate::discover::Discovery;
use crate::projects::ProjectHints;

/// The state of an archive: it changes with every write, by this process or another one.
type State = (i64, u64);

/// An open archive.
pub struct Archive {
    db: Connection,
    /// None for an archive in memory.
    path: Option<PathBuf>,
    /// Identifies the file that was opened.
    file: Option<u64>,
    read_only: bool,
    /// Whether no other process can access it, so that no lock is needed.
    is_private: bool,
    /// This machine's id, once it is known.
    machine: Option<MachineId>,
    /// The machine whose files were read last.
    reading: Option<MachineId>,
    /// The temporary copy that was opened because the file itself must not change.
    copy: Option<TempDir>,
    /// The number of texts that query results had to leave out.
    unread: Cell<u64>,
    /// The sessions that calls refer to, and the state of the archive in which they were read.
    keys: RefCell<Option<(State, Arc<SessionKeys>)>>,
    /// The state of the archive in which all text was found to be indexed.
    indexed: Cell<Option<State>>,
    pub(crate) agents: Agents,
}

impl Archive {
    /// Returns its state.
    fn state(&self) -> Result<State, ArchiveError> {
        Ok((self.data_version()?, self.db.total_changes()))
    }

    /// Returns the number of texts left out of results so far because they could not be read.
    pub fn unread(&self) -> u64 {
        self.unread.get()
    }

    /// Counts a text that is left out of a result.
    pub(crate) fn pass_over(&self) {
        self.unread.update(|count| count + 1);
    }
}

/// The reason why an operation on the archive failed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// SQLite reported an error.
    #[error(transparent)]
    Sql(rusqlite::Error),
    /// The checksum of a page does not match.
    #[error("a page of the archive is damaged")]
    Page,
    /// The file cannot be opened.
    #[error("`{path}` cannot be opened: {why}")]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The file is damaged.
    #[error("`{0}` is damaged")]
    Corrupt(PathBuf),
    /// The disk is full.
    #[error("the disk of `{0}` is full")]
    DiskFull(PathBuf),
    /// Another program has been writing for too long.
    #[error("another program has been writing to `{0}` for too long")]
    Busy(PathBuf),
    /// The file is not an archive.
    #[error("`{0}` is not an archive of backstory")]
    NotOurs(PathBuf),
    /// A newer version of this program wrote the archive.
    #[error("`{0}` was written by a newer backstory")]
    Newer(PathBuf),
    /// An older version of this program wrote the archive, so it must be rebuilt.
    #[error("`{0}` was written by an older backstory")]
    Outdated(PathBuf),
    /// The archive cannot be written.
    #[error("`{0}` cannot be written")]
    ReadOnly(PathBuf),
    /// Forgotten text is still in SQLite's log because another program is reading the archive.
    #[error("another program is reading `{0}`, so the forgotten text is still in its log")]
    StillRead(PathBuf),
    /// Another archive cannot be merged.
    #[error("`{path}` is not an archive of this version of backstory: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A rebuilt archive lacks data, so it must not replace the old one.
    #[error("the rebuilt archive lacks {0}, so `{1}` was left as it was")]
    Incomplete(String, PathBuf),
    /// The text of a session cannot be read.
    #[error("cannot read session `{0}`: {1}")]
    Read(String, #[source] std::io::Error),
    /// A stored value cannot be decoded.
    #[error("the stored data of `{0}` cannot be decoded")]
    Stored(String),
}

impl ArchiveError {
    /// Returns whether the file itself is damaged.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            Self::Corrupt(_) | Self::Page => true,
            Self::Sql(error) => {
                matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
            }
            _ => false,
        }
    }

    /// Returns whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::DiskFull(_) => true,
            Self::Sql(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            _ => false,
        }
    }

    /// Returns whether a later attempt may succeed: another process is writing, or the disk is
    /// full.
    pub fn passes(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        match self {
            Self::Busy(_) => true,
            Self::Sql(error) => {
                matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
                    || self.is_full()
            }
            _ => self.is_full(),
        }
    }
}

impl Archive {
    /// Creates an archive in memory that contains everything found, for callers that only read.
    pub fn of(found: &Discovery) -> Result<Self, ArchiveError> {
        let mut archive = Self::in_memory()?;
        let candidates = ProjectHints::default();
        archive.sync(found, &SyncOptions::plain(&candidates), &|_| {})?;
        Ok(archive)
    }

    /// Returns a reader for the text of its sessions.
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(self.agents, self)
    }

    /// Returns the agents whose files it reads.
    pub fn agents(&self) -> Agents {
        self.agents
    }

    /// Returns its path; `None` for an archive in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns whether it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl From<rusqlite::Error> for ArchiveError {
    fn from(error: rusqlite::Error) -> Self {
        use backstory_pages::MISMATCH;
        match error {
            rusqlite::Error::SqliteFailure(error, _) if error.extended_code == MISMATCH => {
                Self::Page
            }
            other => Self::Sql(other),
        }
    }
}
