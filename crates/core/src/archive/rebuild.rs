//! Builds a new archive from an old one and replaces it.
//!
//! The new file replaces the old one only if it verifiably contains at least as much. A damaged
//! archive is set aside, never overwritten.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::capture::Piece;
use super::lock::{Lock, Mode};
use super::open::cannot;
use super::sync::SyncOptions;
use super::temporary::{TemporaryFile, remove_logs, sweep_all, sync_folder, with_ending};
use super::{Archive, ArchiveError, Foreign, Imported, machine, parcel, salvage};

/// An archive that is being rebuilt. No other process can write to it until this is dropped.
pub struct Rebuild {
    path: PathBuf,
    _lock: Lock,
}

/// The result of a rebuild.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Counts of imported data.
    pub imported: Imported,
    /// The path to which the old archive was moved because not all of it could be read.
    pub aside: Option<PathBuf>,
}

impl Rebuild {
    /// Waits until nobody else writes to the archive.
    pub fn begin(path: &Path) -> Result<Self, ArchiveError> {
        let lock = Lock::wait(path, Mode::Exclusive).map_err(|error| cannot(path, &error))?;
        sweep_all(path);
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Returns whether the archive is still outdated; another process may have rebuilt it.
    pub fn is_needed(&self) -> bool {
        matches!(Archive::open_to_read(&self.path), Err(ArchiveError::Outdated(_)))
    }

    /// Returns the number of files in the old archive, for a progress bar.
    pub fn count(&self) -> usize {
        Foreign::salvage(&self.path).map_or(0, |old| old.count())
    }

    /// Builds the new archive and replaces the old one.
    pub fn run(
        &self,
        options: &SyncOptions<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<Rebuilt, ArchiveError> {
        let path = &self.path;
        let failed = |error: io::Error| cannot(path, &error);
        let is_healthy = self.settle_log();
        let new = TemporaryFile::create(path, "rebuild").map_err(failed)?;
        let mut archive = Archive::create_private(new.path())?;
        archive.machine = machine::read(path).map_err(failed)?;
        let mut out = Rebuilt::default();
        let old = Foreign::salvage(path).ok().filter(|_| path.exists());
        match &old {
            Some(old) => out.imported = archive.import(old, options, progress)?,
            None if path.exists() => {
                out.imported.lost.push("everything: not even its tables can be read".to_owned());
            }
            None => {}
        }
        if let Some(old) = &old {
            check_superset(&archive, old, &out.imported.numbers, path)?;
            if is_healthy && out.imported.is_perfect() {
                parcel::keep_exchanged(&old.db, &archive.db)?;
            }
        }
        if let Some(machine) = &archive.machine {
            machine::write(path, machine).map_err(failed)?;
        }
        drop(old);
        archive.close_whole()?;
        if path.exists() && (!is_healthy || !out.imported.is_perfect()) {
            out.aside = Some(self.set_aside().map_err(failed)?);
        }
        // The log belongs to the old file. It is empty, or was set aside.
        remove_logs(path);
        new.replace(path).map_err(failed)?;
        Ok(out)
    }

    /// Moves SQLite's log into the old file, so that it can be read without one. Returns whether
    /// the archive is healthy.
    fn settle_log(&self) -> bool {
        Archive::connect(&self.path).is_ok_and(|old| {
            let is_well = old.check_version(&self.path);
            let is_well = matches!(is_well, Ok(()) | Err(ArchiveError::Outdated(_)));
            is_well && old.empty_log().unwrap_or(false)
        })
    }

    /// Links the old file and its log to another name, which no earlier file has.
    fn set_aside(&self) -> io::Result<PathBuf> {
        let mut number = 1;
        let aside = loop {
            let ending =
                if number == 1 { "damaged".to_owned() } else { format!("damaged-{number}") };
            let aside = self.path.with_extension(ending);
            match fs::hard_link(&self.path, &aside) {
                Ok(()) => break aside,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(_) => {
                    fs::copy(&self.path, &aside)?;
                    break aside;
                }
            }
        };
        let log = with_ending(&self.path, "-wal");
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            fs::copy(log, with_ending(&aside, "-wal"))?;
        }
        sync_folder(&aside)?;
        Ok(aside)
    }
}

/// Fails unless the new archive contains everything that verifies in the old one: every piece,
/// name, tag and tombstone. Only forgotten or excluded sessions may be missing, and files whose
/// rows were damaged or refused.
fn check_superset(
    new: &Archive,
    old: &Foreign,
    imported: &HashSet<i64>,
    path: &Path,
) -> Result<(), ArchiveError> {
    let lacks = |what: String| Err(ArchiveError::Incomplete(what, path.to_owned()));
    let missing = missing_pieces(new, old, imported)?;
    if missing > 0 {
        return lacks(format!("{missing} captured pieces"));
    }
    for (table, key) in
        [("names", "session"), ("tags", "session || ' ' || tag"), ("forgotten", "session")]
    {
        let keys = |db: &Connection| -> rusqlite::Result<HashSet<String>> {
            let mut find = db.prepare(&format!("SELECT {key} FROM {table}"))?;
            find.query_map([], |row| row.get(0))?.collect()
        };
        // Unreadable parts of the old archive are already listed.
        let Ok(theirs) = keys(&old.db) else { continue };
        let (ours, forgotten) = (keys(&new.db)?, new.forgotten()?);
        let is_missing = |key: &&String| {
            let session = key.split(' ').next().unwrap_or_default();
            !ours.contains(*key) && !forgotten.contains(session)
        };
        let missing = theirs.iter().filter(is_missing).count();
        if missing > 0 {
            return lacks(format!("{missing} rows of `{table}`"));
        }
    }
    Ok(())
}

/// Counts the pieces that verify in the old archive and are missing from the new one, although
/// their file was imported.
fn missing_pieces(
    new: &Archive,
    old: &Foreign,
    imported: &HashSet<i64>,
) -> Result<u64, ArchiveError> {
    let mut find = new.db.prepare("SELECT DISTINCT hash FROM captures")?;
    let held: HashSet<Vec<u8>> =
        find.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut is_left_out = new.db.prepare("SELECT 1 FROM sources WHERE path = ?1 AND NOT kept")?;
    let mut missing = 0;
    for row in salvage::row_ids(&old.db, "captures").0 {
        let hash = old
            .db
            .prepare_cached("SELECT hash FROM captures WHERE rowid = ?1")
            .and_then(|mut find| find.query_row([row], |row| row.get::<_, Vec<u8>>(0)));
        if hash.is_ok_and(|hash| held.contains(&hash)) {
            continue;
        }
        let path = old
            .db
            .prepare_cached(
                "SELECT start, length, hash, data, path, number FROM captures JOIN sources ON number = source
                 WHERE captures.rowid = ?1 AND kept AND start < captured",
            )
            .and_then(|mut find| {
                find.query_row([row], |row| {
                    Ok((Piece::from_row(row)?, row.get::<_, String>(4)?, row.get(5)?))
                })
            });
        if let Ok((piece, path, number)) = path
            && imported.contains(&number)
            && piece.bytes().is_some()
            && !is_left_out.exists([path])?
        {
            missing += 1;
        }
    }
    Ok(missing)
}
