//! Removes sessions for good, and lists them; `ingest` skips sources with listed sessions, so that they do not
//! come back.
//!
//! The rows are deleted in one transaction, together with a note that the file must be cleaned.
//! Then the text is overwritten and the file vacuumed; if that is interrupted, the next run that
//! opens the archive completes it.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};

use super::ingest::Ingest;
use super::sync::SyncOptions;
use super::{Archive, ArchiveError, Foreign, affected, notes, temporary};
use crate::discover::{Source, SourceKind, SourceState};
use crate::model::SessionId;
use crate::path_text::from_text;

/// The key of the note that deleted text may still be in the file.
const UNCLEAN: &str = "unclean";

/// The time that readers of older states have to finish.
const PATIENCE: Duration = Duration::from_secs(10);

/// Counts of removed data, and the places where copies remain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The sessions removed.
    pub sessions: u64,
    /// The sources removed.
    pub sources: u64,
    /// The captured bytes removed.
    pub bytes: u64,
    /// Files of the agent that still contain the sessions.
    pub agent_files: Vec<PathBuf>,
    /// Backups of the archive that were made before.
    pub backups: Vec<PathBuf>,
}

impl Archive {
    /// Removes all data of sessions and records that they must not come back. A file that contains
    /// several sessions is removed as a whole, so `ids` must name its other sessions as well.
    pub fn forget(
        &mut self,
        ids: &[SessionId],
        options: &SyncOptions<'_>,
        now: Timestamp,
    ) -> Result<Forgotten, ArchiveError> {
        let _lock = self.structural_lock()?;
        let done = self.forget_rows(ids, options, now)?;
        self.clean()?;
        self.empty_damaged(options)?;
        Ok(done)
    }

    /// Imports what can be recovered from damaged archives that were set aside, then removes them,
    /// because they contain the forgotten text too.
    fn empty_damaged(&mut self, options: &SyncOptions<'_>) -> Result<(), ArchiveError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        temporary::sweep_all(&path);
        for aside in damaged(&path) {
            if let Ok(other) = Foreign::salvage(&aside) {
                self.import(&other, options, &|_| {})?;
                self.drop_contained_versions()?;
            }
            temporary::remove(&aside);
        }
        self.clean()
    }

    /// Removes the rows of sessions; [`Self::clean`] must follow.
    pub(super) fn forget_rows(
        &mut self,
        ids: &[SessionId],
        options: &SyncOptions<'_>,
        now: Timestamp,
    ) -> Result<Forgotten, ArchiveError> {
        self.db.execute_batch("PRAGMA secure_delete = ON")?;
        let mut done = Forgotten { sessions: ids.len() as u64, ..Forgotten::default() };
        let sources = self.sources_of(ids)?;
        let is_live = |source: &&Source| {
            let archived = source.archived.as_ref();
            archived.is_some_and(|a| a.state == SourceState::Live && self.is_here(&a.machine))
        };
        done.agent_files = sources.iter().filter(is_live).map(|s| s.path.clone()).collect();
        done.agent_files.extend(self.live_prompt_logs(ids)?);
        done.backups = self.backups()?.into_iter().filter(|path| path.exists()).collect();
        let numbers: BTreeSet<i64> =
            sources.iter().filter_map(|source| Some(source.archived.as_ref()?.number)).collect();
        let mut touched: BTreeSet<String> = BTreeSet::new();
        for number in &numbers {
            touched.extend(affected::groups(&self.db, *number)?);
        }
        let projects = self.projects(options.candidates)?;
        let mut ingest = Ingest::new(options, self.agents, projects);
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in ids {
            db.execute(
                "INSERT OR IGNORE INTO forgotten VALUES (?1, ?2)",
                params![id, now.as_millisecond()],
            )?;
            // A prompt log loses the lines of the session, and so its captured bytes as a whole; so
            // does a list of names.
            let mut logs = db.prepare(
                "SELECT source FROM prompt_lines WHERE session = ?1
                 UNION SELECT source FROM titles WHERE session = ?1
                 UNION SELECT source FROM listed WHERE session = ?1",
            )?;
            for log in logs.query_map([id], |row| row.get::<_, i64>(0))? {
                done.bytes += forget_capture(&db, log?)?;
            }
            for sql in [
                "DELETE FROM prompt_lines WHERE session = ?1",
                "DELETE FROM titles WHERE session = ?1",
                "DELETE FROM listed WHERE session = ?1",
                "DELETE FROM names WHERE session = ?1",
                "DELETE FROM tags WHERE session = ?1",
            ] {
                db.execute(sql, [id])?;
            }
        }
        for number in &numbers {
            done.sources += 1;
            done.bytes += forget_capture(&db, *number)?;
            forget_source(&db, *number)?;
        }
        ingest.rebuild_after_removal(&db, touched)?;
        notes::set(&db, UNCLEAN, &[])?;
        db.commit()?;
        ingest.finish(self)?;
        Ok(done)
    }

