//! Reads as much as possible of an archive that may be damaged or hostile.
//!
//! Rows are read one by one, so that a damaged page costs only the rows on it. Every captured piece
//! is verified before it is used. A piece that does not verify is replaced with bytes that do: from
//! the agent's own file, or from another piece of the archive with the same content.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest as _, Sha256};

use super::capture::{Piece, lost};
use super::digest::{Digest, Hasher, PIECE, seek};
use crate::discover::Source;
use crate::read::bytes::{Bytes, ReadSeek, open_regular};

/// Returns the ids of the reachable rows of a table, and whether these are all rows.
pub(super) fn row_ids(db: &Connection, table: &str) -> (Vec<i64>, bool) {
    let mut ids = Vec::new();
    let mut from = i64::MIN;
    let mut is_complete = true;
    loop {
        match collect(db, table, from, &mut ids) {
            Ok(()) => return (ids, is_complete),
            Err(_) => is_complete = false,
        }
        let after = ids.last().copied().filter(|last| *last >= from).unwrap_or(from);
        match next_readable(db, table, after) {
            Some(next) => from = next,
            None => return (ids, is_complete),
        }
    }
}

fn collect(db: &Connection, table: &str, from: i64, out: &mut Vec<i64>) -> rusqlite::Result<()> {
    let sql = format!("SELECT rowid FROM {table} WHERE rowid >= ?1 ORDER BY rowid");
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([from])?;
    while let Some(row) = rows.next()? {
        out.push(row.get(0)?);
    }
    Ok(())
}

/// Finds the first row after a damaged page. Places nearby are tried one by one, because there may be
/// a readable page between two damaged ones. A longer damaged range is taken to have no gaps: its end
/// is found by doubling the distance and then bisecting.
fn next_readable(db: &Connection, table: &str, after: i64) -> Option<i64> {
    let sql = format!("SELECT rowid FROM {table} WHERE rowid >= ?1 ORDER BY rowid LIMIT 1");
    let mut find = db.prepare_cached(&sql).ok()?;
    let mut at = |from: i64| find.query_row([from], |row| row.get::<_, i64>(0)).optional();
    let start = after.max(0);
    for step in 1..=NEAR {
        match at(start.checked_add(step)?) {
            Ok(Some(found)) => return Some(found),
            Ok(None) => return None,
            Err(_) => {}
        }
    }
    let mut distance = NEAR;
    let mut reachable = loop {
        let from = start.checked_add(distance)?;
        match at(from) {
            Ok(Some(_)) => break distance,
            _ if distance > MOST_ROWS => return None,
            Ok(None) => return last_part(&mut at, start, distance),
            Err(_) => distance *= 2,
        }
    };
    let mut blocked = reachable / 2;
    while reachable - blocked > 1 {
        let middle = blocked + (reachable - blocked) / 2;
        if matches!(at(start + middle), Ok(Some(_))) {
            reachable = middle;
        } else {
            blocked = middle;
        }
    }
    at(start + reachable).ok().flatten()
}

/// The number of places after a damaged page that are tried one by one.
const NEAR: i64 = 4096;

/// Searches for rows between a damaged page and the end of the table.
fn last_part(
    at: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
    start: i64,
    distance: i64,
) -> Option<i64> {
    let (mut low, mut high) = (distance / 2, distance);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match at(start + middle) {
            Ok(Some(found)) => return Some(found),
            Ok(None) => high = middle,
            Err(_) => low = middle,
        }
    }
    None
}

/// The maximum number of bytes that may be missing between pieces; beyond that, only the beginning of a file is
/// kept.
const MOST_LOST: u64 = 64 << 20;

/// A bound far above the row count of any table.
const MOST_ROWS: i64 = 1 << 40;

/// The captured pieces of every source, by source.
pub(super) struct Pieces<'a> {
    db: &'a Connection,
    by_source: HashMap<i64, Vec<i64>>,
    /// Rows by the hash of their content, filled when a piece must be replaced.
    by_hash: Option<HashMap<Vec<u8>, Vec<i64>>>,
    pub(super) is_complete: bool,
}

/// The pieces of one source that verify.
#[derive(Default)]
pub(super) struct Captured {
    pieces: BTreeMap<u64, Origin>,
    /// The end of the captured content.
    pub(super) end: u64,
    /// The number of bytes before the end that no piece contains.
    pub(super) lost: u64,
    pub(super) digest: Option<Digest>,
}

enum Origin {
    Row(i64),
    Replaced(Piece),
}

impl<'a> Pieces<'a> {
    pub(super) fn new(db: &'a Connection) -> Self {
        let (rows, is_complete) = row_ids(db, "captures");
        let mut by_source: HashMap<i64, Vec<i64>> = HashMap::new();
        for row in rows {
            let source = db
                .prepare_cached("SELECT source FROM captures WHERE rowid = ?1")
                .and_then(|mut find| find.query_row([row], |row| row.get::<_, i64>(0)));
            if let Ok(source) = source {
                by_source.entry(source).or_default().push(row);
            }
        }
        Self { db, by_source, by_hash: None, is_complete }
    }

