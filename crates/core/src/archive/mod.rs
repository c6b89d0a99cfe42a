//! The tables that every report is asked of.
//!
//! SQLite, in memory so far: filled from what was read, asked in SQL, gone at the end of the run.

mod facts;
mod functions;
mod ledger;

use jiff::tz::TimeZone;
use rusqlite::Connection;

pub use facts::{Facts, TokenProblem, Wanted};
pub use functions::Billed;

use crate::collection::Collection;
use crate::pricing::Table;

/// An open archive.
pub struct Archive {
    pub(crate) db: Connection,
}

/// Why the archive does not answer.
#[derive(Debug, thiserror::Error)]
#[error("the archive cannot answer")]
pub struct ArchiveError(#[from] rusqlite::Error);

impl Archive {
    /// Builds the ledger of a collection. `machine` is where it was read.
    pub fn in_memory(all: &Collection, facts: &Facts, machine: &str) -> Result<Self, ArchiveError> {
        let mut db = Connection::open_in_memory()?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        db.execute_batch(include_str!("schema/ledger.sql"))?;
        ledger::fill(&mut db, all, facts, machine)?;
        Ok(Self { db })
    }

    /// Teaches SQL what the reports need: days of a zone, and what a call cost.
    pub fn prepare(&self, zone: &TimeZone, prices: &Table) -> Result<(), ArchiveError> {
        functions::define(&self.db, zone, prices)?;
        Ok(())
    }
}
