//! Maintains the archive itself: reports its size, checks its integrity and backs it up.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::backup::Backup;
use rusqlite::{MAIN_DB, params};

use super::capture::UNCAPTURED;
use super::digest::Digest;
use super::open::{cannot, open_file};
use super::salvage::{Pieces, row_ids};
use super::temporary::TemporaryFile;
use super::{Archive, ArchiveError, SessionCalls, codec, sources};
use crate::model::{Session, State};
use crate::path_text::{from_text, to_text};
use crate::time::Period;

/// Size and contents of an archive.
#[derive(Debug, Clone, Default)]
pub struct Info {
    /// The size of the file; 0 in memory.
    pub bytes: u64,
    /// The bytes used by facts and sessions.
    pub ledger_bytes: u64,
    /// The bytes used by captures.
    pub capture_bytes: u64,
    /// The bytes used by the text index.
    pub text_bytes: u64,
    /// The total size of the agents' files.
    pub source_bytes: u64,
    /// The bytes of them that are captured.
    pub captured_bytes: u64,
    /// The number of sources.
    pub sources: u64,
    /// Files that exist and may be kept.
    pub files: u64,
    /// Files among them that are captured completely.
    pub captured_files: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// Sessions whose files are gone.
    pub gone: u64,
    /// The start of the oldest session.
    pub oldest: Option<Timestamp>,
    /// The number of sessions that were forgotten.
    pub forgotten: u64,
    /// The names of the machines whose files are archived.
    pub machines: Vec<String>,
}

/// The contents of an archive in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchiveCounts {
    /// Files that exist and may be kept.
    pub files: u64,
    /// Files among them that are captured completely.
    pub captured_files: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// Sessions whose files are gone.
    pub gone: u64,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// The sources checked.
    pub sources: u64,
    /// The captured pieces checked.
    pub pieces: u64,
    /// The captured bytes checked.
    pub bytes: u64,
    /// The problems found, as sentences for the user.
    pub problems: Vec<String>,
}

impl Archive {
    /// Returns the size and contents of the archive.
    pub fn info(&self) -> Result<Info, ArchiveError> {
        let number = |sql: &str| -> rusqlite::Result<u64> {
            let number: Option<i64> = self.db.query_row(sql, [], |row| row.get(0))?;
            Ok(number.unwrap_or(0).cast_unsigned())
        };
        let pages = number("PRAGMA page_count")?;
        let page = number("PRAGMA page_size")?;
        let capture_bytes = number("SELECT sum(length(data)) FROM captures")?;
        let text_bytes = number("SELECT sum(length(block)) FROM words_data")?
            + number("SELECT sum(length(sz)) FROM words_docsize")?;
        let bytes = pages * page;
        let sessions = self.session_list()?;
        let ArchiveCounts { files, captured_files, sessions: session_count, gone } =
            self.kept(&sessions)?;
        let labels = self.machine_labels()?;
        let mut machines = self.db.prepare("SELECT DISTINCT machine FROM sources")?;
        let machines = machines.query_map([], |row| row.get(0))?;
        let machines: BTreeSet<String> = machines
            .map(|id| id.map(|id: String| labels.get(&id).cloned().unwrap_or(id)))
            .collect::<Result<_, _>>()?;
        Ok(Info {
            bytes,
            ledger_bytes: bytes.saturating_sub(capture_bytes + text_bytes),
            capture_bytes,
            text_bytes,
            source_bytes: number("SELECT sum(size) FROM sources WHERE kept")?,
            captured_bytes: number("SELECT sum(captured) FROM sources")?,
            sources: number("SELECT count(*) FROM sources")?,
            files,
            captured_files,
            sessions: session_count,
            gone,
            oldest: sessions.iter().filter_map(|session| session.started).min(),
            forgotten: number("SELECT count(*) FROM forgotten")?,
            machines: machines.into_iter().collect(),
        })
    }

