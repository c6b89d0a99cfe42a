//! Imports the sources of another archive: an older or damaged one for a rebuild, or that of another
//! machine for a merge.
//!
//! Nothing in the other archive is trusted: its rows are checked and its pieces verified. An
//! unknown version of a file becomes one more version; `versions.rs` removes versions that another
//! one contains. The result is therefore the union of both, in whatever order archives are merged.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use tempfile::TempDir;
use walkdir::WalkDir;

use super::capture::{Piece, distrust};
use super::codec;
use super::digest::Recorder;
use super::fingerprint::Fingerprint;
use super::ingest::{Incoming, Ingest, Origin};
use super::machine::{self, MachineId};
use super::open::{Pages, open_unchanged};
use super::reading::{self, Reading};
use super::salvage::{self, Captured, Pieces, SalvagedBytes};
use super::sources;
use super::sync::{Machine, SyncOptions};
use super::{Archive, ArchiveError, notes, parcel};
use crate::agent::{Agents, Detail};
use crate::discover::{Source, SourceState};
use crate::model::SessionId;

/// Counts of imported data, and lists of data that was not imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The sources imported.
    pub sources: u64,
    /// The captured bytes imported.
    pub bytes: u64,
    /// Data that could not be read from the other archive and exists nowhere else.
    pub lost: Vec<String>,
    /// Rows that were rejected because a genuine archive cannot contain them.
    pub refused: Vec<String>,
    /// Files that were imported although their rows are on damaged pages.
    pub doubtful: Vec<String>,
    /// The files that were imported, by their numbers in the other archive.
    pub(super) numbers: HashSet<i64>,
}

impl Imported {
    /// Returns whether everything was imported exactly as it was written.
    pub(super) fn is_perfect(&self) -> bool {
        self.lost.is_empty() && self.refused.is_empty() && self.doubtful.is_empty()
    }
}

/// Another archive, open for reading only.
pub struct Foreign {
    pub(super) db: Connection,
    /// A connection on which damaged pages cannot be read; none if not even the first page can.
    verified: Option<(Connection, Option<TempDir>)>,
    /// Whether its version stores digests, and therefore identifies machines by ids.
    has_digests: bool,
    _copy: Option<TempDir>,
}

/// The number of captured bytes that are read before the result is written.
const BATCH: u64 = 32 << 20;

/// The largest file that is imported, which bounds the cost of a made-up row.
const MOST_BYTES: i64 = 1 << 40;

/// The longest text that is imported into the user's own tables.
const MOST_TEXT: usize = 1 << 16;

impl Foreign {
    /// Opens an archive of this version, or a parcel, for merging. Its schema must be exactly ours,
    /// because views, triggers and other tables could do anything.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        if !path.is_file() {
            return Err(foreign(path, "it is not a regular file"));
        }
        let other = Self::salvage(path)?;
        let schema =
            |db: &Connection| -> rusqlite::Result<BTreeSet<(String, String, Option<String>)>> {
                let mut find = db.prepare("SELECT type, name, sql FROM sqlite_schema")?;
                find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
            };
        let theirs = schema(&other.db).map_err(|error| foreign(path, &error.to_string()))?;
        let ours = parcel::model(&other.db, path)?;
        if theirs != schema(&ours)? {
            return Err(foreign(path, "it has other tables"));
        }
        Ok(Self { has_digests: true, ..other })
    }

    /// Opens an archive of any version and in any state.
    pub fn salvage(path: &Path) -> Result<Self, ArchiveError> {
        let (db, copy) = open_unchanged(path, Pages::AsTheyAre)?;
        let verified = open_unchanged(path, Pages::Verified).ok();
        let has_digests = db.prepare("SELECT digest, changed FROM sources").is_ok();
        Ok(Self { db, verified, has_digests, _copy: copy })
    }

    /// Returns the number of files in it, for a progress bar.
    pub fn count(&self) -> usize {
        let count =
            self.db.query_row("SELECT count(*) FROM sources", [], |row| row.get::<_, i64>(0));
        count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    /// Returns the rows that can be read, and lists the problems of the others.
    fn rows(&self, done: &mut Imported) -> Vec<SourceRow> {
        let (numbers, is_complete) = salvage::row_ids(&self.db, "sources");
        if !is_complete {
            done.lost.push("some files, whose names could not be read".to_owned());
        }
        let changed = if self.has_digests { "changed" } else { "NULL" };
        let sql = format!(
            "SELECT {}, inode, captured, {changed}, kept FROM sources WHERE number = ?1",
            sources::COLUMNS
        );
        let mut out = Vec::new();
        for number in numbers {
            let row = self
                .db
                .prepare_cached(&sql)
                .and_then(|mut find| find.query_row([number], SourceRow::read));
            match row {
                Ok(row) if !row.kept => {}
                Ok(row) => match row.problem() {
                    None => {
                        out.push(SourceRow { is_doubtful: self.is_doubtful(&sql, number), ..row });
                    }
                    Some(why) => done.refused.push(format!("{}: {why}", row.source.path.display())),
                },
                Err(
                    rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::InvalidColumnType(..),
                ) => {
                    done.refused.push(format!("file {number}: its row is not understood"));
                }
                Err(_) => done.lost.push(format!("file {number}, whose name could not be read")),
            }
        }
        out
    }

    /// Returns whether a row is on a damaged page, so that anything in it may be wrong.
    fn is_doubtful(&self, sql: &str, number: i64) -> bool {
        let find = |db: &Connection| db.prepare_cached(sql)?.query_row([number], |_| Ok(()));
        self.verified.as_ref().is_none_or(|(db, _)| find(db).is_err())
    }
}

