//! Creates and opens the archive's file, and checks its version.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::lock::{Lock, Mode};
use super::temporary::{TemporaryFile, with_ending};
use super::{Archive, ArchiveError, machine, notes, wal};
use crate::agent::Agents;
use crate::metadata;

/// "bkst", which identifies the file to other programs.
const APPLICATION: i32 = 0x626b_7374;

/// The migrations of the user's own tables. Released ones are never edited; new ones are appended.
const USER: [&str; 2] = [include_str!("schema/user.sql"), include_str!("schema/user2.sql")];

const DERIVED: &str = include_str!("schema/derived.sql");

/// Changes with the derived tables.
const VERSION: u32 = 13;

/// The longest time to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of statements that stay prepared; a change of a session needs about half of them.
const STATEMENTS: usize = 64;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

impl Archive {
    /// Uses other agents than those of this library, such as one of the caller's own.
    #[must_use]
    pub fn with_agents(mut self, agents: Agents) -> Self {
        self.agents = agents;
        self
    }

    /// Creates a temporary archive in memory.
    pub fn in_memory() -> Result<Self, ArchiveError> {
        let db = Connection::open_in_memory()?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        plan_once(&db)?;
        create(&db)?;
        Ok(Self::around(db, None))
    }

    /// Opens the archive or creates a new one, after waiting for structural work on it to end. An
    /// archive that cannot be written is opened for reading.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_with(path, |mode| Lock::wait(path, mode).map(Some))?
            .ok_or_else(|| ArchiveError::Busy(path.to_owned()))
    }

    /// Opens the archive like [`Self::open`], unless another process does structural work on it.
    pub fn open_if_free(path: &Path) -> Result<Option<Self>, ArchiveError> {
        Self::open_with(path, |mode| Lock::try_take(path, mode))
    }

    /// Opens the archive for reading only, regardless of what other processes do with it.
    pub fn open_to_read(path: &Path) -> Result<Self, ArchiveError> {
        let (db, copy) = open_unchanged(path, Pages::Verified)?;
        let mut archive = Self::around(db, Some(path));
        archive.read_only = true;
        archive.copy = copy;
        archive.check_version(path)?;
        archive.machine = machine::read(path).map_err(|error| cannot(path, &error))?;
        Ok(archive)
    }

    /// Keeps fewer pages in memory, for a program that has several connections open all the time.
    pub fn with_small_cache(self) -> Result<Self, ArchiveError> {
        self.db.execute_batch("PRAGMA cache_size = -2000;")?;
        Ok(self)
    }

    /// Opens what the file itself contains, without its log, at once and without writing anything. The
    /// newest sessions may be missing, and reading may fail while another process writes; completions
    /// can bear both.
    pub fn open_without_log(path: &Path) -> Result<Self, ArchiveError> {
        let mut archive = Self::around(open_immutable(path, Pages::Verified)?, Some(path));
        archive.read_only = true;
        archive.check_version(path)?;
        Ok(archive)
    }

    fn open_with(
        path: &Path,
        lock: impl Fn(Mode) -> io::Result<Option<Lock>>,
    ) -> Result<Option<Self>, ArchiveError> {
        if path.is_dir() {
            return Err(cannot(path, &"it is a folder"));
        }
        if !path.exists() {
            make_folder(path).map_err(|error| cannot(path, &error))?;
            let Some(_lock) = lock(Mode::Exclusive).map_err(|error| cannot(path, &error))? else {
                return Ok(None);
            };
            if !path.exists() {
                Self::create_file(path)?;
            }
        }
        let _lock = match lock(Mode::Shared) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Ok(None),
            // If the folder cannot be written, nobody else writes there either.
            Err(error) if is_denied(&error) => return Self::open_to_read(path).map(Some),
            Err(error) => return Err(cannot(path, &error)),
        };
        match Self::connect(path) {
            Err(ArchiveError::Sql(error)) if is_read_only(&error) => Self::open_to_read(path),
            Ok(archive) if archive.db.is_readonly("main")? => Self::open_to_read(path),
            Ok(mut archive) => {
                archive.check_version(path)?;
                archive.machine = machine::read(path).map_err(|error| cannot(path, &error))?;
                Ok(archive)
            }
            Err(error) => Err(explain(path, error)),
        }
        .map(Some)
    }

    /// Creates an empty archive that only its creator uses, such as during a rebuild.
    pub(super) fn create_private(path: &Path) -> Result<Self, ArchiveError> {
        let mut archive = Self::connect(path)?;
        create(&archive.db)?;
        archive.is_private = true;
        Ok(archive)
    }

    /// Creates an archive that appears complete or not at all. An existing machine id next to it
    /// belongs to an earlier archive and is removed.
    fn create_file(path: &Path) -> Result<(), ArchiveError> {
        let new = TemporaryFile::create(path, "new").map_err(|error| cannot(path, &error))?;
        let archive = Self::create_private(new.path())?;
        archive.close_whole()?;
        machine::remove(path).map_err(|error| cannot(path, &error))?;
        new.place_new(path).map_err(|error| cannot(path, &error))
    }

    /// Closes the archive as a single file. SQLite's files next to it would be left behind when it
    /// is moved.
    pub(super) fn close_whole(self) -> Result<(), ArchiveError> {
        self.empty_log()?;
        self.db.execute_batch("PRAGMA journal_mode = DELETE")?;
        self.db.close().map_err(|(_, error)| error.into())
    }

    fn around(db: Connection, path: Option<&Path>) -> Self {
        Self {
            db,
            path: path.map(Path::to_owned),
            file: path.and_then(file_id),
            read_only: false,
            is_private: path.is_none(),
            machine: None,
            reading: None,
            copy: None,
            unread: Cell::new(0),
            keys: RefCell::new(None),
            indexed: Cell::new(None),
            agents: Agents::default(),
        }
    }

    pub(super) fn connect(path: &Path) -> Result<Self, ArchiveError> {
        if wal::is_damaged(path).map_err(|error| cannot(path, &error))? {
            return Err(ArchiveError::Corrupt(path.to_owned()));
        }
        let db = open_file(path)?;
        db.busy_timeout(PATIENCE)?;
        write_ahead(&db)?;
        tune(&db)?;
        Ok(Self::around(db, Some(path)))
    }

    /// Takes the lock for writing. If a rebuild has replaced the archive in the meantime, it is
    /// reopened.
    pub(super) fn write_lock(&mut self) -> Result<Option<Lock>, ArchiveError> {
        self.take_lock(Mode::Shared)
    }

    /// Takes the lock for structural work.
    pub(super) fn structural_lock(&mut self) -> Result<Option<Lock>, ArchiveError> {
        self.take_lock(Mode::Exclusive)
    }

    /// Returns whether another process does structural work on an archive, so that opening it would
    /// wait.
    pub fn is_busy(path: &Path) -> bool {
        path.exists() && matches!(Lock::try_take(path, Mode::Shared), Ok(None))
    }

    /// Returns whether another file has taken the place of the one that was opened, as after a rebuild.
    pub fn is_replaced(&self) -> bool {
        self.path.as_deref().is_some_and(|path| file_id(path) != self.file)
    }

    fn take_lock(&mut self, mode: Mode) -> Result<Option<Lock>, ArchiveError> {
        let Some(path) = self.path.clone().filter(|_| !self.is_private) else { return Ok(None) };
        if self.read_only {
            return Err(ArchiveError::ReadOnly(path));
        }
        let lock = Lock::wait(&path, mode).map_err(|error| cannot(&path, &error))?;
        if self.is_replaced() {
            let mut again = Self::connect(&path).map_err(|error| explain(&path, error))?;
            again.check_version(&path)?;
            again.machine = machine::read(&path).map_err(|error| cannot(&path, &error))?;
            again.reading.clone_from(&again.machine);
            again.agents = self.agents;
            *self = again;
        }
        Ok(Some(lock))
    }

    pub(super) fn check_version(&self, path: &Path) -> Result<(), ArchiveError> {
        let checked = compare_version(&self.db, path);
        match &checked {
            // The version is read despite the damage, because an outdated archive is rebuilt in any
            // case.
            Err(error) if error.is_damage() => {
                match compare_version(&open_immutable(path, Pages::AsTheyAre)?, path) {
                    Err(outdated @ ArchiveError::Outdated(_)) => Err(outdated),
                    _ => Err(ArchiveError::Corrupt(path.to_owned())),
                }
            }
            _ => checked,
        }
    }
}

