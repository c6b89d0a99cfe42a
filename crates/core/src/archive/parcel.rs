//! Writes parcels: captured files of this machine in a file of their own, which another machine merges.
//!
//! A parcel contains only what this machine added: its own files, never those it received. The user's
//! names, tags and tombstones are in every parcel, because they are small and about any session.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params, params_from_iter};

use super::open::{cannot, compare_version, open_file};
use super::stamp::Stamp;
use super::temporary::make_private;
use super::{Archive, ArchiveError, notes};

/// "bkpc", which identifies the file to other programs.
const APPLICATION: i32 = 0x626b_7063;

/// The version of its tables.
const VERSION: i32 = 1;

const TABLES: &str = include_str!("schema/parcel.sql");

/// The key of the note in which the caller remembers earlier exchanges.
const EXCHANGED: &str = "exchanged";

/// The tables of the user's names, tags and tombstones, and their columns.
const ANNOTATIONS: [(&str, &str); 3] = [
    ("names", "session, name, at"),
    ("tags", "session, tag, at, removed"),
    ("forgotten", "session, at"),
];

/// Selects the files that a parcel can contain. What exists but is not captured completely waits for the
/// next sync.
const SHAREABLE: &str =
    "machine = ?1 AND kept AND (captured = size OR state != 'live' AND captured > 0)";

/// The state of what this machine can put into parcels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shareable {
    /// Its own captured files.
    pub files: Vec<ShareableFile>,
    /// Changes with the user's names, tags and tombstones, and with the name of this machine.
    pub annotations: i64,
    /// Changes when sessions are forgotten, so that older parcels must not be kept.
    pub forgotten: i64,
}

/// A captured file of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareableFile {
    /// Identifies the file with its content and state.
    pub stamp: i64,
    /// Its size in a parcel.
    pub bytes: u64,
    number: i64,
}

impl Archive {
    /// Returns what this machine can put into parcels.
    pub fn shareable(&self) -> Result<Shareable, ArchiveError> {
        let db = self.db.unchecked_transaction()?;
        let own = self.machine.as_deref().unwrap_or_default();
        let mut annotations = Stamp::default();
        for (table, columns) in ANNOTATIONS {
            stamp_rows(&db, &mut annotations, &format!("SELECT {columns} FROM {table}"), &[])?;
        }
        let label = "SELECT label FROM machines WHERE id = ?1";
        stamp_rows(&db, &mut annotations, label, &[&own])?;
        let mut forgotten = Stamp::default();
        stamp_rows(&db, &mut forgotten, "SELECT session FROM forgotten", &[])?;
        Ok(Shareable {
            files: files(&db, own)?,
            annotations: annotations.finish(),
            forgotten: forgotten.finish(),
        })
    }

    /// Writes a new file with the given captured files, and returns the stamps of those that still
    /// exist.
    pub fn write_parcel(
        &self,
        to: &Path,
        stamps: &BTreeSet<i64>,
    ) -> Result<BTreeSet<i64>, ArchiveError> {
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        make_private(&mut options);
        options.open(to).map_err(|error| cannot(to, &error))?;
        let parcel = open_file(to)?;
        parcel.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")?;
        create(&parcel)?;
        let own = self.machine.as_deref().unwrap_or_default();
        // All rows are of one moment.
        let db = self.db.unchecked_transaction()?;
        for (table, columns) in ANNOTATIONS {
            copy(&db, &parcel, table, columns, "true", &[])?;
        }
        copy(&db, &parcel, "machines", "id, label", "id = ?1", &[&own])?;
        copy(&db, &parcel, "notes", "key, value", "key = 'projects'", &[])?;
        let mut written = BTreeSet::new();
        for file in files(&db, own)?.iter().filter(|file| stamps.contains(&file.stamp)) {
            let columns = "number, machine, agent, path, kind, folder, size, modified, changed, \
                           inode, state, captured, kept";
            copy(&db, &parcel, "sources", columns, "number = ?1", &[&file.number])?;
            let columns = "source, start, length, hash, data";
            copy(&db, &parcel, "captures", columns, "source = ?1", &[&file.number])?;
            written.insert(file.stamp);
        }
        parcel.execute_batch("COMMIT")?;
        parcel.close().map_err(|(_, error)| error)?;
        Ok(written)
    }