/// A row of `sources` in another archive.
struct SourceRow {
    source: Source,
    number: i64,
    machine: String,
    state: SourceState,
    fingerprint: Fingerprint,
    captured: i64,
    kept: bool,
    is_doubtful: bool,
}

impl SourceRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut source = sources::source(row)?;
        let size: i64 = row.get(6)?;
        let fingerprint = Fingerprint {
            size: size.cast_unsigned(),
            modified: row.get(7)?,
            changed: row.get(11)?,
            inode: row.get(9)?,
        };
        let archived = source.archived.take();
        Ok(Self {
            source,
            number: row.get(0)?,
            machine: row.get(1)?,
            state: archived.map_or(SourceState::Gone, |archived| archived.state),
            fingerprint,
            captured: row.get(10)?,
            kept: row.get(12)?,
            is_doubtful: false,
        })
    }

    /// Returns whether another file of the agent has exactly the captured content. In that case the
    /// path of the row is damaged, and the file is read again.
    fn is_elsewhere(&self, captured: &Captured) -> bool {
        let Source { path, folder, .. } = &self.source;
        let Some(folder) = folder.as_deref().or(path.parent()).filter(|_| !path.exists()) else {
            return false;
        };
        let has_content = |file: &Path| {
            let recorded = Recorder::open(file, None).and_then(Recorder::finish);
            recorded.is_ok_and(|recorded| captured.digest.as_ref() == Some(&recorded.digest))
        };
        WalkDir::new(folder).into_iter().flatten().any(|entry| {
            let size = entry.metadata().ok().filter(std::fs::Metadata::is_file);
            size.is_some_and(|about| about.len() == self.fingerprint.size)
                && has_content(entry.path())
        })
    }

    /// Returns the reason why a row cannot be genuine, or `None`.
    fn problem(&self) -> Option<&'static str> {
        let Source { path, folder, .. } = &self.source;
        let sizes = [self.fingerprint.size.cast_signed(), self.captured];
        if sizes.iter().any(|size| !(0..=MOST_BYTES).contains(size)) || sizes[1] > sizes[0] {
            return Some("its sizes cannot be right");
        }
        if !is_plain(path) || folder.as_deref().is_some_and(|folder| !is_plain(folder)) {
            return Some("its path is not a plain absolute one");
        }
        if folder.as_deref().is_some_and(|folder| !path.starts_with(folder)) {
            return Some("it is not in its project's folder");
        }
        None
    }
}

/// Returns whether a path is absolute and consists of ordinary names. Windows paths are also read
/// on other systems, where they are single names.
fn is_plain(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let is_ordinary = |part: &str| part != ".." && part != "." && !part.contains('\0');
    path.components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
        && text.split(['/', '\\']).all(is_ordinary)
}

impl Archive {
    /// Imports everything from another archive. Sessions that either has forgotten are in neither
    /// afterwards.
    pub fn merge(
        &mut self,
        other: &Foreign,
        options: &SyncOptions<'_>,
        now: Timestamp,
        progress: &dyn Fn(u64),
    ) -> Result<Imported, ArchiveError> {
        let _lock = self.structural_lock()?;
        let known = self.forgotten()?;
        let done = self.import(other, options, progress)?;
        self.drop_contained_versions()?;
        let forgotten: Vec<SessionId> = self.forgotten()?.difference(&known).cloned().collect();
        if !forgotten.is_empty() {
            self.forget_rows(&forgotten, options, now)?;
            self.clean()?;
        }
        Ok(done)
    }

