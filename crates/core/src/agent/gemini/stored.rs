//! A scanned source as the archive keeps it: enough to put sessions together again without its file,
//! and to read on where a log has grown.

use std::io::{self, SeekFrom};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::load::{LogReader, Want};
use super::log::Tail;
use super::owners::keys_of;
use super::scan::{self, Holds, Scanned};
use crate::discover::Source;
use crate::fault::Faults;
use crate::read::bytes::Bytes;

/// Changes with the form of what is stored or with what reading makes of a file; then all is read
/// anew.
pub const VERSION: u32 = 4;

#[derive(Serialize, Deserialize)]
enum Stored<H, L, T> {
    /// A log in the middle of its life.
    Log(L, Option<T>),
    Whole(H, Faults),
}

type Owned = Stored<Holds, LogReader, Tail>;
type Borrowed<'a> = Stored<&'a Holds, &'a LogReader, &'a Tail>;

/// A source that was read, and how it is stored.
pub struct Kept {
    pub scanned: Scanned,
    pub stored: Vec<u8>,
    /// Behind the last whole line of a log that can be continued.
    pub offset: Option<u64>,
    /// Of a log that was read on: what [`super::keys`] gave before.
    pub known_keys: FxHashSet<i64>,
}

/// Reads a source from its beginning.
pub fn scan_and_store(source: Source, bytes: &dyn Bytes) -> Kept {
    let mut log = None;
    let holds =
        scan::read(&source, bytes, Want::Full, &mut |reader, tail| log = Some(state(reader, tail)));
    kept(source, holds, log)
}

/// Continues a log where an earlier scan ended; none when it was not a log, or is not one any more.
pub fn scan_on(source: &Source, stored: &[u8], bytes: &dyn Bytes) -> Option<Kept> {
    let Stored::Log(mut reader, _): Owned = postcard::from_bytes(stored).ok()? else { return None };
    let read = |reader: &mut LogReader| {
        let mut input = bytes.open(source)?;
        input.seek(SeekFrom::Start(reader.offset()))?;
        reader.feed(input)
    };
    let known_keys = keys_of(reader.said()).collect();
    let tail: io::Result<Option<Tail>> = read(&mut reader);
    let tail = tail.ok()?;
    let log = Some(state(&reader, tail.as_ref())).filter(|_| reader.is_accepted())?;
    let loaded = reader.finish(tail.as_ref());
    let is_still_one = loaded.accepted;
    let kept = kept(source.clone(), Ok(Holds::Sessions(Box::new(loaded))), Some(log));
    is_still_one.then_some(Kept { known_keys, ..kept })
}

/// A source that cannot be read, which is a fault like any other.
pub fn unreadable(source: Source, error: io::Error) -> Kept {
    kept(source, Err(error), None)
}

/// A source that is only kept.
pub fn unread(source: Source) -> Kept {
    kept(source, Ok(Holds::Attached), None)
}

/// The same again, for a source that was stored elsewhere.
pub fn keep_stored(source: Source, stored: Vec<u8>) -> Option<Kept> {
    let offset = match postcard::from_bytes(&stored).ok()? {
        Owned::Log(reader, _) => Some(reader.offset()),
        Owned::Whole(..) => None,
    };
    let known_keys = FxHashSet::default();
    Some(Kept { scanned: recall(source, &stored)?, stored, offset, known_keys })
}

/// What was stored of a source; none when it cannot be understood.
pub fn recall(source: Source, stored: &[u8]) -> Option<Scanned> {
    Some(match postcard::from_bytes(stored).ok()? {
        Owned::Log(reader, tail) => {
            let loaded = reader.finish(tail.as_ref());
            Scanned::new(source, Ok(Holds::Sessions(Box::new(loaded))))
        }
        Owned::Whole(holds, faults) => Scanned { source, holds, faults },
    })
}

fn state(reader: &LogReader, tail: Option<&Tail>) -> (Vec<u8>, u64) {
    let stored: Borrowed<'_> = Stored::Log(reader, tail);
    // Plain data in memory always serializes.
    (postcard::to_stdvec(&stored).unwrap_or_default(), reader.offset())
}

fn kept(source: Source, holds: io::Result<Holds>, log: Option<(Vec<u8>, u64)>) -> Kept {
    let scanned = Scanned::new(source, holds);
    // The last line decides: what it undoes is no log to continue.
    let log = log.filter(|_| scanned.is_log());
    let known_keys = FxHashSet::default();
    if let Some((stored, offset)) = log {
        return Kept { scanned, stored, offset: Some(offset), known_keys };
    }
    let whole: Borrowed<'_> = Stored::Whole(&scanned.holds, scanned.faults.clone());
    let stored = postcard::to_stdvec(&whole).unwrap_or_default();
    Kept { scanned, stored, offset: None, known_keys }
}
