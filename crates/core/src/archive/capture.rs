//! The agents' own bytes, kept piece by piece.
//!
//! A log is captured where it was left, for it only grows; its last piece is taken again with what
//! follows, so that small turns do not end up as small pieces. A file that was written anew is taken
//! anew. What is stored is what stood in the file, to the byte.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::{Archive, ArchiveError};
use crate::discover::Source;
use crate::read::bytes::{Bytes, Disk, ReadSeek};

/// A piece in the file. Larger ones compress better, smaller ones are quicker to look into.
const PIECE: usize = 1 << 20;

/// What is compressed before it is written: it bounds the memory.
const BATCH: u64 = 32 << 20;

/// The quickest: a higher one saves little on transcripts, which repeat themselves at short distance.
const LEVEL: i32 = 1;

pub(super) const UNCAPTURED: &str = "state = 'live' AND kept \
    AND (captured < size OR (size > 0 AND capture_modified IS NOT modified))";

/// What a capture did, and what it left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    pub files: u64,
    pub bytes: u64,
    pub left_files: u64,
    pub left_bytes: u64,
}

/// A file that is not captured as it is now.
struct Open {
    number: i64,
    path: PathBuf,
    size: u64,
    modified: Option<i64>,
    captured: u64,
    /// The last piece: where it begins, how long it is, its hash.
    last: Option<(u64, u64, Vec<u8>)>,
}

struct Piece {
    start: u64,
    length: u64,
    hash: Vec<u8>,
    data: Vec<u8>,
}

struct Taken {
    number: i64,
    modified: Option<i64>,
    /// From here on the pieces are new; what stood there before goes.
    from: u64,
    pieces: Vec<Piece>,
}

impl Archive {
    /// Captures what changed, `first` the files that are named, then the oldest. Ends after
    /// `deadline` with what is done by then.
    pub fn capture(
        &mut self,
        first: &[PathBuf],
        deadline: Option<Instant>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Captured, ArchiveError> {
        let mut open = self.uncaptured()?;
        let urgent: HashMap<&Path, usize> =
            first.iter().enumerate().map(|(n, path)| (path.as_path(), n)).collect();
        open.sort_by_key(|file| {
            let place = urgent.get(file.path.as_path()).copied().unwrap_or(usize::MAX);
            (place, file.modified, file.path.clone())
        });
        let mut done = Captured::default();
        let mut rest = open.into_iter().peekable();
        let is_late = || deadline.is_some_and(|end| Instant::now() >= end);
        while rest.peek().is_some() && !is_late() {
            let mut size = 0;
            let mut files = Vec::new();
            while let Some(file) = rest.next_if(|next| size == 0 || size + next.size <= BATCH) {
                size += (file.size - file.captured.min(file.size)).max(1);
                files.push(file);
            }
            let taken: Vec<Option<Taken>> = files
                .par_iter()
                .map(|file| {
                    let taken = take(file).ok();
                    progress(file.size);
                    taken
                })
                .collect();
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for taken in taken.iter().flatten() {
                done.files += 1;
                done.bytes += taken.pieces.iter().map(|piece| piece.length).sum::<u64>();
                put(&transaction, taken)?;
            }
            transaction.commit()?;
        }
        for file in rest {
            done.left_files += 1;
            done.left_bytes += file.size - file.captured.min(file.size);
        }
        Ok(done)
    }

    /// Whether there is anything to capture.
    pub fn has_uncaptured(&self) -> Result<bool, ArchiveError> {
        Ok(self.db.prepare(&format!("SELECT 1 FROM sources WHERE {UNCAPTURED}"))?.exists([])?)
    }

    fn uncaptured(&self) -> Result<Vec<Open>, ArchiveError> {
        let mut statement = self.db.prepare(&format!(
            "SELECT number, path, size, modified, captured FROM sources WHERE {UNCAPTURED}"
        ))?;
        let mut last = self.db.prepare(
            "SELECT start, length, hash FROM captures WHERE source = ?1 ORDER BY start DESC LIMIT 1",
        )?;
        let mut rows = statement.query([])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let unsigned =
                |n: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.cast_unsigned());
            let number = row.get(0)?;
            let piece = last.query_row([number], |row| {
                let unsigned =
                    |n: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.cast_unsigned());
                Ok((unsigned(0)?, unsigned(1)?, row.get(2)?))
            });
            out.push(Open {
                number,
                path: PathBuf::from(row.get::<_, String>(1)?),
                size: unsigned(2)?,
                modified: row.get(3)?,
                captured: unsigned(4)?,
                last: piece.optional()?,
            });
        }
        Ok(out)
    }
}

