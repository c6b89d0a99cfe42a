//! The archive's file: made, opened, recognized.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::{Archive, ArchiveError, ledger};
use crate::agent::gemini;

/// "bkst", so that other programs can tell what the file is.
const APPLICATION: i32 = 0x626b_7374;

/// Steps of the user's own tables; never edited, only added to.
const USER: [&str; 1] = [include_str!("schema/user.sql")];

const DERIVED: &str = include_str!("schema/derived.sql");

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

impl Archive {
    /// An archive for one run, gone at its end.
    pub fn in_memory() -> Result<Self, ArchiveError> {
        let db = Connection::open_in_memory()?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        let archive = Self { db, path: None, read_only: false };
        archive.create()?;
        Ok(archive)
    }

    /// Opens the archive, or makes a new one. What cannot be written is opened for reading.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            return Err(cannot(path, &"it is a folder"));
        }
        let is_new = !path.exists();
        if is_new {
            prepare_place(path).map_err(|error| cannot(path, &error))?;
        }
        let archive = match Self::connect(path, false) {
            Err(ArchiveError::Sql(error)) if is_read_only(&error) => Self::connect(path, true)?,
            other => other.map_err(|error| explain(path, error))?,
        };
        archive.check_version(path)?;
        Ok(archive)
    }

    /// Opens an archive of any version, to take over what can be taken over.
    pub(super) fn open_any(path: &Path) -> Result<Self, ArchiveError> {
        if !path.exists() {
            return Err(cannot(path, &"it is not there"));
        }
        let archive = Self::connect(path, false).map_err(|error| explain(path, error))?;
        // What is damaged shows when it is read.
        archive.db.query_row("SELECT count(*) FROM sources", [], |row| row.get::<_, i64>(0))?;
        Ok(archive)
    }

    fn connect(path: &Path, read_only: bool) -> Result<Self, ArchiveError> {
        let db = if read_only {
            // Another process may not be writing to it: then nothing changes under our feet.
            let uri = format!("file:{}?immutable=1", escaped(path));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(uri, flags)?
        } else {
            let db = Connection::open(path)?;
            db.busy_timeout(PATIENCE)?;
            write_ahead(&db)?;
            db
        };
        db.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;")?;
        let archive = Self { db, path: Some(path.to_owned()), read_only };
        if !read_only && archive.user_version()? == 0 && archive.is_empty()? {
            archive.create()?;
        }
        Ok(archive)
    }

    fn create(&self) -> Result<(), ArchiveError> {
        let db = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        // Another run may have begun at the same time.
        if !self.is_empty()? {
            return Ok(());
        }
        db.execute_batch(&format!("PRAGMA application_id = {APPLICATION};"))?;
        for step in USER {
            db.execute_batch(step)?;
        }
        db.execute_batch(DERIVED)?;
        ledger::set_note(&db, "version", current_version().as_bytes())?;
        db.execute_batch(&format!("PRAGMA user_version = {};", USER.len()))?;
        Ok(db.commit()?)
    }

    fn user_version(&self) -> Result<usize, ArchiveError> {
        let version: i64 = self.db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok(usize::try_from(version).unwrap_or(usize::MAX))
    }

    fn is_empty(&self) -> Result<bool, ArchiveError> {
        let tables: i64 =
            self.db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok(tables == 0)
    }

    fn check_version(&self, path: &Path) -> Result<(), ArchiveError> {
        let application: i32 = self.db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if application != APPLICATION {
            return Err(ArchiveError::NotOurs(path.to_owned()));
        }
        if self.user_version()? > USER.len() {
            return Err(ArchiveError::Newer(path.to_owned()));
        }
        let version = self.note("version").ok().flatten().unwrap_or_default();
        if version != current_version().as_bytes() {
            let theirs = String::from_utf8_lossy(&version).into_owned();
            let newer = theirs.split('.').next().and_then(|n| n.parse::<u32>().ok());
            return Err(match newer {
                Some(theirs) if theirs > VERSION => ArchiveError::Newer(path.to_owned()),
                _ => ArchiveError::Outdated(path.to_owned()),
            });
        }
        Ok(())
    }
}

/// Readers and a writer do not wait for each other. Two runs that switch a new file to that at once are
/// refused without waiting, so the waiting is ours.
fn write_ahead(db: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let switched = db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
        match switched.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::DatabaseBusy) if Instant::now() < end => thread::sleep(PAUSE),
            _ => return switched,
        }
    }
}

/// Changes with the derived tables.
const VERSION: u32 = 3;

fn current_version() -> String {
    format!("{VERSION}.{}", gemini::VERSION)
}

/// The folder and the file are for the user alone: they hold all that was ever said.
fn prepare_place(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.exists()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(|_| ())
}

/// A path inside a URI.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> ArchiveError {
    ArchiveError::Open { path: path.to_owned(), why: error.to_string() }
}

/// What is wrong with the file itself is told as such.
pub(super) fn explain(path: &Path, error: ArchiveError) -> ArchiveError {
    let path = || PathBuf::from(path);
    match &error {
        ArchiveError::Sql(sql) => match sql.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                ArchiveError::Corrupt(path())
            }
            Some(ErrorCode::DiskFull) => ArchiveError::DiskFull(path()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ArchiveError::Busy(path()),
            _ => error,
        },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_begin_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..20 {
            let path = folder.path().join(format!("{n}.db"));
            let opened: Vec<_> = std::thread::scope(|scope| {
                let open = || scope.spawn(|| Archive::open(&path).map(|_| ()));
                let threads: Vec<_> = (0..8).map(|_| open()).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for opened in opened {
                opened.unwrap();
            }
        }
    }
}
