//! Captures the agents' own bytes, piece by piece.
//!
//! Only bytes that were read are captured: every piece is compared with the digest of the read
//! (`digest.rs`), and a file that has changed since is left for the next sync. The capture of a log
//! resumes where it ended; its last piece is captured again together with what follows, so that
//! small turns do not become small pieces.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use super::digest::{Digest, PIECE, seek};
use super::fingerprint::Fingerprint;
use super::{Archive, ArchiveError, codec};
use crate::discover::Source;
use crate::path_text::{from_text, to_text};
use crate::read::bytes::{Bytes, Disk, ReadSeek, open_regular};

/// The number of bytes compressed before they are written, which bounds memory use.
const BATCH: u64 = 32 << 20;

/// The condition that a source exists and can be captured, but is not yet captured completely.
pub(super) const UNCAPTURED: &str =
    "state = 'live' AND kept AND captured < size AND digest IS NOT NULL
     AND NOT (state = 'live' AND captured - lost >= size)";

/// The condition that a source no longer exists or is not captured completely. There is an index of these few
/// sources, which SQLite uses if a query contains exactly this condition.
pub(super) const UNUSUAL: &str = "NOT (state = 'live' AND captured - lost >= size)";

/// Counts of captured and remaining files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// The files captured.
    pub files: u64,
    /// The bytes captured.
    pub bytes: u64,
    /// The files that are still not captured completely.
    pub left_files: u64,
    /// The bytes that are still not captured.
    pub left_bytes: u64,
    /// Files that had changed since they were read; the next sync reads them again.
    pub changed: u64,
}

/// A file that is not yet captured as it was read.
struct Open {
    number: i64,
    path: PathBuf,
    modified: Option<i64>,
    captured: u64,
    digest: Digest,
}

/// A part of a file as it is stored.
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) hash: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl Piece {
    /// Compresses and hashes bytes of a file.
    pub(super) fn new(start: u64, bytes: &[u8]) -> io::Result<Self> {
        let data = codec::pack(bytes)?;
        Ok(Self { start, length: bytes.len() as u64, hash: Sha256::digest(bytes).to_vec(), data })
    }

    /// Unpacks the bytes. Returns `None` unless they are exactly the captured ones.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        if self.length == 0 || self.length > PIECE || !self.start.is_multiple_of(PIECE) {
            return None;
        }
        let length = usize::try_from(self.length).ok()?;
        let bytes = codec::unpack(&self.data, length).ok()?;
        let is_whole = bytes.len() == length && Sha256::digest(&bytes)[..] == self.hash;
        is_whole.then_some(bytes)
    }

    /// Reads a row of `start, length, hash, data`.
    pub(super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            start: row.get::<_, i64>(0)?.cast_unsigned(),
            length: row.get::<_, i64>(1)?.cast_unsigned(),
            hash: row.get(2)?,
            data: row.get(3)?,
        })
    }

    pub(super) fn insert(&self, db: &Connection, source: i64) -> rusqlite::Result<()> {
        db.prepare_cached("INSERT OR REPLACE INTO captures VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(
            params![
                source,
                self.start.cast_signed(),
                self.length.cast_signed(),
                self.hash,
                self.data
            ],
        )?;
        Ok(())
    }
}