/// Fails unless a database is an archive of this version.
pub(super) fn compare_version(db: &Connection, path: &Path) -> Result<(), ArchiveError> {
    let number = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    if number("PRAGMA application_id")? != i64::from(APPLICATION) {
        return Err(ArchiveError::NotOurs(path.to_owned()));
    }
    if usize::try_from(number("PRAGMA user_version")?).is_ok_and(|steps| steps > USER.len()) {
        return Err(ArchiveError::Newer(path.to_owned()));
    }
    let theirs = notes::get(db, "version")?.unwrap_or_default();
    if theirs == current_version().as_bytes() {
        return Ok(());
    }
    let theirs = String::from_utf8_lossy(&theirs);
    let parts: Option<Vec<u32>> = theirs.split('.').map(|part| part.parse().ok()).collect();
    Err(match parts.as_deref() {
        Some([theirs, _]) if *theirs > VERSION => ArchiveError::Newer(path.to_owned()),
        Some([_, _]) => ArchiveError::Outdated(path.to_owned()),
        _ => ArchiveError::Corrupt(path.to_owned()),
    })
}

fn create(db: &Connection) -> Result<(), ArchiveError> {
    let db = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    db.execute_batch(&format!("PRAGMA application_id = {APPLICATION};"))?;
    for step in USER {
        db.execute_batch(step)?;
    }
    db.execute_batch(DERIVED)?;
    notes::set(&db, "version", current_version().as_bytes())?;
    db.execute_batch(&format!("PRAGMA user_version = {};", USER.len()))?;
    Ok(db.commit()?)
}