    /// Verifies the pieces of a source. `file` is the agent's own file, if it may be read. `end` is
    /// the end of the capture according to its row.
    pub(super) fn verify(&mut self, source: i64, end: u64, file: Option<&Path>) -> Captured {
        let mut out = Captured { end, ..Captured::default() };
        let mut bad: Vec<Piece> = Vec::new();
        let rows = self.by_source.get(&source).cloned().unwrap_or_default();
        for row in rows {
            let Ok(piece) = self.piece(row) else { continue };
            if piece.bytes().is_some() {
                out.pieces.insert(piece.start, Origin::Row(row));
            } else {
                bad.push(piece);
            }
        }
        for piece in bad {
            let is_usable = piece.start.is_multiple_of(PIECE) && piece.length <= PIECE;
            if is_usable
                && !out.pieces.contains_key(&piece.start)
                && let Some(found) = self.replacement(&piece, file)
            {
                out.pieces.insert(piece.start, Origin::Replaced(found));
            }
        }
        self.measure(&mut out);
        out
    }

    /// Computes the number of missing bytes, and the digest if none are missing.
    fn measure(&self, out: &mut Captured) {
        let end = out.end;
        // A piece of another length would shift the bytes that follow it.
        let is_right = |start: u64, length: u64| start < end && length == PIECE.min(end - start);
        let starts: Vec<u64> = out.pieces.keys().copied().collect();
        let mut hasher = Hasher::default();
        let mut expected = 0;
        for start in starts {
            let bytes = out.bytes(self.db, start).unwrap_or_default();
            if !is_right(start, bytes.len() as u64) {
                out.pieces.remove(&start);
            } else if start == expected {
                hasher.update(&bytes);
                expected += bytes.len() as u64;
            }
        }
        let present: u64 = out.pieces.keys().map(|start| PIECE.min(end - start)).sum();
        out.lost = end - present;
        if out.lost > MOST_LOST || present == 0 {
            out.end = expected;
            out.pieces.retain(|start, _| *start < expected);
            out.lost = 0;
        }
        out.digest = (expected == end).then(|| hasher.digest());
    }

    fn piece(&self, row: i64) -> rusqlite::Result<Piece> {
        self.db
            .prepare_cached("SELECT start, length, hash, data FROM captures WHERE rowid = ?1")?
            .query_row([row], Piece::from_row)
    }

    /// Finds bytes with the hash of a damaged piece.
    fn replacement(&mut self, piece: &Piece, file: Option<&Path>) -> Option<Piece> {
        let is_right = |bytes: &Vec<u8>| Sha256::digest(bytes)[..] == piece.hash;
        let from_file = file.and_then(|file| {
            let mut file = open_regular(file).ok()?;
            file.seek(SeekFrom::Start(piece.start)).ok()?;
            let mut bytes = Vec::new();
            file.take(piece.length).read_to_end(&mut bytes).ok()?;
            Some(bytes).filter(is_right)
        });
        let bytes = from_file.or_else(|| {
            let rows = self.rows_by_hash().get(&piece.hash).cloned().unwrap_or_default();
            rows.into_iter().filter_map(|row| self.piece(row).ok()?.bytes()).find(is_right)
        });
        Piece::new(piece.start, &bytes?).ok()
    }

    fn rows_by_hash(&mut self) -> &HashMap<Vec<u8>, Vec<i64>> {
        let (db, by_source) = (self.db, &self.by_source);
        self.by_hash.get_or_insert_with(|| {
            let mut out: HashMap<Vec<u8>, Vec<i64>> = HashMap::new();
            for row in by_source.values().flatten() {
                let hash = db
                    .prepare_cached("SELECT hash FROM captures WHERE rowid = ?1")
                    .and_then(|mut find| find.query_row([row], |row| row.get::<_, Vec<u8>>(0)));
                if let Ok(hash) = hash {
                    out.entry(hash).or_default().push(*row);
                }
            }
            out
        })
    }
}

