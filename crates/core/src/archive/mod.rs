//! The archive: one SQLite file with all that was read, and the agents' own bytes.
//!
//! Sources go in (`sync`), sessions come out. What is stored of a source is enough to put its sessions
//! together again, so every other row is a function of the sources: reading them in another order,
//! twice, or on another machine gives the same rows.

mod detail;
mod fingerprint;
mod functions;
mod ledger;
mod sessions;
mod sources;
mod sync;
mod web;

use std::io;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use rusqlite::Connection;

pub use detail::{Detail, StoredCall, StoredTool, TokenProblem, token_problems};
pub use functions::Billed;
pub(crate) use ledger::rollup_answers;
pub use sessions::{FaultCount, FileRow};
pub use sync::{Setup, Synced};

use crate::discover::Source;
use crate::pricing::Table;
use crate::read::bytes::{Bytes, Disk, ReadSeek};

/// An open archive.
pub struct Archive {
    pub(crate) db: Connection,
}

/// Why the archive does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive cannot answer: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("`{path}` cannot be opened: {why}")]
    Open { path: PathBuf, why: String },
    #[error("cannot read session `{0}`: {1}")]
    Read(String, #[source] std::io::Error),
    #[error("what the archive holds of `{0}` cannot be understood")]
    Stored(String),
}

impl Archive {
    /// An archive for one run, gone at its end.
    pub fn in_memory() -> Result<Self, ArchiveError> {
        let db = Connection::open_in_memory()?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        let archive = Self { db };
        archive.create()?;
        Ok(archive)
    }

    fn create(&self) -> Result<(), ArchiveError> {
        self.db.execute_batch(include_str!("schema/derived.sql"))?;
        self.db.execute_batch(include_str!("schema/user.sql"))?;
        Ok(())
    }

    /// Teaches SQL what the reports need: days of a zone, and what a call cost.
    pub fn prepare(&self, zone: &TimeZone, prices: &Table) -> Result<(), ArchiveError> {
        functions::define(&self.db, zone, prices)?;
        Ok(())
    }
}

impl Bytes for Archive {
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Disk.open(source)
    }

    fn beside(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        Disk.beside(path, most)
    }
}