    /// Returns the files of sessions: their own, and those attached to them.
    fn sources_of(&self, ids: &[SessionId]) -> Result<Vec<Source>, ArchiveError> {
        let mut out: Vec<Source> = Vec::new();
        self.each_assembled(ids, |assembled| {
            // A prompt log has lines of other sessions too.
            let own = assembled.own_files().filter(|file| file.kind != SourceKind::PromptLog);
            out.extend(own.cloned());
            Ok(())
        })?;
        let wanted: HashSet<&str> = ids.iter().map(SessionId::as_str).collect();
        let files = self.files()?;
        let attached = files.into_iter().map(|file| file.source).filter(|source| {
            let agent = self.agents.get(&source.agent);
            let owner = agent.and_then(|agent| agent.owner(source));
            owner.is_some_and(|owner| wanted.contains(owner))
        });
        out.extend(attached.filter(|source| source.kind != SourceKind::Subagent));
        out.sort_by_key(|source| source.archived.as_ref().map(|archived| archived.number));
        out.dedup();
        Ok(out)
    }

    fn live_prompt_logs(&self, ids: &[SessionId]) -> Result<BTreeSet<PathBuf>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT DISTINCT path FROM prompt_lines JOIN sources ON sources.number = source
             WHERE session = ?1 AND state = 'live' AND machine IS ?2",
        )?;
        let mut out = BTreeSet::new();
        for id in ids {
            let row = params![id, self.machine.as_deref()];
            for path in find.query_map(row, |row| row.get::<_, String>(0))? {
                out.insert(from_text(&path?));
            }
        }
        Ok(out)
    }

    /// Overwrites deleted data in free pages, in the index and in SQLite's log. Fails while another
    /// program reads an older state, because that state stays in the log.
    pub(super) fn clean(&mut self) -> Result<(), ArchiveError> {
        if self.note(UNCLEAN)?.is_none() {
            return Ok(());
        }
        self.db.execute_batch("PRAGMA secure_delete = ON")?;
        self.purge_index()?;
        if self.path.is_none() {
            notes::remove(&self.db, UNCLEAN)?;
            return Ok(());
        }
        self.db.execute_batch("VACUUM")?;
        let end = Instant::now() + PATIENCE;
        while !self.empty_log()? {
            if Instant::now() >= end {
                return Err(ArchiveError::StillRead(self.path.clone().unwrap_or_default()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        notes::remove(&self.db, UNCLEAN)?;
        self.empty_log()?;
        Ok(())
    }

    /// Moves SQLite's log into the file and empties it. Returns false if a reader prevents it.
    pub(super) fn empty_log(&self) -> Result<bool, ArchiveError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        Ok(self.db.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0)
    }

    /// Returns whether text of forgotten sessions may still be in the file.
    pub fn is_unclean(&self) -> Result<bool, ArchiveError> {
        Ok(self.note(UNCLEAN)?.is_some())
    }

    /// Completes an interrupted removal.
    pub fn finish_forgetting(&mut self) -> Result<(), ArchiveError> {
        if !self.is_unclean()? {
            return Ok(());
        }
        let _lock = self.write_lock()?;
        self.clean()
    }

    /// Allows sessions to come back; the next sync reads what still exists of them.
    pub fn unforget(&mut self, ids: &[SessionId]) -> Result<u64, ArchiveError> {
        let _lock = self.write_lock()?;
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut lifted = 0;
        for id in ids {
            lifted += db.execute("DELETE FROM forgotten WHERE session = ?1", [id])? as u64;
        }
        if lifted > 0 {
            look_again(&db)?;
        }
        db.commit()?;
        Ok(lifted)
    }

    /// Returns the ids of the sessions that must not come back.
    pub fn forgotten(&self) -> Result<BTreeSet<SessionId>, ArchiveError> {
        Ok(forgotten(&self.db)?.into_iter().collect())
    }
}

/// Returns the damaged archives that were set aside next to an archive.
fn damaged(archive: &Path) -> Vec<PathBuf> {
    let folder = archive.parent().filter(|folder| !folder.as_os_str().is_empty());
    let stem = archive.with_extension("damaged");
    let stem = stem.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return Vec::new() };
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix(&*stem);
        number.is_some_and(|number| {
            number.is_empty() || number.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
        })
    };
    let mut out: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_aside).collect();
    out.sort();
    out
}

