//! Sample databases, and ways to look at them.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use backstory_pages::checksum;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, Result, params};
use tempfile::TempDir;

/// The journal modes that pages reach the database file in differently.
pub(crate) const MODES: [&str; 2] = ["DELETE", "WAL"];

/// A folder for the files of one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Numbers that look random and are the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// Opens a database with checksums.
pub(crate) fn open(path: &Path) -> Connection {
    let db = backstory_pages::open(path, OpenFlags::default()).unwrap();
    db.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    db
}

/// Creates the tables of a sample database.
pub(crate) fn schema(db: &Connection) {
    db.execute_batch(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, data BLOB);
         CREATE INDEX by_text ON notes (text);
         CREATE VIRTUAL TABLE words USING fts5 (text);",
    )
    .unwrap();
}

/// Adds rows in one transaction, some of them much larger than a page.
pub(crate) fn add(db: &Connection, random: &mut Random, rows: usize) -> Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    for _ in 0..rows {
        let text = format!("word{} and word{}", random.below(500), random.below(500));
        let len = if random.below(20) == 0 { random.below(20_000) } else { random.below(600) };
        let data = random.bytes(len);
        db.execute("INSERT INTO notes (text, data) VALUES (?1, ?2)", params![text, data])?;
        db.execute("INSERT INTO words (text) VALUES (?1)", params![text])?;
    }
    db.execute_batch("COMMIT")
}

/// Creates a sample database and closes it.
pub(crate) fn create(path: &Path, mode: &str, rows: usize) {
    let db = open(path);
    db.pragma_update(None, "journal_mode", mode).unwrap();
    schema(&db);
    add(&db, &mut Random(1), rows).unwrap();
    db.close().unwrap();
}

/// Reads every value of every table and condenses them to a number.
pub(crate) fn digest(db: &Connection) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    for sql in [
        "SELECT id, text, data FROM notes ORDER BY id",
        "SELECT text FROM notes ORDER BY text",
        "SELECT rowid, text FROM words ORDER BY rowid",
        "SELECT count(*) FROM words ('word1* OR word2* OR word3*')",
    ] {
        let mut query = db.prepare(sql)?;
        let columns = query.column_count();
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => 0.hash(&mut hasher),
                    ValueRef::Integer(value) => value.hash(&mut hasher),
                    ValueRef::Real(value) => value.to_bits().hash(&mut hasher),
                    ValueRef::Text(value) | ValueRef::Blob(value) => value.hash(&mut hasher),
                }
            }
        }
    }
    Ok(hasher.finish())
}

/// Returns what `PRAGMA integrity_check` finds, without its `ok`.
pub(crate) fn faults(db: &Connection) -> Result<Vec<String>> {
    let mut check = db.prepare("PRAGMA integrity_check")?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// Asserts that a database is sound, and returns its digest.
pub(crate) fn sound(db: &Connection) -> u64 {
    assert_eq!(faults(db).unwrap(), [""; 0]);
    digest(db).unwrap()
}

/// Returns whether something failed because of a checksum.
pub(crate) fn is_mismatch<T: Debug>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::SqliteFailure(error, _))
        if error.extended_code == backstory_pages::MISMATCH)
}

/// Returns the size of a database's pages.
pub(crate) fn page_size(file: &[u8]) -> usize {
    match u16::from_be_bytes([file[16], file[17]]) {
        1 => 65536,
        size => usize::from(size),
    }
}

/// Asserts that every page in a database file has its checksum, used or not. The page that SQLite
/// has its locks on is never written.
pub(crate) fn assert_stamped(path: &Path) {
    let file = fs::read(path).unwrap();
    assert_eq!(file[20], 8, "the reserved bytes");
    let size = page_size(&file);
    assert_eq!(file.len() % size, 0);
    for (number, page) in (1_u32..).zip(file.chunks(size)) {
        let locks = (number as usize - 1) * size == 1 << 30;
        assert!(
            locks || checksum::matches(page, number.into()),
            "page {number} of {}",
            file.len() / size
        );
    }
}
