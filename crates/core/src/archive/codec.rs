//! Encodes plain data as blobs and decodes it again.
//!
//! A blob that cannot be decoded is an error that names its owner, never an empty value: a total
//! must not shrink because a row could not be understood.

use std::cell::RefCell;
use std::io;

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

/// The fastest level. A higher one saves little, because transcripts repeat themselves at short
/// distances.
const LEVEL: i32 = 1;

thread_local! {
    // Reused because most blobs are small, and creating a context costs more than packing one.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    PACKER.with_borrow_mut(|packer| match packer {
        Some(packer) => packer.compress(bytes),
        None => packer.insert(Compressor::new(LEVEL)?).compress(bytes),
    })
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