impl Archive {
    /// Captures new content: the files in `first`, in that order, then the oldest. Stops at
    /// `deadline` and keeps the results so far.
    pub fn capture(
        &mut self,
        first: &[PathBuf],
        deadline: Option<Instant>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Captured, ArchiveError> {
        let _lock = self.write_lock()?;
        let mut open = self.uncaptured()?;
        let urgent: HashMap<&Path, usize> =
            first.iter().enumerate().map(|(n, path)| (path.as_path(), n)).collect();
        open.sort_by_cached_key(|file| {
            let place = urgent.get(file.path.as_path()).copied().unwrap_or(usize::MAX);
            (place, file.modified, file.path.clone())
        });
        let mut done = Captured::default();
        let mut rest = open.into_iter().peekable();
        let is_late = || deadline.is_some_and(|end| Instant::now() >= end);
        while rest.peek().is_some() && !is_late() {
            let mut size = 0;
            let mut files = Vec::new();
            while let Some(file) = rest.next_if(|next| size == 0 || size + next.missing() <= BATCH)
            {
                size += file.missing();
                files.push(file);
            }
            let taken: Vec<Option<Vec<Piece>>> = files
                .par_iter()
                .map(|file| {
                    let taken = take(file).ok().flatten();
                    progress(file.digest.length);
                    taken
                })
                .collect();
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (file, pieces) in files.iter().zip(&taken) {
                if let Some(pieces) = pieces {
                    done.files += 1;
                    done.bytes += pieces.iter().map(|piece| piece.length).sum::<u64>();
                    put(&transaction, file, pieces)?;
                } else {
                    done.changed += 1;
                    distrust(&transaction, file.number)?;
                }
            }
            transaction.commit()?;
        }
        for file in rest {
            done.left_files += 1;
            done.left_bytes += file.missing();
        }
        self.drop_contained_versions()?;
        Ok(done)
    }

    /// Returns whether there is anything to capture.
    pub fn has_uncaptured(&self) -> Result<bool, ArchiveError> {
        let sql = format!("SELECT 1 FROM sources WHERE machine IS ?1 AND {UNCAPTURED}");
        Ok(self.db.prepare(&sql)?.exists([self.reading()])?)
    }

    /// Returns the files of this machine that are not captured completely. Files of other machines
    /// are not found at their paths here.
    fn uncaptured(&self) -> Result<Vec<Open>, ArchiveError> {
        let mut statement = self.db.prepare(&format!(
            "SELECT number, path, size, modified, captured, digest FROM sources
             WHERE machine IS ?1 AND {UNCAPTURED}"
        ))?;
        let mut rows = statement.query([self.reading()])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let path: String = row.get(1)?;
            let size = row.get::<_, i64>(2)?.cast_unsigned();
            let digest = Digest::from_blob(size, &row.get::<_, Vec<u8>>(5)?);
            out.push(Open {
                number: row.get(0)?,
                modified: row.get(3)?,
                captured: row.get::<_, i64>(4)?.cast_unsigned(),
                digest: digest.ok_or_else(|| ArchiveError::Stored(path.clone()))?,
                path: from_text(&path),
            });
        }
        Ok(out)
    }
}

impl Open {
    fn missing(&self) -> u64 {
        self.digest.length.saturating_sub(self.captured).max(1)
    }

    /// Returns the start of the first piece that is not captured completely.
    fn from(&self) -> u64 {
        self.captured / PIECE * PIECE
    }
}

/// Reads the uncaptured rest of a file. Returns `None` if the file is not the one that was read.
fn take(file: &Open) -> io::Result<Option<Vec<Piece>>> {
    let mut input = open_regular(&file.path)?;
    let mut start = file.from();
    input.seek(SeekFrom::Start(start))?;
    let mut pieces = Vec::new();
    let mut bytes = Vec::new();
    while start < file.digest.length {
        let length = PIECE.min(file.digest.length - start);
        bytes.clear();
        bytes.reserve_exact(usize::try_from(length).unwrap_or(0));
        (&mut input).take(length).read_to_end(&mut bytes)?;
        if !file.digest.matches(start, &bytes) {
            return Ok(None);
        }
        pieces.push(Piece::new(start, &bytes)?);
        start += length;
    }
    Ok(Some(pieces))
}

/// Writes pieces, unless another run has changed the source in the meantime.
fn put(db: &Connection, file: &Open, pieces: &[Piece]) -> rusqlite::Result<()> {
    let is_same = db
        .prepare_cached("SELECT 1 FROM sources WHERE number = ?1 AND kept AND digest = ?2")?
        .exists(params![file.number, file.digest.to_blob()])?;
    if !is_same {
        return Ok(());
    }
    for piece in pieces {
        piece.insert(db, file.number)?;
    }
    db.prepare_cached("UPDATE sources SET captured = size WHERE number = ?1")?
        .execute([file.number])?;
    Ok(())
}

/// Makes the next sync read a file again.
pub(super) fn distrust(db: &Connection, number: i64) -> rusqlite::Result<()> {
    let none = Fingerprint::unknown(0);
    db.prepare_cached(
        "UPDATE sources SET modified = ?2, changed = ?2, inode = ?2 WHERE number = ?1",
    )?
    .execute(params![number, none.modified])?;
    Ok(())
}

