//! Sources of one archive into another: for a rebuild, and for the archive of another machine.
//!
//! Both are the same as reading the files would be: what was captured is read again, and for what was
//! not, what reading made of it is taken over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params};

use super::batch::{Batch, Incoming, Origin};
use super::fingerprint::Look;
use super::sources;
use super::sync::Setup;
use super::{Archive, ArchiveError};
use crate::agent::gemini;
use crate::discover::{Source, SourceState};

/// What came over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Absorbed {
    pub sources: u64,
    pub bytes: u64,
    /// Sources that are gone, were not captured, and cannot be understood any more.
    pub lost: u64,
}

/// How many captured bytes are read before what they come to is written.
const BATCH: u64 = 32 << 20;

impl Archive {
    /// Takes over all that another archive holds, the user's own words first: what was forgotten
    /// there stays forgotten here.
    pub fn absorb(
        &mut self,
        other: &Self,
        setup: &Setup<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<Absorbed, ArchiveError> {
        self.take_words(&other.db)?;
        let mut done = Absorbed::default();
        let mut projects = self.projects(setup.candidates)?;
        if let Some(learned) = other.note("projects").ok().flatten() {
            projects.recall(&learned);
        }
        let mut batch = Batch::new(setup, projects);
        let mut waiting: Vec<Incoming> = Vec::new();
        let mut numbers: HashMap<PathBuf, i64> = HashMap::new();
        let mut size = 0;
        for row in rows(&other.db)? {
            progress(row.source.size);
            let number = row.source.archived.as_ref().map_or(0, |archived| archived.number);
            let path = row.source.path.clone();
            let bytes = row.captured;
            let Some(incoming) = other.incoming(row) else {
                done.lost += 1;
                continue;
            };
            done.sources += 1;
            done.bytes += bytes;
            // Two versions of one file do not go in together: one may replace the other.
            if size + bytes > BATCH || numbers.contains_key(&path) {
                self.write(&mut batch, std::mem::take(&mut waiting), other, &numbers)?;
                numbers.clear();
                size = 0;
            }
            size += bytes;
            numbers.insert(path, number);
            waiting.push(incoming);
        }
        self.write(&mut batch, waiting, other, &numbers)?;
        batch.settle(self)?;
        Ok(done)
    }

    fn write(
        &mut self,
        batch: &mut Batch<'_>,
        incoming: Vec<Incoming>,
        other: &Self,
        numbers: &HashMap<PathBuf, i64>,
    ) -> Result<(), ArchiveError> {
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (path, new) in batch.write(&db, incoming)? {
            if let (Some(new), Some(old)) = (new, numbers.get(&path)) {
                copy_capture(&other.db, *old, &db, new)?;
            }
        }
        db.commit()?;
        Ok(())
    }

    /// A source as if it had just been read.
    fn incoming(&self, row: Row) -> Option<Incoming> {
        let Row { source, look, captured, is_whole, offset, proof } = row;
        let archived = source.archived.clone();
        let (number, machine, state) = match &archived {
            Some(archived) => (archived.number, archived.machine.clone(), archived.state),
            None => return None,
        };
        let mut from_capture = source.clone();
        // The capture is asked even where the file is still there: it is the older truth.
        from_capture.archived = archived.map(|mut archived| {
            archived.state = SourceState::Replaced;
            archived
        });
        let kept = if is_whole && (captured > 0 || source.size == 0) {
            let mut kept = gemini::scan_and_store(from_capture, self);
            kept.scanned.source = source;
            kept
        } else {
            match sources::scan(&self.db, number)
                .ok()
                .flatten()
                .and_then(|scan| gemini::keep_stored(source.clone(), scan))
            {
                Some(kept) => kept,
                None if source.kind.is_read() => return None,
                None => gemini::unread(source),
            }
        };
        let offset_is_known = kept.offset.is_some() && kept.offset == offset;
        let proof = proof.filter(|_| offset_is_known);
        Some(Incoming { machine, state, look, proof, kept, origin: Origin::Archive })
    }

    /// The user's own tables: the later word wins, tags and tombstones add up.
    fn take_words(&mut self, other: &Connection) -> Result<(), ArchiveError> {
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        copy(
            other,
            &db,
            "SELECT session, name, at FROM names",
            "INSERT INTO names VALUES (?1, ?2, ?3) ON CONFLICT (session) DO UPDATE
             SET name = excluded.name, at = excluded.at
             WHERE (excluded.at, excluded.name) > (at, name)",
        )?;
        copy(
            other,
            &db,
            "SELECT session, tag, at FROM tags",
            "INSERT INTO tags VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
             SET at = min(at, excluded.at)",
        )?;
        copy(
            other,
            &db,
            "SELECT session, at, NULL FROM forgotten",
            "INSERT INTO forgotten SELECT ?1, ?2 WHERE ?3 IS NULL ON CONFLICT DO UPDATE
             SET at = min(at, excluded.at)",
        )?;
        db.commit()?;
        Ok(())
    }
}

/// Copies rows of three values.
fn copy(from: &Connection, to: &Connection, select: &str, insert: &str) -> rusqlite::Result<()> {
    let mut select = from.prepare(select)?;
    let mut insert = to.prepare(insert)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        insert.execute(params![value(row, 0)?, value(row, 1)?, value(row, 2)?])?;
    }
    Ok(())
}