    /// Counts what the archive keeps; `sessions` are all of its sessions.
    pub fn kept(&self, sessions: &[Session]) -> Result<ArchiveCounts, ArchiveError> {
        let count = |condition: &str| -> rusqlite::Result<u64> {
            let sql = format!("SELECT count(*) FROM sources WHERE {condition}");
            self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
        };
        let files = count("state = 'live' AND kept")?;
        Ok(ArchiveCounts {
            files,
            captured_files: files.saturating_sub(count(UNCAPTURED)?),
            sessions: sessions.len() as u64,
            gone: sessions.iter().filter(|session| session.state == State::Gone).count() as u64,
        })
    }

    /// Verifies every page, unpacks and hashes every captured piece, decodes every stored value,
    /// and checks that all references resolve. Continues after every problem.
    pub fn check(&self, progress: &dyn Fn(u64)) -> Result<Checked, ArchiveError> {
        let mut out = Checked::default();
        self.check_pages(&mut out);
        let mut pieces = Pieces::new(&self.db);
        if !pieces.is_complete {
            out.problems.push("some captured pieces cannot be reached".to_owned());
        }
        let (numbers, is_complete) = row_ids(&self.db, "sources");
        if !is_complete {
            out.problems.push("some rows of `sources` cannot be reached".to_owned());
        }
        for number in numbers {
            out.sources += 1;
            if let Err(error) = self.check_source(number, &mut pieces, &mut out, progress) {
                out.problems.push(format!("file {number}: {error}"));
            }
        }
        for problem in
            [self.check_values(), self.check_keys(&mut out)].into_iter().filter_map(Result::err)
        {
            out.problems.push(problem.to_string());
        }
        Ok(out)
    }

    /// Reads every page through SQLite, which verifies its structure and its checksum.
    fn check_pages(&self, out: &mut Checked) {
        let mut read = || -> rusqlite::Result<()> {
            let mut lines = self.db.prepare("PRAGMA integrity_check")?;
            for line in lines.query_map([], |row| row.get::<_, String>(0))? {
                let line = line?;
                if line != "ok" {
                    out.problems.push(format!("the file itself: {line}"));
                }
            }
            self.db.execute_batch("INSERT INTO words (words) VALUES ('integrity-check')")
        };
        if let Err(error) = read()
            && !self.read_only
        {
            out.problems.push(format!("the file itself: {error}"));
        }
    }