/// Reads a captured file as if it still existed. Lost bytes read as line feeds, so that offsets
/// stay valid and a lost part of a log costs only the lines it cut.
pub(super) struct CaptureReader<'a> {
    db: &'a Connection,
    source: i64,
    size: u64,
    at: u64,
    /// The start and bytes of the piece read last.
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
        let start = at / PIECE * PIECE;
        let found = self
            .db
            .prepare_cached(
                "SELECT start, length, hash, data FROM captures WHERE source = ?1 AND start = ?2",
            )
            .and_then(|mut find| {
                let row = params![self.source, start.cast_signed()];
                find.query_row(row, Piece::from_row).optional()
            })
            .map_err(io::Error::other)?;
        let bytes = match found {
            Some(found) => found.bytes().ok_or_else(|| {
                let what = format!("the archive's copy of it is damaged at byte {start}");
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?,
            None => lost(start, self.size),
        };
        *piece = (start, bytes);
        Ok(())
    }
}

/// Returns the replacement for a lost piece.
pub(super) fn lost(start: u64, size: u64) -> Vec<u8> {
    vec![b'\n'; usize::try_from(PIECE.min(size - start)).unwrap_or(0)]
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
        self.at = seek(self.at, self.size, to)?;
        Ok(self.at)
    }
}

/// The captured bytes of one source, regardless of the file on the disk.
pub(super) struct CapturedBytes<'a> {
    pub(super) db: &'a Connection,
    pub(super) number: i64,
}

impl Bytes for CapturedBytes<'_> {
    fn open(&self, _: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(CaptureReader::new(self.db, self.number).map_err(io::Error::other)?))
    }

    fn beside(&self, _: &Path, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }
}

impl Bytes for Archive {
    /// Opens the file itself while it is unchanged since it was read, and the captured bytes
    /// otherwise. Paths of other machines are meaningless on this one.
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        let Some(archived) = &source.archived else { return Disk.open(source) };
        let is_here =
            self.is_here(&archived.machine) && !source.is_replaced() && !source.kind.is_extract();
        let row = self.stored_look(archived.number).map_err(io::Error::other)?;
        if is_here && let Ok(file) = open_regular(&source.path) {
            let is_same =
                Fingerprint::of_file(&file).is_ok_and(|fingerprint| fingerprint == row.fingerprint);
            if is_same || row.captured < row.fingerprint.size {
                return Ok(Box::new(file));
            }
        }
        if row.captured == 0 && row.fingerprint.size > 0 {
            let what = format!("`{}` is gone, and was not captured before", source.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        Ok(Box::new(CaptureReader::new(&self.db, archived.number).map_err(io::Error::other)?))
    }

    fn beside(&self, folder: &Path, below: &Path, most: u64) -> Option<Vec<u8>> {
        let path = to_text(&folder.join(below)).into_owned();
        let found = self
            .db
            .prepare_cached(
                // Paths are indexed by machine. There are few machines, so each one is queried.
                "WITH RECURSIVE machines (id) AS (
                     SELECT min(machine) FROM sources UNION ALL
                     SELECT (SELECT min(machine) FROM sources WHERE machine > id)
                     FROM machines WHERE id IS NOT NULL)
                 SELECT number, machine FROM machines JOIN sources ON machine = id AND path = ?1
                 WHERE captured BETWEEN 1 AND ?2
                 ORDER BY state = 'replaced', machine IS NOT ?3",
            )
            .ok()?
            .query_row(params![path, most.cast_signed(), self.reading()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })
            .optional()
            .ok()?;
        let is_here = found.as_ref().is_none_or(|(_, machine)| self.is_here(machine));
        if let Some(there) = Disk.beside(folder, below, most).filter(|_| is_here) {
            return Some(there);
        }
        let mut bytes = Vec::new();
        CaptureReader::new(&self.db, found?.0).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

struct StoredFingerprint {
    fingerprint: Fingerprint,
    captured: u64,
}

impl Archive {
    fn stored_look(&self, number: i64) -> rusqlite::Result<StoredFingerprint> {
        self.db
            .prepare_cached(
                "SELECT size, modified, changed, inode, captured FROM sources WHERE number = ?1",
            )?
            .query_row([number], |row| {
                let fingerprint = Fingerprint {
                    size: row.get::<_, i64>(0)?.cast_unsigned(),
                    modified: row.get(1)?,
                    changed: row.get(2)?,
                    inode: row.get(3)?,
                };
                Ok(StoredFingerprint {
                    fingerprint,
                    captured: row.get::<_, i64>(4)?.cast_unsigned(),
                })
            })
    }
}