/// Reads what is new of a file, or all of it when what was captured is not its beginning.
fn take(file: &Open) -> io::Result<Taken> {
    let mut input = File::open(&file.path)?;
    let mut from = 0;
    let mut head = Vec::new();
    if let Some((start, length, hash)) = &file.last {
        input.seek(SeekFrom::Start(*start))?;
        (&mut input).take(*length).read_to_end(&mut head)?;
        if head.len() as u64 == *length && sha256(&head) == *hash {
            from = *start;
        } else {
            input.seek(SeekFrom::Start(0))?;
            head.clear();
        }
    }
    let mut pieces = Vec::new();
    let mut start = from;
    loop {
        let mut bytes = std::mem::take(&mut head);
        let room = (PIECE.saturating_sub(bytes.len())) as u64;
        (&mut input).take(room).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            break;
        }
        let data = zstd::bulk::compress(&bytes, LEVEL)?;
        let length = bytes.len() as u64;
        pieces.push(Piece { start, length, hash: sha256(&bytes), data });
        start += length;
    }
    Ok(Taken { number: file.number, modified: file.modified, from, pieces })
}

fn put(db: &Connection, taken: &Taken) -> rusqlite::Result<()> {
    let signed = |number: u64| number.cast_signed();
    db.prepare_cached("DELETE FROM captures WHERE source = ?1 AND start >= ?2")?
        .execute(params![taken.number, signed(taken.from)])?;
    let mut insert = db.prepare_cached("INSERT INTO captures VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut end = taken.from;
    for piece in &taken.pieces {
        insert.execute(params![
            taken.number,
            signed(piece.start),
            signed(piece.length),
            piece.hash,
            piece.data
        ])?;
        end = piece.start + piece.length;
    }
    db.prepare_cached("UPDATE sources SET captured = ?2, capture_modified = ?3 WHERE number = ?1")?
        .execute(params![taken.number, signed(end), taken.modified])?;
    Ok(())
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// A captured file, as if it were still there.
pub(super) struct CaptureReader<'a> {
    db: &'a Connection,
    source: i64,
    size: u64,
    at: u64,
    /// The piece that was looked into last.
    piece: RefCell<(u64, Vec<u8>)>,
}

impl<'a> CaptureReader<'a> {
    pub(super) fn new(db: &'a Connection, source: i64) -> rusqlite::Result<Self> {
        let sql = "SELECT captured FROM sources WHERE number = ?1";
        let size: i64 = db.query_row(sql, [source], |row| row.get(0))?;
        let piece = RefCell::new((0, Vec::new()));
        Ok(Self { db, source, size: size.cast_unsigned(), at: 0, piece })
    }

    fn load(&self, at: u64) -> io::Result<()> {
        let mut piece = self.piece.borrow_mut();
        if (piece.0..piece.0 + piece.1.len() as u64).contains(&at) {
            return Ok(());
        }
        let found: (i64, Vec<u8>) = self
            .db
            .prepare_cached(
                "SELECT start, data FROM captures WHERE source = ?1 AND start <= ?2
                 ORDER BY start DESC LIMIT 1",
            )
            .and_then(|mut find| {
                find.query_row(params![self.source, at.cast_signed()], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
            })
            .map_err(io::Error::other)?;
        *piece = (found.0.cast_unsigned(), zstd::decode_all(Cursor::new(found.1))?);
        Ok(())
    }
}

impl Read for CaptureReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.size {
            return Ok(0);
        }
        self.load(self.at)?;
        let piece = self.piece.borrow();
        let inside = usize::try_from(self.at - piece.0).unwrap_or(usize::MAX);
        let rest = piece.1.get(inside..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for CaptureReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

impl Bytes for Archive {
    /// The file itself while it is there; what was captured when it is gone or was written anew.
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        let Some(archived) = &source.archived else { return Disk.open(source) };
        if !source.is_replaced()
            && let Ok(file) = Disk.open(source)
        {
            return Ok(file);
        }
        let reader = CaptureReader::new(&self.db, archived.number).map_err(io::Error::other)?;
        if reader.size == 0 && source.size > 0 {
            let what = format!("`{}` is gone, and was not captured before", source.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        Ok(Box::new(reader))
    }

    fn beside(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        if let Some(there) = Disk.beside(path, most) {
            return Some(there);
        }
        let found = self
            .db
            .prepare_cached(
                "SELECT number FROM sources WHERE path = ?1 AND captured BETWEEN 1 AND ?2",
            )
            .ok()?
            .query_row(params![path.to_string_lossy(), most.cast_signed()], |row| row.get(0))
            .optional()
            .ok()??;
        let mut bytes = Vec::new();
        CaptureReader::new(&self.db, found).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}
