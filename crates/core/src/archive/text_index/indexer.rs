//! Reads the text of sessions that have changed, and writes their words.
//!
//! Text is read without a transaction, so that other processes can write in the meantime. If one did, the
//! batch may be outdated: it is dropped, and its sessions stay marked as not indexed.

use std::collections::HashMap;

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::copies::Touched;
use super::rows::{Incoming, Row, insert, remove, rows_of};
use super::stamps::{label, stamp};
use super::{BITS, IndexStats, UNMARKED};
use crate::archive::{Archive, ArchiveError, notes};
use crate::assemble::{MessageEntry, SessionFacts};
use crate::model::{MessageId, Session, SessionId};
use crate::search::Fields;

/// The bytes of files per transaction, and read at a time. It bounds memory use.
const BATCH: u64 = 24 << 20;

/// Prepares changes of the index and writes them in batches.
pub(super) struct Indexer<'a> {
    archive: &'a Archive,
    names: HashMap<SessionId, String>,
    tags: HashMap<SessionId, Vec<String>>,
    touched: Touched,
    done: IndexStats,
    /// Whether the archive is locked while text is read.
    is_locking: bool,
    batch: Option<Batch<'a>>,
    /// Whether a batch was dropped.
    has_dropped: bool,
}

/// Changes that are written together.
struct Batch<'a> {
    changes: Vec<Change>,
    size: u64,
    /// The state of the archive that the changes are derived from.
    version: i64,
    locked: Option<Transaction<'a>>,
}

/// A change of the rows of one session, or of some of them if it is long.
#[derive(Default)]
struct Change {
    session: SessionId,
    /// The number behind the last row that the session had, some of which are replaced.
    behind: i64,
    /// The rows to remove, and the contents that they had.
    removed: Vec<i64>,
    contents: Vec<i64>,
    rows: Vec<Row>,
    /// The text about the session as a whole, in the last change of a session.
    last: Option<Last>,
}

/// The end of a session.
struct Last {
    row: Option<Row>,
    /// The hash of the user's name and tags.
    label: i64,
    /// Whether its text could not be read.
    is_lost: bool,
}

impl<'a> Indexer<'a> {
    pub(super) fn new(
        archive: &'a Archive,
        touched: Touched,
        done: IndexStats,
        is_locking: bool,
    ) -> Result<Self, ArchiveError> {
        let (names, tags) = (archive.names()?, archive.tags()?);
        Ok(Self {
            archive,
            names,
            tags,
            touched,
            done,
            is_locking,
            batch: None,
            has_dropped: false,
        })
    }

    /// Must be called before a session is assembled, so that changes in the meantime are noticed.
    pub(super) fn begin(&mut self) -> Result<(), ArchiveError> {
        if self.batch.as_ref().is_none_or(|batch| batch.changes.is_empty()) {
            self.batch = None;
            self.open(None)?;
        }
        Ok(())
    }

    /// Opens a batch of changes that are derived from a state of the archive: the given one, or that of now.
    fn open(&mut self, version: Option<i64>) -> Result<(), ArchiveError> {
        let db = &self.archive.db;
        let begin = || Transaction::new_unchecked(db, TransactionBehavior::Immediate);
        let locked = self.is_locking.then(begin).transpose()?;
        let version = version.map_or_else(|| self.archive.data_version(), Ok)?;
        self.batch = Some(Batch { changes: Vec::new(), size: 0, version, locked });
        Ok(())
    }

