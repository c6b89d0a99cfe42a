//! What the user says of sessions: names, tags, and what must be forgotten.

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};

use super::batch::Batch;
use super::sync::Setup;
use super::{Archive, ArchiveError};
use crate::discover::SourceKind;

/// What forgetting took out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub sessions: u64,
    pub sources: u64,
    pub bytes: u64,
}

impl Archive {
    /// Calls a session something; none takes the name away.
    pub fn set_name(
        &self,
        session: &str,
        name: Option<&str>,
        now: Timestamp,
    ) -> Result<(), ArchiveError> {
        match name {
            Some(name) => self.db.execute(
                "INSERT OR REPLACE INTO names VALUES (?1, ?2, ?3)",
                params![session, name, now.as_millisecond()],
            )?,
            None => self.db.execute("DELETE FROM names WHERE session = ?1", [session])?,
        };
        Ok(())
    }

    pub fn add_tag(&self, session: &str, tag: &str, now: Timestamp) -> Result<(), ArchiveError> {
        self.db.execute(
            "INSERT OR IGNORE INTO tags VALUES (?1, ?2, ?3)",
            params![session, tag, now.as_millisecond()],
        )?;
        Ok(())
    }

    /// False when it had no such tag.
    pub fn remove_tag(&self, session: &str, tag: &str) -> Result<bool, ArchiveError> {
        let sql = "DELETE FROM tags WHERE session = ?1 AND tag = ?2";
        Ok(self.db.execute(sql, params![session, tag])? > 0)
    }

    /// Takes all that is known of sessions out, and leaves word that they must not come back. Files
    /// that hold several sessions go as a whole: their other sessions are named in `ids` too.
    pub fn forget(
        &mut self,
        ids: &[String],
        setup: &Setup<'_>,
        now: Timestamp,
    ) -> Result<Forgotten, ArchiveError> {
        // What is deleted is written over.
        self.db.execute_batch("PRAGMA secure_delete = ON")?;
        let mut done = Forgotten { sessions: ids.len() as u64, ..Forgotten::default() };
        let mut sources: BTreeSet<i64> = BTreeSet::new();
        self.each_assembled(ids, |assembled| {
            // A prompt log holds other sessions too: it loses lines, below.
            let own = assembled.files.iter().filter(|file| file.kind != SourceKind::PromptLog);
            sources.extend(own.filter_map(|file| Some(file.archived.as_ref()?.number)));
            Ok(())
        })?;
        let mut touched: BTreeSet<String> = BTreeSet::new();
        for number in &sources {
            touched.extend(super::web::groups(&self.db, *number)?);
        }
        let projects = self.projects(setup.candidates)?;
        let mut batch = Batch::new(setup, projects);
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in ids {
            db.execute(
                "INSERT OR IGNORE INTO forgotten VALUES (?1, ?2)",
                params![id, now.as_millisecond()],
            )?;
            // Prompt logs hold lines of it: what is captured of them cannot stay as it is.
            let mut logs = db.prepare("SELECT DISTINCT source FROM typed WHERE session = ?1")?;
            for log in logs.query_map([id], |row| row.get::<_, i64>(0))? {
                done.bytes += forget_capture(&db, log?)?;
            }
            db.execute("DELETE FROM typed WHERE session = ?1", [id])?;
            for sql in
                ["DELETE FROM names WHERE session = ?1", "DELETE FROM tags WHERE session = ?1"]
            {
                db.execute(sql, [id])?;
            }
            // Its tool outputs, plans and tasks stand in folders of its name.
            let like = format!("%{}%", id.replace('%', "\\%").replace('_', "\\_"));
            let mut beside = db.prepare(
                "SELECT number FROM sources WHERE path LIKE ?1 ESCAPE '\\'
                 AND number NOT IN (SELECT source FROM scans)",
            )?;
            let beside = beside.query_map([like], |row| row.get::<_, i64>(0))?;
            sources.extend(beside.collect::<Result<Vec<_>, _>>()?);
        }
        for number in &sources {
            done.sources += 1;
            done.bytes += forget_capture(&db, *number)?;
            forget_source(&db, *number)?;
        }
        batch.reweave(&db, touched)?;
        db.commit()?;
        batch.settle(self)?;
        self.purge_index()?;
        // What was deleted must not survive in free pages or in the log.
        self.db.execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE);",
        )?;
        Ok(done)
    }

    /// Lifts the tombstones of sessions; the next sync reads what is still there of them.
    pub fn unforget(&self, ids: &[String]) -> Result<u64, ArchiveError> {
        let mut lifted = 0;
        for id in ids {
            lifted += self.db.execute("DELETE FROM forgotten WHERE session = ?1", [id])? as u64;
        }
        if lifted > 0 {
            look_again(&self.db)?;
        }
        Ok(lifted)
    }

    /// The ids of the sessions that must not come back.
    pub fn forgotten(&self) -> Result<BTreeSet<String>, ArchiveError> {
        Ok(forgotten(&self.db)?.into_iter().collect())
    }
}

fn forget_capture(db: &Connection, source: i64) -> rusqlite::Result<u64> {
    let bytes: i64 =
        db.query_row("SELECT captured FROM sources WHERE number = ?1", [source], |row| row.get(0))?;
    db.execute("DELETE FROM captures WHERE source = ?1", [source])?;
    db.execute(
        "UPDATE sources SET captured = 0, capture_modified = NULL, kept = 0 WHERE number = ?1",
        [source],
    )?;
    Ok(bytes.cast_unsigned())
}

/// Lets the next sync read what was left out; lines of prompt logs that are gone stay.
pub(super) fn look_again(db: &Connection) -> rusqlite::Result<()> {
    let log = SourceKind::PromptLog.name();
    db.execute("DELETE FROM sources WHERE NOT kept AND kind != ?1", [log])?;
    db.execute("UPDATE sources SET kept = 1, size = -1 WHERE NOT kept AND kind = ?1", [log])?;
    Ok(())
}

/// The ids of sessions that must not come back.
pub(super) fn forgotten(db: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut find = db.prepare_cached("SELECT session FROM forgotten")?;
    find.query_map([], |row| row.get(0))?.collect()
}

/// Leaves nothing of a source but that it was seen.
pub(super) fn forget_source(db: &Connection, number: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM scans WHERE source = ?1",
        "UPDATE sources SET offset = NULL, proof = NULL, captured = 0, kept = 0
         WHERE number = ?1",
        "DELETE FROM members WHERE source = ?1",
        "DELETE FROM held WHERE source = ?1",
        "DELETE FROM typed WHERE source = ?1",
        "DELETE FROM captures WHERE source = ?1",
    ] {
        db.execute(sql, [number])?;
    }
    Ok(())
}
