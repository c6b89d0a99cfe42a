//! Bytes to the bytes of records. Nothing here knows any agent's format.

pub(crate) mod buffer;
pub mod bytes;
pub mod document;
pub mod json;
pub mod lines;
pub mod packed;
pub mod scanner;

use std::borrow::Cow;

/// Bytes as text; invalid UTF-8 becomes U+FFFD, as it does in Node. The check is vectorized: the
/// standard library's costs a third of reading a session.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(String::from_utf8_lossy(bytes).into_owned()),
    }
}