    pub(super) fn import(
        &mut self,
        other: &Foreign,
        options: &SyncOptions<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<Imported, ArchiveError> {
        let mut done = Imported::default();
        self.import_annotations(other, &mut done)?;
        let mut machines = Machines::new(self, other, options)?;
        let mut projects = self.projects(options.candidates)?;
        if let Ok(Some(learned)) = notes::get(&other.db, "projects") {
            // Project paths learned by the other archive are useful but not required.
            if let Ok(learned) = codec::decode(&learned, "projects") {
                projects.recall(learned);
            }
        }
        let mut ingest = Ingest::new(options, self.agents, projects);
        let mut pieces = Pieces::new(&other.db);
        let mut waiting: Vec<(Incoming, Captured)> = Vec::new();
        let mut size = 0;
        for row in other.rows(&mut done) {
            progress(row.fingerprint.size);
            let machine = machines.id(self, &row.machine)?;
            let is_own = self.is_here(&machine);
            let file = Some(row.source.path.as_path()).filter(|_| is_own);
            let captured = pieces.verify(row.number, row.captured.cast_unsigned(), file);
            if row.is_doubtful {
                if is_own && row.is_elsewhere(&captured) {
                    continue;
                }
                done.doubtful.push(row.source.path.display().to_string());
            }
            done.numbers.insert(row.number);
            let lost = row.captured.cast_unsigned() - captured.present();
            if lost > 0 {
                let path = row.source.path.display();
                done.lost.push(format!("{lost} of {} bytes of {path}", row.captured));
            }
            let Some(reading) = other.scan(self.agents, &row, &captured) else {
                done.lost.push(row.source.path.display().to_string());
                continue;
            };
            done.sources += 1;
            done.bytes += captured.present();
            if size > 0 && size + captured.end > BATCH {
                self.write_imported(&mut ingest, std::mem::take(&mut waiting), &other.db)?;
                size = 0;
            }
            size += captured.end.max(1);
            let SourceRow { state, fingerprint, .. } = row;
            let digest = captured.digest.clone().filter(|digest| digest.length == fingerprint.size);
            let origin = Origin::Archive { is_own };
            let incoming =
                Incoming { machine, state, fingerprint, digest, reading, origin, new_from: 0 };
            waiting.push((incoming, captured));
        }
        if !pieces.is_complete {
            done.lost.push("some captured bytes, whose rows could not be read".to_owned());
        }
        self.write_imported(&mut ingest, waiting, &other.db)?;
        ingest.finish(self)?;
        Ok(done)
    }

    fn write_imported(
        &mut self,
        ingest: &mut Ingest<'_>,
        waiting: Vec<(Incoming, Captured)>,
        other: &Connection,
    ) -> Result<(), ArchiveError> {
        let (incoming, captured): (Vec<Incoming>, Vec<Captured>) = waiting.into_iter().unzip();
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        ingest.write(&db, incoming, |place, number| {
            captured.get(place).map_or(Ok(()), |captured| {
                // A file whose digest is unknown is read again, if it exists.
                if !sources::has_digest(&db, number)? {
                    distrust(&db, number)?;
                }
                copy_pieces(other, captured, &db, number)
            })
        })?;
        db.commit()?;
        Ok(())
    }

    /// Imports names, tags, machines and tombstones. The later name wins; tombstones accumulate.
    fn import_annotations(
        &mut self,
        other: &Foreign,
        done: &mut Imported,
    ) -> Result<(), ArchiveError> {
        let mut lost = Vec::new();
        let mut read = |table: &'static str, columns: &str| {
            let rows = salvage::annotation_rows(&other.db, table, columns, MOST_TEXT);
            if !rows.is_complete {
                lost.push(format!("some rows of the table `{table}`"));
            }
            rows.rows
        };
        let removed = if other.has_digests { "removed" } else { "NULL" };
        let names = read("names", "session, name, at");
        let tags = read("tags", &format!("session, tag, at, {removed}"));
        let forgotten = read("forgotten", "session, at");
        let machines = if other.has_digests { read("machines", "id, label") } else { Vec::new() };
        done.lost.extend(lost);
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (sql, rows) in [
            (
                "INSERT INTO forgotten VALUES (?1, ?2) ON CONFLICT DO UPDATE
                 SET at = min(at, excluded.at)",
                forgotten,
            ),
            (
                "INSERT INTO names
                 SELECT ?1, ?2, ?3 WHERE ?1 NOT IN (SELECT session FROM forgotten)
                 ON CONFLICT (session) DO UPDATE
                 SET name = excluded.name, at = excluded.at
                 WHERE (excluded.at, excluded.name) > (at, name)",
                names,
            ),
            (
                "INSERT INTO tags
                 SELECT ?1, ?2, ?3, ?4 WHERE ?1 NOT IN (SELECT session FROM forgotten)
                 ON CONFLICT DO UPDATE
                 SET at = max(at, excluded.at),
                     removed = CASE WHEN max(ifnull(removed, 0), ifnull(excluded.removed, 0))
                                       > max(at, excluded.at)
                               THEN max(ifnull(removed, 0), ifnull(excluded.removed, 0)) END",
                tags,
            ),
            ("INSERT OR IGNORE INTO machines VALUES (?1, ?2)", machines),
        ] {
            let mut insert = db.prepare(sql)?;
            for row in rows {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
        }
        db.commit()?;
        Ok(())
    }
}

impl Foreign {
    /// Scans a source from its captured bytes, or uses its stored scan if not all bytes were
    /// captured.
    fn scan(&self, agents: Agents, row: &SourceRow, captured: &Captured) -> Option<Reading> {
        let source = row.source.clone();
        let bytes = SalvagedBytes { db: &self.db, captured };
        let read = |source| Some(reading::read(agents, source, &bytes, Detail::Full));
        if captured.is_whole(source.size) {
            return read(source);
        }
        let stored = sources::facts(&self.db, &source, row.number).ok().flatten();
        match stored.filter(|_| self.has_digests) {
            Some(facts) => Some(Reading::of(source, facts)),
            None if captured.present() > 0 => read(source),
            None if source.kind.is_read() => None,
            None => Some(Reading::unread(source)),
        }
    }
}

/// Maps machines of another archive to ids.
struct Machines<'a> {
    known: BTreeMap<String, MachineId>,
    options: &'a SyncOptions<'a>,
    /// Whether the other archive is of an older version, which identified machines by name.
    is_old: bool,
}

