//! Encodes plain data as blobs and decodes it again.
//!
//! A blob that cannot be decoded is an error that names its owner, never an empty value: a total
//! must not shrink because a row could not be understood.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

use super::ArchiveError;

/// Encodes a value; `what` names its owner in the error.
pub(super) fn encode(value: &impl Serialize, what: &str) -> Result<Vec<u8>, ArchiveError> {
    postcard::to_stdvec(value).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Decodes a value that the blob begins with, and that may borrow from it; `what` names its owner in the error.
pub(super) fn decode<'a, T: Deserialize<'a>>(
    blob: &'a [u8],
    what: &str,
) -> Result<T, ArchiveError> {
    postcard::from_bytes(blob).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Nearly as fast as the lowest level, and a tenth smaller. Higher ones save little more, because transcripts repeat
/// themselves at short distances.
const LEVEL: i32 = 3;

/// The maximum size of a value of a session, in bytes.
pub(super) const MOST_BYTES: usize = 1 << 30;

thread_local! {
    // Reused because most blobs are small, and creating a context costs more than packing one.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = PACKER.with_borrow_mut(|packer| match packer {
        Some(packer) => packer.compress(bytes),
        None => packer.insert(Compressor::new(LEVEL)?).compress(bytes),
    })?;
    // It has room for bytes that cannot be compressed.
    packed.shrink_to_fit();
    Ok(packed)
}

/// Decompresses at most `most` bytes.
pub(super) fn unpack(packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let size = zstd_safe::get_frame_content_size(packed).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(most).min(most);
    UNPACKER.with_borrow_mut(|unpacker| match unpacker {
        Some(unpacker) => unpacker.decompress(packed, size),
        None => unpacker.insert(Decompressor::new()?).decompress(packed, size),
    })
}

/// Compresses a blob; `what` names its owner in the error.
pub(super) fn compress(blob: &[u8], what: &str) -> Result<Vec<u8>, ArchiveError> {
    pack(blob).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Decompresses a blob of at most `most` bytes; `what` names its owner in the error.
pub(super) fn decompress(packed: &[u8], most: usize, what: &str) -> Result<Vec<u8>, ArchiveError> {
    unpack(packed, most).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// The size up to which a blob is not worth compressing: expanding it would take longer than reading it.
const SMALL: usize = 512;

/// Returns the form in which a blob is stored: compressed, unless it is small or the archive is in memory. The last
/// byte tells which; `what` names its owner in the error.
pub(super) fn shrink(db: &Connection, blob: Vec<u8>, what: &str) -> Result<Vec<u8>, ArchiveError> {
    let is_packed = blob.len() > SMALL && db.path().is_some_and(|path| !path.is_empty());
    let mut stored = if is_packed { compress(&blob, what)? } else { blob };
    stored.push(u8::from(is_packed));
    Ok(stored)
}

/// Returns the blob of a stored form, of at most `most` bytes; `what` names its owner in the error.
pub(super) fn expand<'a>(
    stored: &'a [u8],
    most: usize,
    what: &str,
) -> Result<Cow<'a, [u8]>, ArchiveError> {
    match stored.split_last() {
        Some((1, packed)) => decompress(packed, most, what).map(Cow::Owned),
        Some((0, plain)) => Ok(Cow::Borrowed(plain)),
        _ => Err(ArchiveError::Stored(what.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_expands_to_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = Connection::open(folder.path().join("a.db")).unwrap();
        let memory = Connection::open_in_memory().unwrap();
        let blob = vec![7; 10_000];
        for (db, is_smaller) in [(&file, true), (&memory, false)] {
            let stored = shrink(db, blob.clone(), "").unwrap();
            assert_eq!(stored.len() < blob.len(), is_smaller);
            assert_eq!(*expand(&stored, MOST_BYTES, "").unwrap(), blob);
        }
        let small = shrink(&file, blob[..SMALL].to_vec(), "").unwrap();
        assert_eq!(*expand(&small, MOST_BYTES, "").unwrap(), blob[..SMALL]);
        assert!(small.len() > SMALL, "it is not worth compressing");
        let stored = shrink(&file, blob.clone(), "").unwrap();
        assert!(expand(&stored, 100, "").is_err(), "it is too long");
        assert!(expand(&stored[1..], MOST_BYTES, "").is_err());
        assert!(expand(b"", MOST_BYTES, "").is_err());
        assert!(expand(b"abc", MOST_BYTES, "").is_err());
    }
}
