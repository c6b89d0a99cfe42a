//! Stored values: how plain data becomes a blob and comes back.
//!
//! What cannot be decoded is an error that names what it belongs to, never an empty value: a total must
//! not get smaller because a row could not be understood.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ArchiveError;

/// Encodes a value; `what` names its owner in the error.
pub(super) fn encode(value: &impl Serialize, what: &str) -> Result<Vec<u8>, ArchiveError> {
    postcard::to_stdvec(value).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Decodes a value; `what` names its owner in the error.
pub(super) fn decode<T: DeserializeOwned>(blob: &[u8], what: &str) -> Result<T, ArchiveError> {
    postcard::from_bytes(blob).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Compresses a blob.
pub(super) fn compress(blob: &[u8], what: &str) -> Result<Vec<u8>, ArchiveError> {
    zstd::bulk::compress(blob, LEVEL).map_err(|_| ArchiveError::Stored(what.to_owned()))
}

/// Unpacks a blob of at most `most` bytes.
pub(super) fn decompress(packed: &[u8], most: usize, what: &str) -> Result<Vec<u8>, ArchiveError> {
    let stored = |_| ArchiveError::Stored(what.to_owned());
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(stored)?;
    let mut out = Vec::new();
    let limit = most as u64;
    std::io::copy(&mut std::io::Read::take(&mut decoder, limit + 1), &mut out).map_err(stored)?;
    if out.len() > most {
        return Err(ArchiveError::Stored(what.to_owned()));
    }
    Ok(out)
}

/// The fastest level: a higher one saves little on transcripts, which repeat themselves at short
/// distances.
pub(super) const LEVEL: i32 = 1;