    /// Returns what a caller stored with [`Self::set_exchanged`]. A rebuild of a damaged archive removes it,
    /// because received files may be lost too.
    pub fn exchanged(&self) -> Result<Option<Vec<u8>>, ArchiveError> {
        Ok(self.note(EXCHANGED)?)
    }

    /// Stores a value for the caller that exchanges parcels, in the archive so that an older copy of the
    /// archive also has the older value.
    pub fn set_exchanged(&mut self, value: &[u8]) -> Result<(), ArchiveError> {
        let _lock = self.write_lock()?;
        Ok(notes::set(&self.db, EXCHANGED, value)?)
    }
}

/// Carries the caller's value over to an archive that has everything of an older one.
pub(super) fn keep_exchanged(from: &Connection, to: &Connection) -> rusqlite::Result<()> {
    match notes::get(from, EXCHANGED) {
        Ok(Some(value)) => notes::set(to, EXCHANGED, &value),
        // Older versions may not have had such a table.
        _ => Ok(()),
    }
}

/// Returns an empty database with exactly the tables that a file to be merged must have: those of a
/// parcel or, if it is an archive of this version, of an archive.
pub(super) fn model(db: &Connection, path: &Path) -> Result<Connection, ArchiveError> {
    let number = |sql| db.query_row(sql, [], |row| row.get::<_, i32>(0));
    if number("PRAGMA application_id")? != APPLICATION {
        compare_version(db, path)?;
        return Ok(Archive::in_memory()?.db);
    }
    if number("PRAGMA user_version")? > VERSION {
        return Err(ArchiveError::Newer(path.to_owned()));
    }
    let parcel = Connection::open_in_memory()?;
    create(&parcel)?;
    Ok(parcel)
}

/// Creates the tables of a parcel.
fn create(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(&format!("PRAGMA application_id = {APPLICATION};"))?;
    db.execute_batch(&format!("PRAGMA user_version = {VERSION};"))?;
    db.execute_batch(TABLES)
}

fn files(db: &Connection, machine: &str) -> rusqlite::Result<Vec<ShareableFile>> {
    let mut find = db.prepare_cached(&format!(
        "SELECT number, agent, path, kind, folder, state, size, captured, lost, digest,
                (SELECT ifnull(sum(length(data)), 0) FROM captures WHERE source = number)
         FROM sources WHERE {SHAREABLE} ORDER BY number"
    ))?;
    let rows = find.query_map(params![machine], |row| {
        let mut stamp = Stamp::default();
        for column in 1..=9 {
            stamp_value(&mut stamp, row.get(column)?);
        }
        let bytes = row.get::<_, i64>(10)?.cast_unsigned();
        Ok(ShareableFile { stamp: stamp.finish(), bytes, number: row.get(0)? })
    })?;
    rows.collect()
}

fn stamp_rows(
    db: &Connection,
    stamp: &mut Stamp,
    sql: &str,
    given: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached(sql)?;
    let count = find.column_count();
    let mut rows = find.query(given)?;
    while let Some(row) = rows.next()? {
        for column in 0..count {
            stamp_value(stamp, row.get(column)?);
        }
    }
    Ok(())
}

fn stamp_value(stamp: &mut Stamp, value: Value) {
    match value {
        Value::Integer(number) => stamp.number(number.into()),
        Value::Text(text) => stamp.text(&text),
        Value::Blob(bytes) => stamp.bytes(&bytes),
        Value::Null | Value::Real(_) => stamp.bytes(&[]),
    };
}

/// Copies rows from one database to another.
fn copy(
    from: &Connection,
    to: &Connection,
    table: &str,
    columns: &str,
    condition: &str,
    given: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let sql = format!("SELECT {columns} FROM {table} WHERE {condition}");
    let mut find = from.prepare_cached(&sql)?;
    let count = find.column_count();
    let places: Vec<String> = (1..=count).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT INTO {table} ({columns}) VALUES ({})", places.join(", "));
    let mut put = to.prepare_cached(&sql)?;
    let mut rows = find.query(given)?;
    while let Some(row) = rows.next()? {
        let values = (0..count).map(|column| row.get::<_, Value>(column));
        put.execute(params_from_iter(values.collect::<rusqlite::Result<Vec<_>>>()?))?;
    }
    Ok(())
}