impl Captured {
    /// Returns whether the content of a file is complete.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.end == size && self.lost == 0
    }

    /// Returns the number of bytes that verify.
    pub(super) fn present(&self) -> u64 {
        self.end - self.lost
    }

    /// Returns the number of pieces.
    pub(super) fn count(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Visits each piece.
    pub(super) fn each<E: From<rusqlite::Error>>(
        &self,
        db: &Connection,
        mut visit: impl FnMut(&Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        for origin in self.pieces.values() {
            match origin {
                Origin::Replaced(piece) => visit(piece)?,
                Origin::Row(row) => {
                    let mut find = db.prepare_cached(
                        "SELECT start, length, hash, data FROM captures WHERE rowid = ?1",
                    )?;
                    visit(&find.query_row([row], Piece::from_row)?)?;
                }
            }
        }
        Ok(())
    }

    fn bytes(&self, db: &Connection, start: u64) -> Option<Vec<u8>> {
        match self.pieces.get(&start)? {
            Origin::Replaced(piece) => piece.bytes(),
            Origin::Row(row) => db
                .prepare_cached("SELECT start, length, hash, data FROM captures WHERE rowid = ?1")
                .and_then(|mut find| find.query_row([row], Piece::from_row))
                .ok()?
                .bytes(),
        }
    }
}

/// Reads the pieces of one source as a file. Lost bytes read as line feeds.
pub(super) struct SalvagedBytes<'a> {
    pub(super) db: &'a Connection,
    pub(super) captured: &'a Captured,
}

impl Bytes for SalvagedBytes<'_> {
    fn open(&self, _: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(SalvageReader { bytes: self, at: 0, piece: (0, Vec::new()) }))
    }

    fn beside(&self, _: &Path, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }
}

struct SalvageReader<'a> {
    bytes: &'a SalvagedBytes<'a>,
    at: u64,
    piece: (u64, Vec<u8>),
}

impl Read for SalvageReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Captured { end, .. } = self.bytes.captured;
        if self.at >= *end {
            return Ok(0);
        }
        let start = self.at / PIECE * PIECE;
        if self.piece.0 != start || self.piece.1.is_empty() {
            let found = self.bytes.captured.bytes(self.bytes.db, start);
            self.piece = (start, found.unwrap_or_else(|| lost(start, *end)));
        }
        let inside = usize::try_from(self.at - start).unwrap_or(usize::MAX);
        let room = usize::try_from(*end - self.at).unwrap_or(usize::MAX);
        let rest = self.piece.1.get(inside..).unwrap_or_default();
        let length = rest.len().min(buffer.len()).min(room);
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for SalvageReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = seek(self.at, self.bytes.captured.end, to)?;
        Ok(self.at)
    }
}

/// Rows of one of the user's own tables.
pub(super) struct AnnotationRows {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) is_complete: bool,
}

/// Reads a table without row ids from both ends, up to the part that cannot be read.
pub(super) fn annotation_rows(
    db: &Connection,
    table: &str,
    columns: &str,
    most: usize,
) -> AnnotationRows {
    let key = columns.split(',').next().unwrap_or_default();
    let read = |order: &str| -> (Vec<Vec<Value>>, bool) {
        let sql = format!("SELECT {columns} FROM {table} ORDER BY {key} {order}");
        let mut out = Vec::new();
        let mut read_all = || -> rusqlite::Result<()> {
            let mut find = db.prepare(&sql)?;
            let count = find.column_count();
            let mut rows = find.query([])?;
            while let Some(row) = rows.next()? {
                let values =
                    (0..count).map(|n| row.get(n)).collect::<rusqlite::Result<Vec<Value>>>()?;
                if is_annotation(&values, most) {
                    out.push(values);
                }
            }
            Ok(())
        };
        let is_complete = read_all().is_ok();
        (out, is_complete)
    };
    let (mut rows, is_complete) = read("ASC");
    if !is_complete {
        rows.extend(read("DESC").0);
    }
    AnnotationRows { rows, is_complete }
}

/// Returns whether a row has texts of a plausible length, followed by times.
fn is_annotation(values: &[Value], most: usize) -> bool {
    let is_text = |value: &Value| matches!(value, Value::Text(text) if text.len() <= most);
    let texts = values.iter().take_while(|value| is_text(value)).count();
    let is_time = |value: &Value| matches!(value, Value::Integer(_) | Value::Null);
    texts > 0 && values[texts..].iter().all(is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with one row per page, of which only the third and the eighth can be read.
    #[test]
    fn a_readable_page_between_damaged_ones_is_found() {
        const PAGE: usize = 512;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (n INTEGER PRIMARY KEY, x TEXT);")
            .unwrap();
        for n in 1..=8 {
            db.execute("INSERT INTO t VALUES (?1, ?2)", (n, "x".repeat(400))).unwrap();
        }
        drop(db);
        let mut bytes = std::fs::read(&path).unwrap();
        let is_leaf = |page: &[u8]| page[0] == 0x0d;
        let leaves = bytes.chunks_mut(PAGE).skip(1).filter(|page| is_leaf(page));
        for (n, page) in (1..).zip(leaves) {
            if n != 3 && n != 8 {
                page.fill(0);
            }
        }
        std::fs::write(&path, bytes).unwrap();
        let db = Connection::open(&path).unwrap();
        assert_eq!(row_ids(&db, "t"), (vec![3, 8], false));
    }
}
