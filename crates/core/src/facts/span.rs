//! Records the position of a message's text in its file.

use serde::{Deserialize, Serialize};

/// The position of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Span {
    /// A range of bytes in the file.
    File {
        /// The position of the first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// Text that the file does not contain in this form (repaired, or decoded from invalid UTF-8).
    Inline(Box<str>),
}

impl Span {
    /// Returns the length of the record in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Inline(text) => text.len() as u64,
        }
    }
}

/// A text that records are slices of, and its place in the file.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(crate) text: &'a str,
    /// Its offset in the file, if the file contains it verbatim.
    pub(crate) offset: Option<u64>,
}

impl Base<'_> {
    /// Returns the position of `part`, which must be a slice of this text.
    pub(crate) fn place(&self, part: &str) -> Span {
        match self.offset {
            Some(offset) => {
                let inside = part.as_ptr() as usize - self.text.as_ptr() as usize;
                Span::File { offset: offset + inside as u64, length: part.len() as u64 }
            }
            None => Span::Inline(part.into()),
        }
    }
}