    /// Reads what has changed in a session.
    pub(super) fn session(&mut self, assembled: &SessionFacts) -> Result<(), ArchiveError> {
        let mut known = self.known(&assembled.session.id)?;
        let behind = known.values().map(|(number, ..)| number + 1).max().unwrap_or_default();
        let session = || assembled.session.id.clone();
        let mut change = Change { session: session(), behind, ..Change::default() };
        let mut wanted: Vec<(&MessageEntry, Option<i64>, i64)> = Vec::new();
        for placed in assembled.listed() {
            let stamp = stamp(assembled, placed);
            match known.remove(&placed.facts.id) {
                Some((_, known, _)) if known == stamp => {}
                before => wanted.push((placed, before.map(|row| change.remove(row)), stamp)),
            }
        }
        let label = known.remove("").map(|row| change.remove(row));
        for row in known.into_values() {
            change.remove(row);
        }
        let mut is_lost = false;
        for part in parts(&wanted) {
            let Some(rows) = self.read(assembled, part) else {
                is_lost = true;
                break;
            };
            change.rows = rows;
            self.add(change, part.iter().map(|(placed, ..)| length(placed)).sum())?;
            change = Change { session: session(), behind, ..Change::default() };
        }
        change.last = Some(self.last(&assembled.session, label, is_lost));
        self.add(change, 1)
    }

    /// Returns the rows of a session by message: number, stamp, content.
    fn known(&self, id: &str) -> Result<HashMap<MessageId, (i64, i64, i64)>, ArchiveError> {
        Ok(match number(&self.archive.db, id)? {
            Some(number) => rows_of(&self.archive.db, number)?,
            None => HashMap::new(),
        })
    }

    /// Reads messages. Returns `None` if their files are gone and were not captured.
    fn read(
        &self,
        assembled: &SessionFacts,
        part: &[(&MessageEntry, Option<i64>, i64)],
    ) -> Option<Vec<Row>> {
        let placed: Vec<&MessageEntry> = part.iter().map(|(placed, ..)| *placed).collect();
        let read = self.archive.reader().excerpt(assembled, &placed).ok()?;
        let mut numbers: HashMap<&str, (Option<i64>, i64)> = part
            .iter()
            .map(|(placed, number, stamp)| (placed.facts.id.as_str(), (*number, *stamp)))
            .collect();
        let incoming: Vec<Incoming> = read
            .into_iter()
            .filter_map(|message| {
                let (number, stamp) = numbers.remove(message.id.as_str())?;
                Some(Incoming { number, message, stamp })
            })
            .collect();
        Some(incoming.into_par_iter().with_min_len(16).map(Row::of).collect())
    }

    fn last(&self, session: &Session, number: Option<i64>, is_lost: bool) -> Last {
        let mut session = session.clone();
        session.name = self.names.get(&session.id).cloned();
        session.tags = self.tags.get(&session.id).cloned().unwrap_or_default();
        let fields = Fields::of_session(&session);
        let at = session.updated.or(session.started).map(jiff::Timestamp::as_millisecond);
        let row = (!fields.pieces.is_empty()).then(|| Row::of_session(number, at, &fields));
        let label = label(session.name.as_ref(), Some(&session.tags));
        Last { row, label, is_lost }
    }

    fn add(&mut self, change: Change, size: u64) -> Result<(), ArchiveError> {
        let Some(batch) = &mut self.batch else { return Ok(()) };
        batch.changes.push(change);
        batch.size += size;
        if batch.size >= BATCH {
            // The rest of a long session is derived from the same state.
            let version = batch.version;
            self.flush()?;
            self.open(Some(version))?;
        }
        Ok(())
    }

    /// Writes the batch, unless another process has changed the archive.
    fn flush(&mut self) -> Result<(), ArchiveError> {
        let Some(Batch { changes, version, locked, .. }) = self.batch.take() else {
            return Ok(());
        };
        let db = &self.archive.db;
        let transaction = match locked {
            Some(transaction) => transaction,
            None => Transaction::new_unchecked(db, TransactionBehavior::Immediate)?,
        };
        if self.archive.data_version()? != version {
            self.has_dropped = true;
            return Ok(transaction.rollback()?);
        }
        for change in &changes {
            self.write(change)?;
        }
        notes::set(db, UNMARKED, &[])?;
        Ok(transaction.commit()?)
    }