/// Returns the version of the tables and of the agents' readers.
fn current_version() -> String {
    format!("{VERSION}.{}", xxh3_64(Agents::default().revisions().as_bytes()) >> 32)
}

/// The treatment of damaged pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// A page whose checksum does not match is an error.
    Verified,
    /// Checksums are ignored, because the caller handles damage row by row.
    AsTheyAre,
}

impl Pages {
    fn open(self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        match self {
            Self::Verified => backstory_pages::open(path, flags),
            Self::AsTheyAre => Connection::open_with_flags(path, flags),
        }
    }
}

/// Opens a database that must not change. If it has a log, both are copied and the copy is opened,
/// because SQLite cannot read a log without writing next to it.
pub(super) fn open_unchanged(
    path: &Path,
    pages: Pages,
) -> Result<(Connection, Option<TempDir>), ArchiveError> {
    let failed = |error: io::Error| cannot(path, &error);
    let log = with_ending(path, "-wal");
    if !log.metadata().is_ok_and(|log| log.len() > 0) {
        return Ok((open_immutable(path, pages)?, None));
    }
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("archive.db");
    fs::copy(path, &copy).map_err(failed)?;
    fs::copy(log, with_ending(&copy, "-wal")).map_err(failed)?;
    let db = pages.open(&copy, OpenFlags::default())?;
    tune(&db)?;
    Ok((db, Some(folder)))
}

/// Opens a database without its log, for reading only.
fn open_immutable(path: &Path, pages: Pages) -> Result<Connection, ArchiveError> {
    let uri = format!("file:{}?immutable=1", escaped(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = pages.open(Path::new(&uri), flags)?;
    tune(&db)?;
    Ok(db)
}

/// Opens a database for reading and writing.
pub(super) fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    backstory_pages::open(path, OpenFlags::default())
}

fn tune(db: &Connection) -> rusqlite::Result<()> {
    plan_once(db)?;
    db.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA trusted_schema = OFF;",
    )
}

/// Keeps the plans of statements. SQLite would plan some of them again for each new value.
fn plan_once(db: &Connection) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Lets readers and a writer work at the same time. When two processes switch a new file to that
/// mode at once, SQLite fails without waiting, so this function waits.
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

/// Identifies the file at a path, so that a replacement is recognized.
fn file_id(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().as_ref().and_then(metadata::inode)
}

/// Creates the archive's folder for its owner alone, because it will contain every conversation.
fn make_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.exists()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    Ok(())
}

/// Escapes a path for a URI.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

pub(super) fn cannot(path: &Path, error: &dyn std::fmt::Display) -> ArchiveError {
    ArchiveError::Open { path: path.to_owned(), why: error.to_string() }
}

/// Replaces an error of SQLite with one that describes the problem of the file.
pub(super) fn explain(path: &Path, error: ArchiveError) -> ArchiveError {
    let path = || PathBuf::from(path);
    match &error {
        ArchiveError::Sql(_) | ArchiveError::Page if error.is_damage() => {
            ArchiveError::Corrupt(path())
        }
        ArchiveError::Sql(sql) => match sql.sqlite_error_code() {
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
