//! Looking after the archive itself: how large it is, whether it is whole, a copy of it.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::backup::Backup;
use rusqlite::{Connection, MAIN_DB};
use sha2::{Digest, Sha256};

use super::capture::UNCAPTURED;
use super::{Archive, ArchiveError, sources};

/// What there is.
#[derive(Debug, Clone, Default)]
pub struct Info {
    /// The size of the file; none in memory.
    pub bytes: u64,
    /// What each part takes up in it.
    pub ledger_bytes: u64,
    pub capture_bytes: u64,
    pub text_bytes: u64,
    /// How many bytes the agents' files have, and how many of them are captured.
    pub source_bytes: u64,
    pub captured_bytes: u64,
    pub sources: u64,
    /// Files that are there and may be kept, and how many of them are captured as they are.
    pub files: u64,
    pub captured_files: u64,
    pub sessions: u64,
    /// Sessions whose files are gone.
    pub gone: u64,
    pub oldest: Option<Timestamp>,
    pub forgotten: u64,
    pub machines: Vec<String>,
}

/// What was checked, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    pub sources: u64,
    pub pieces: u64,
    pub bytes: u64,
    pub problems: Vec<String>,
}

impl Archive {
    pub fn info(&self) -> Result<Info, ArchiveError> {
        let number = |sql: &str| -> rusqlite::Result<u64> {
            let number: Option<i64> = self.db.query_row(sql, [], |row| row.get(0))?;
            Ok(number.unwrap_or(0).cast_unsigned())
        };
        let pages = number("PRAGMA page_count")?;
        let page = number("PRAGMA page_size")?;
        let files = number("SELECT count(*) FROM sources WHERE state = 'live' AND kept")?;
        let open = number(&format!("SELECT count(*) FROM sources WHERE {UNCAPTURED}"))?;
        let capture_bytes = number("SELECT sum(length(data)) FROM captures")?;
        let text_bytes = number("SELECT sum(length(block)) FROM words_data")?
            + number("SELECT sum(length(sz)) FROM words_docsize")?;
        let bytes = pages * page;
        let sessions = self.sessions()?;
        let mut machines =
            self.db.prepare("SELECT DISTINCT machine FROM sources ORDER BY machine")?;
        Ok(Info {
            bytes,
            ledger_bytes: bytes.saturating_sub(capture_bytes + text_bytes),
            capture_bytes,
            text_bytes,
            source_bytes: number("SELECT sum(size) FROM sources WHERE kept")?,
            captured_bytes: number("SELECT sum(captured) FROM sources")?,
            sources: number("SELECT count(*) FROM sources")?,
            files,
            captured_files: files.saturating_sub(open),
            sessions: sessions.len() as u64,
            gone: sessions.iter().filter(|s| s.state == crate::model::State::Gone).count() as u64,
            oldest: sessions.iter().filter_map(|session| session.started).min(),
            forgotten: number("SELECT count(*) FROM forgotten")?,
            machines: machines.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?,
        })
    }

    /// Unpacks and hashes every captured piece, and looks whether all that refers to something finds it.
    pub fn check(&self, progress: &dyn Fn(u64)) -> Result<Checked, ArchiveError> {
        let mut out = Checked::default();
        let mut lines = self.db.prepare("PRAGMA integrity_check")?;
        for line in lines.query_map([], |row| row.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                out.problems.push(format!("the file itself: {line}"));
            }
        }
        let mut ends: BTreeMap<i64, u64> = BTreeMap::new();
        let mut pieces = self.db.prepare(
            "SELECT source, start, length, hash, data FROM captures ORDER BY source, start",
        )?;
        let mut rows = pieces.query([])?;
        while let Some(row) = rows.next()? {
            let source: i64 = row.get(0)?;
            let (start, length) =
                (row.get::<_, i64>(1)?.cast_unsigned(), row.get::<_, i64>(2)?.cast_unsigned());
            let hash: Vec<u8> = row.get(3)?;
            let data = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
            let end = ends.entry(source).or_default();
            if *end != start {
                out.problems.push(format!("source {source}: a piece begins at {start}, not {end}"));
            }
            *end = start + length;
            match zstd::decode_all(data) {
                Ok(bytes) if bytes.len() as u64 != length || Sha256::digest(&bytes)[..] != hash => {
                    out.problems.push(format!("source {source}: the piece at {start} has changed"));
                }
                Ok(_) => {}
                Err(error) => out.problems.push(format!(
                    "source {source}: the piece at {start} cannot be unpacked: {error}"
                )),
            }
            out.pieces += 1;
            out.bytes += length;
            progress(length);
        }
        self.check_keys(&ends, &mut out)?;
        Ok(out)
    }

    fn check_keys(&self, ends: &BTreeMap<i64, u64>, out: &mut Checked) -> Result<(), ArchiveError> {
        let mut all =
            self.db.prepare("SELECT number, path, captured, source IS NULL FROM sources LEFT JOIN scans ON source = number")?;
        let rows = all.query_map([], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, bool>(3)?,
            ))
        })?;
        for row in rows {
            let (number, path, captured, is_unread) = row?;
            out.sources += 1;
            if ends.get(&number).copied().unwrap_or(0) != captured.cast_unsigned() {
                out.problems.push(format!("`{path}`: not all that was captured is there"));
            }
            if !is_unread && sources::scanned(&self.db, number)?.is_none() {
                out.problems.push(format!("`{path}`: what was read of it cannot be understood"));
            }
        }
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
                "texts of no session",
                "SELECT count(*) FROM texts WHERE number >> 24 NOT IN (SELECT number FROM texted)",
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
                "SELECT count(*) FROM sessions WHERE grp NOT LIKE 'log:%' AND grp NOT IN (SELECT grp FROM members)",
            ),
        ] {
            let count: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
            if count > 0 {
                out.problems.push(format!("{count} {what}"));
            }
        }
        Ok(())
    }

    /// Copies the archive to a new file, whole and consistent, also while others write to it.
    pub fn backup(&self, to: &Path) -> Result<(), ArchiveError> {
        let mut copy = Connection::open(to)?;
        let backup = Backup::new_with_names(&self.db, MAIN_DB, &mut copy, MAIN_DB)?;
        backup.run_to_completion(1000, std::time::Duration::ZERO, None)?;
        drop(backup);
        // One file: what lies beside it would be left behind when it is moved.
        copy.execute_batch("PRAGMA journal_mode = DELETE")?;
        Ok(())
    }
}