    fn write(&mut self, change: &Change) -> Result<(), ArchiveError> {
        let db = &self.archive.db;
        let id = &change.session;
        db.prepare_cached(
            "INSERT OR IGNORE INTO indexed_sessions (session, label) VALUES (?1, 0)",
        )?
        .execute([id])?;
        let Some(session) = number(db, id)? else { return Ok(()) };
        remove(db, &change.removed)?;
        self.touched.extend(change.contents.iter().copied());
        let mut next = next_row(db, session)?.max(change.behind);
        let mut place = |row: &Row| {
            let number = row.number.unwrap_or(next);
            debug_assert_eq!(number >> BITS, session);
            next = next.max(number + 1);
            number
        };
        for row in &change.rows {
            self.touched.extend([row.content]);
            self.done.messages += 1;
            insert(db, place(row), row)?;
        }
        let Some(last) = &change.last else { return Ok(()) };
        // FTS5 buffers rows as long as they arrive in order, and this one has the highest number.
        if let Some(row) = &last.row {
            insert(db, place(row), row)?;
        }
        db.prepare_cached("UPDATE indexed_sessions SET label = ?2 WHERE number = ?1")?
            .execute([session, last.label])?;
        mark_indexed(db, id)?;
        self.done.sessions += 1;
        self.done.lost += u64::from(last.is_lost);
        Ok(())
    }

    /// Writes the rest. Returns the contents whose copies have to be marked, the counts, and whether sessions were
    /// dropped that have to be read again.
    pub(super) fn finish(mut self) -> Result<(Touched, IndexStats, bool), ArchiveError> {
        self.flush()?;
        Ok((self.touched, self.done, self.has_dropped))
    }
}

impl Change {
    /// Removes a row and returns its number.
    fn remove(&mut self, (number, _, content): (i64, i64, i64)) -> i64 {
        self.removed.push(number);
        self.contents.push(content);
        number
    }
}

/// Marks the rows of a session as indexed, each by its number: an update of several rows at once may have to be
/// rolled back, and FTS5 flushes its buffer before it.
fn mark_indexed(db: &Connection, id: &str) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
    let rows: Vec<i64> = find.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut mark = db.prepare_cached("UPDATE sessions SET indexed = 1 WHERE number = ?1")?;
    for row in rows {
        mark.execute([row])?;
    }
    Ok(())
}

/// Returns the number of a session in the index.
fn number(db: &Connection, id: &str) -> Result<Option<i64>, ArchiveError> {
    let mut find = db.prepare_cached("SELECT number FROM indexed_sessions WHERE session = ?1")?;
    Ok(find.query_row([id], |row| row.get(0)).optional()?)
}

/// Returns the number behind the last row of a session.
fn next_row(db: &Connection, session: i64) -> Result<i64, ArchiveError> {
    let mut find = db.prepare_cached(
        "SELECT coalesce(max(number) + 1, ?1) FROM texts WHERE number >= ?1 AND number < ?2",
    )?;
    Ok(find.query_row([session << BITS, (session + 1) << BITS], |row| row.get(0))?)
}

fn length(placed: &MessageEntry) -> u64 {
    placed.places.iter().map(|place| place.span.length()).sum::<u64>().max(1)
}

/// Divides messages into parts that are read at once.
fn parts<'w, 'm>(
    wanted: &'w [(&'m MessageEntry, Option<i64>, i64)],
) -> impl Iterator<Item = &'w [(&'m MessageEntry, Option<i64>, i64)]> {
    let mut rest = wanted;
    std::iter::from_fn(move || {
        let mut size = 0;
        let fits = |(placed, ..): &&(&MessageEntry, Option<i64>, i64)| {
            let is_first = size == 0;
            size += length(placed);
            is_first || size <= BATCH
        };
        let count = rest.iter().take_while(fits).count();
        let (part, later) = rest.split_at(count);
        rest = later;
        (!part.is_empty()).then_some(part)
    })
}