    fn check_source(
        &self,
        number: i64,
        pieces: &mut Pieces<'_>,
        out: &mut Checked,
        progress: &dyn Fn(u64),
    ) -> Result<(), ArchiveError> {
        let (path, captured, lost, size, digest) = self.db.query_row(
            "SELECT path, captured, lost, size, digest FROM sources WHERE number = ?1",
            [number],
            |row| {
                let digest: Option<Vec<u8>> = row.get(4)?;
                let number = |n| Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.cast_unsigned());
                Ok((row.get::<_, String>(0)?, number(1)?, number(2)?, number(3)?, digest))
            },
        )?;
        let found = pieces.verify(number, captured, None);
        out.pieces += found.count();
        out.bytes += found.present();
        let damaged = captured.saturating_sub(lost).saturating_sub(found.present());
        if damaged > 0 {
            out.problems.push(format!("`{path}`: {damaged} captured bytes are damaged"));
        } else if lost > 0 {
            out.problems.push(format!("`{path}`: {lost} captured bytes were lost before"));
        }
        let is_other = |(found, digest): (&Digest, &Vec<u8>)| found.to_blob() != *digest;
        let is_changed = found.digest.as_ref().zip(digest.as_ref()).is_some_and(is_other);
        if is_changed && size == captured {
            out.problems.push(format!("`{path}`: the captured bytes are not those that were read"));
        }
        if sources::scanned(&self.db, self.agents, number).is_err() {
            out.problems.push(format!("`{path}`: what was read of it cannot be decoded"));
        }
        progress(captured);
        Ok(())
    }

    /// Decodes all stored files and sessions.
    fn check_values(&self) -> Result<(), ArchiveError> {
        self.files()?;
        self.sessions()?;
        self.each_tool_sum(&Period::default(), |_, _| {})?;
        self.each_doubt(|_, _| {})?;
        self.each_details(&Period::default(), |_, body| {
            codec::decode::<SessionCalls>(body, "a session").map(drop)
        })
    }

    fn check_keys(&self, out: &mut Checked) -> Result<(), ArchiveError> {
        for (what, sql) in [
            (
                "members of no source",
                "SELECT count(*) FROM members WHERE source NOT IN (SELECT number FROM sources)",
            ),
            (
                "pieces of no source",
                "SELECT count(*) FROM captures WHERE source NOT IN (SELECT number FROM sources)",
            ),
            (
                "sums of no session",
                "SELECT count(*) FROM rollup WHERE session NOT IN (SELECT number FROM sessions)",
            ),
            (
                "sums of prompts of no session",
                "SELECT count(*) FROM prompt_sums WHERE session NOT IN (SELECT number FROM sessions)",
            ),
            (
                "summaries of no session",
                "SELECT count(*) FROM summaries WHERE session NOT IN (SELECT number FROM sessions)",
            ),
            (
                "prompts of no session",
                "SELECT count(*) FROM prompts WHERE session NOT IN (SELECT number FROM sessions)",
            ),
            (
                "activity of no session",
                "SELECT count(*) FROM activity WHERE number & ((1 << 48) - 1) NOT IN (SELECT number FROM sessions)",
            ),
            (
                "texts of no session",
                "SELECT count(*) FROM texts WHERE number >> 24 NOT IN (SELECT number FROM indexed_sessions)",
            ),
            (
                "texts without words",
                "SELECT count(*) FROM texts WHERE number NOT IN (SELECT id FROM words_docsize)",
            ),
            (
                "words of no text",
                "SELECT count(*) FROM words_docsize WHERE id NOT IN (SELECT number FROM texts)",
            ),
            (
                "copies of no text",
                "SELECT count(*) FROM copies WHERE number NOT IN (SELECT number FROM texts)",
            ),
            (
                "sessions of no source",
                "SELECT count(*) FROM sessions WHERE group_key NOT LIKE 'log:%' AND group_key NOT IN (SELECT group_key FROM members)",
            ),
        ] {
            let count: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
            if count > 0 {
                out.problems.push(format!("{count} {what}"));
            }
        }
        Ok(())
    }

    /// Copies the archive to a new file, consistently even while others write to it. The file
    /// appears once it is complete, and only its owner can read it.
    pub fn backup(&self, to: &Path, now: Timestamp) -> Result<(), ArchiveError> {
        let failed = |error: io::Error| cannot(to, &error);
        if to.symlink_metadata().is_ok() {
            return Err(cannot(to, &"it exists already"));
        }
        let new = TemporaryFile::create(to, "backup").map_err(failed)?;
        let mut copy = open_file(new.path())?;
        let backup = Backup::new_with_names(&self.db, MAIN_DB, &mut copy, MAIN_DB)?;
        backup.run_to_completion(1000, std::time::Duration::ZERO, None)?;
        drop(backup);
        // SQLite's files next to the copy would be left behind when it is moved.
        copy.execute_batch("PRAGMA journal_mode = DELETE")?;
        copy.close().map_err(|(_, error)| error)?;
        new.place_new(to).map_err(failed)?;
        if !self.read_only {
            let path = std::path::absolute(to).map_err(failed)?;
            self.db.execute(
                "INSERT OR REPLACE INTO backups VALUES (?1, ?2)",
                params![to_text(&path), now.as_millisecond()],
            )?;
        }
        Ok(())
    }

    /// Returns the paths that backups were written to.
    pub(super) fn backups(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let mut find = self.db.prepare("SELECT path FROM backups ORDER BY path")?;
        let rows = find.query_map([], |row| Ok(from_text(&row.get::<_, String>(0)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