fn forget_capture(db: &Connection, source: i64) -> rusqlite::Result<u64> {
    let bytes: i64 =
        db.query_row("SELECT captured FROM sources WHERE number = ?1", [source], |row| row.get(0))?;
    db.execute("DELETE FROM captures WHERE source = ?1", [source])?;
    db.execute("UPDATE sources SET captured = 0, lost = 0, kept = 0 WHERE number = ?1", [source])?;
    Ok(bytes.cast_unsigned())
}

/// Makes the next sync read the sources that were left out. Lines of prompt logs and state files that are gone
/// stay removed.
pub(super) fn look_again(db: &Connection) -> rusqlite::Result<()> {
    let lists = [SourceKind::PromptLog.key(), SourceKind::State.key()];
    db.execute("DELETE FROM sources WHERE NOT kept AND kind NOT IN (?1, ?2)", lists)?;
    db.execute(
        "UPDATE sources SET kept = 1, modified = NULL, changed = NULL, inode = NULL, digest = NULL
         WHERE NOT kept AND kind IN (?1, ?2)",
        lists,
    )?;
    Ok(())
}

/// Returns the ids of sessions that must not come back.
pub(super) fn forgotten(db: &Connection) -> rusqlite::Result<HashSet<SessionId>> {
    let mut find = db.prepare_cached("SELECT session FROM forgotten")?;
    find.query_map([], |row| row.get(0))?.collect()
}

/// Reduces a source to the record that it was seen.
pub(super) fn forget_source(db: &Connection, number: i64) -> rusqlite::Result<()> {
    remove_derived(db, number)?;
    db.execute(
        "UPDATE sources SET offset = NULL, captured = 0, lost = 0, kept = 0 WHERE number = ?1",
        [number],
    )?;
    Ok(())
}

/// Removes a source and everything derived from it.
pub(super) fn remove_source(db: &Connection, number: i64) -> rusqlite::Result<()> {
    remove_derived(db, number)?;
    db.execute("DELETE FROM sources WHERE number = ?1", [number])?;
    Ok(())
}

fn remove_derived(db: &Connection, number: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM scans WHERE source = ?1",
        "DELETE FROM members WHERE source = ?1",
        "DELETE FROM call_sources WHERE source = ?1",
        "DELETE FROM prompt_lines WHERE source = ?1",
        "DELETE FROM titles WHERE source = ?1",
        "DELETE FROM listed WHERE source = ?1",
        "DELETE FROM limits WHERE source = ?1",
        "DELETE FROM captures WHERE source = ?1",
    ] {
        db.prepare_cached(sql)?.execute([number])?;
    }
    Ok(())
}
