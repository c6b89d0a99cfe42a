//! Stores values of the archive itself under a key: its version, its owner, work that is left to do.

use rusqlite::{Connection, OptionalExtension, params};

use super::Archive;

impl Archive {
    /// Returns the value of a key.
    pub(super) fn note(&self, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
        get(&self.db, key)
    }
}

pub(super) fn get(db: &Connection, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT value FROM notes WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

pub(super) fn set(db: &Connection, key: &str, value: &[u8]) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO notes VALUES (?1, ?2)")?
        .execute(params![key, value])?;
    Ok(())
}

pub(super) fn remove(db: &Connection, key: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM notes WHERE key = ?1")?.execute([key])?;
    Ok(())
}