fn value(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Value> {
    row.get(at)
}

struct Row {
    source: Source,
    look: Look,
    captured: u64,
    /// What is captured is what was read.
    is_whole: bool,
    offset: Option<u64>,
    proof: Option<Vec<u8>>,
}

/// Older versions first, so that the newer ones replace them again. An archive of any version must have
/// these columns: they are what a rebuild needs of it, with `captures`.
fn rows(db: &Connection) -> rusqlite::Result<Vec<Row>> {
    let sql = format!(
        "SELECT {}, inode, captured, captured >= size AND capture_modified IS modified, offset, proof
         FROM sources WHERE kept ORDER BY path, state != 'replaced', modified",
        sources::COLUMNS
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let source = sources::source(row)?;
        let look = Look { size: source.size, modified: row.get(7)?, inode: row.get(9)? };
        Ok(Row {
            source,
            look,
            captured: row.get::<_, i64>(10)?.cast_unsigned(),
            is_whole: row.get(11)?,
            offset: row.get::<_, Option<i64>>(12)?.map(i64::cast_unsigned),
            proof: row.get(13)?,
        })
    })?;
    rows.collect()
}

fn copy_capture(from: &Connection, old: i64, to: &Connection, new: i64) -> rusqlite::Result<()> {
    let mut about =
        from.prepare_cached("SELECT captured, capture_modified FROM sources WHERE number = ?1")?;
    let (captured, modified): (i64, Option<i64>) =
        about.query_row([old], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known: i64 = to
        .prepare_cached("SELECT captured FROM sources WHERE number = ?1")?
        .query_row([new], |row| row.get(0))?;
    if captured == 0 || known > captured {
        return Ok(());
    }
    to.prepare_cached("DELETE FROM captures WHERE source = ?1")?.execute([new])?;
    let mut pieces =
        from.prepare_cached("SELECT start, length, hash, data FROM captures WHERE source = ?1")?;
    let mut insert = to.prepare_cached("INSERT INTO captures VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut rows = pieces.query([old])?;
    while let Some(row) = rows.next()? {
        insert.execute(params![
            new,
            value(row, 0)?,
            value(row, 1)?,
            value(row, 2)?,
            value(row, 3)?
        ])?;
    }
    to.prepare_cached("UPDATE sources SET captured = ?2, capture_modified = ?3 WHERE number = ?1")?
        .execute(params![new, captured, modified])?;
    Ok(())
}

/// A new archive beside the one at `path`, to be filled and then put in its place.
pub struct Rebuild {
    pub archive: Archive,
    path: PathBuf,
    beside: PathBuf,
}

impl Rebuild {
    /// Begins anew; what was left of an earlier try goes.
    pub fn begin(path: &Path) -> Result<Self, ArchiveError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".rebuild");
        let beside = path.with_file_name(name);
        remove(&beside);
        let archive = Archive::open(&beside)?;
        Ok(Self { archive, path: path.to_owned(), beside })
    }

    /// The old archive, as far as it can be read; none when it is damaged.
    pub fn old(&self) -> Option<Archive> {
        Archive::open_any(&self.path).ok()
    }

    /// Puts the new archive in the place of the old one, all at once.
    pub fn finish(self, damaged: bool) -> Result<(), ArchiveError> {
        let Self { archive, path, beside } = self;
        archive
            .db
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")?;
        drop(archive);
        let cannot = |error: std::io::Error| ArchiveError::Open {
            path: path.clone(),
            why: error.to_string(),
        };
        if damaged && path.exists() {
            // Somebody may still save something out of it.
            let aside = path.with_extension("damaged");
            std::fs::rename(&path, aside).map_err(cannot)?;
        }
        remove_logs(&path);
        std::fs::rename(&beside, &path).map_err(cannot)?;
        remove_logs(&beside);
        Ok(())
    }
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    remove_logs(path);
}

/// SQLite's files beside the archive, which belong to what it was.
fn remove_logs(path: &Path) {
    for ending in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
