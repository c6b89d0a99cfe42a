//! Reads Codex CLI's own list of threads, `state_*.sqlite`: which file of a thread is the current one, and what
//! the thread is called.
//!
//! SQLite cannot read a database with a write-ahead log without writing next to it, and the newest rows may be
//! in that log. So both files are copied to a private folder, and the copy is read. The other columns and
//! tables are not.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::format::{RolloutName, list_line, read_list};
use crate::facts::ListedSession;
use crate::model::SessionId;
use crate::read::bytes::open_regular;

/// The largest database that is read.
const MOST_BYTES: u64 = 256 << 20;

/// The number of times that a database is copied if Codex CLI writes to it meanwhile.
const TRIES: usize = 3;

/// Returns the path of a database's write-ahead log.
pub(super) fn log(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Returns the lines to add to the earlier extract of a list.
pub(super) fn extract(path: &Path, earlier: &[u8]) -> io::Result<Vec<u8>> {
    let known = read_list(earlier)?.into_iter().map(|one| (one.session.clone(), one));
    let known: HashMap<SessionId, ListedSession> = known.collect();
    let listed = threads(&copy(path)?).map_err(io::Error::other)?;
    let is_new = |listed: &&ListedSession| known.get(&listed.session) != Some(*listed);
    Ok(listed.iter().filter(is_new).map(list_line).collect::<String>().into_bytes())
}

/// Reads the threads of a copied database, sorted by id.
fn threads(folder: &TempDir) -> rusqlite::Result<Vec<ListedSession>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(folder.path().join(COPY), flags)?;
    db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    // A view could compute anything.
    let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'threads' AND type = 'table'";
    if !db.prepare(sql)?.exists([])? {
        return Ok(Vec::new());
    }
    let has_name = db.prepare("SELECT name FROM threads").is_ok();
    let name = if has_name { "name" } else { "NULL" };
    let sql = format!("SELECT id, rollout_path, {name} FROM threads ORDER BY id");
    let mut find = db.prepare(&sql)?;
    let rows = find.query_map([], |row| {
        let text = |column| row.get::<_, Option<String>>(column).ok().flatten();
        Ok(text(0).map(|id| listed(id, text(1).as_deref(), text(2))))
    })?;
    rows.filter_map(Result::transpose).collect()
}

/// Returns what a row says about a thread. The folder of its file is left out: archiving moves the file.
fn listed(session: String, path: Option<&str>, name: Option<String>) -> ListedSession {
    let file = path.and_then(|path| path.rsplit(['/', '\\']).next());
    let file = file.map(|file| file.strip_suffix(".zst").unwrap_or(file));
    let is_own =
        |file: &&str| RolloutName::of(Path::new(file)).is_some_and(|name| name.thread == session);
    let file = file.filter(is_own).map(str::to_owned);
    let name = name.filter(|name| !name.trim().is_empty());
    ListedSession { session: session.into(), file, name }
}

/// The name of the copy in its folder.
const COPY: &str = "state.sqlite";

/// Copies a database and its log into a private folder.
fn copy(path: &Path) -> io::Result<TempDir> {
    let log = log(path);
    for _ in 0..TRIES {
        let before = (state(path)?, state(&log).ok());
        if before.0.0.saturating_add(before.1.map_or(0, |log| log.0)) > MOST_BYTES {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let folder = tempfile::tempdir()?;
        let to = folder.path().join(COPY);
        copy_file(path, &to)?;
        if before.1.is_some() {
            copy_file(&log, &self::log(&to))?;
        }
        if (state(path)?, state(&log).ok()) == before {
            return Ok(folder);
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "it is being written"))
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut open_regular(from)?, &mut File::create_new(to)?).map(|_| ())
}

/// Returns the size and the time of the last change of a file.
fn state(path: &Path) -> io::Result<(u64, Option<SystemTime>)> {
    fs::metadata(path).map(|about| (about.len(), about.modified().ok()))
}