impl<'a> Machines<'a> {
    fn new(
        archive: &mut Archive,
        other: &Foreign,
        options: &'a SyncOptions<'a>,
    ) -> Result<Self, ArchiveError> {
        if let Machine::This(label) = options.machine {
            let id = archive.own_machine(label)?;
            machine::set_label(&archive.db, &id, label)?;
        }
        Ok(Self { known: BTreeMap::new(), options, is_old: !other.has_digests })
    }

    /// Returns the id of a machine. Older archives identified machines by name only.
    fn id(&mut self, archive: &Archive, theirs: &str) -> Result<MachineId, ArchiveError> {
        if machine::is_valid(theirs) {
            return Ok(theirs.into());
        }
        if let Some(known) = self.known.get(theirs) {
            return Ok(known.clone());
        }
        let own = archive.machine.as_ref().filter(|_| self.is_old);
        let id = match (self.options.machine, own) {
            (Machine::This(label), Some(own)) if label == theirs => own.clone(),
            _ => machine::named(theirs),
        };
        machine::set_label(&archive.db, &id, theirs)?;
        self.known.insert(theirs.to_owned(), id.clone());
        Ok(id)
    }
}

/// Copies the pieces that a source lacks, unless it must not have any.
fn copy_pieces(
    from: &Connection,
    captured: &Captured,
    to: &Connection,
    source: i64,
) -> Result<(), ArchiveError> {
    let (kept, size): (bool, i64) = to
        .prepare_cached("SELECT kept, size FROM sources WHERE number = ?1")?
        .query_row([source], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if !kept || captured.end > size.cast_unsigned() {
        return Ok(());
    }
    captured.each::<ArchiveError>(from, |piece| {
        let known = to
            .prepare_cached(
                "SELECT start, length, hash, data FROM captures WHERE source = ?1 AND start = ?2",
            )?
            .query_row(params![source, piece.start.cast_signed()], Piece::from_row)
            .optional()?;
        // Keeps the existing piece only if it verifies and is at least as long.
        let is_good = |known: &Piece| known.length >= piece.length && known.bytes().is_some();
        if !known.as_ref().is_some_and(is_good) {
            piece.insert(to, source)?;
        }
        Ok(())
    })?;
    to.prepare_cached(
        "UPDATE sources SET captured = max(captured, ?2),
             lost = max(captured, ?2) - (SELECT ifnull(sum(length), 0) FROM captures WHERE source = number)
         WHERE number = ?1",
    )?
    .execute(params![source, captured.end.cast_signed()])?;
    Ok(())
}

fn foreign(path: &Path, why: &str) -> ArchiveError {
    ArchiveError::Foreign { path: path.to_owned(), why: why.to_owned() }
}
