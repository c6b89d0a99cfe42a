//! Opens the files of a session while its messages are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use crate::discover::Source;
use crate::facts::Span;
use crate::read::bytes::{Bytes, ReadSeek};
use crate::read::decode;
use crate::read::packed::unpacked;

/// The number of files that are open at once, below the limit of any system.
const OPEN: usize = 64;

/// The session's files, each opened only once if they are few.
pub(super) struct Files<'a> {
    sources: &'a [Source],
    bytes: &'a dyn Bytes,
    open: HashMap<usize, Box<dyn ReadSeek + 'a>>,
    /// The bytes read last.
    buffer: Vec<u8>,
}

impl<'f> Files<'f> {
    pub(super) fn new(sources: &'f [Source], bytes: &'f dyn Bytes) -> Self {
        Self { sources, bytes, open: HashMap::new(), buffer: Vec::new() }
    }

    /// Reads the record at a position.
    pub(super) fn read<'a>(&'a mut self, file: usize, span: &'a Span) -> io::Result<Cow<'a, str>> {
        let (offset, length) = match span {
            Span::Inline(text) => return Ok(Cow::Borrowed(text)),
            Span::File { offset, length } => (*offset, *length),
        };
        if self.open.len() >= OPEN && !self.open.contains_key(&file) {
            self.open.clear();
        }
        let open = match self.open.entry(file) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(slot) => slot.insert(unpacked(self.bytes.open(&self.sources[file])?)?),
        };
        open.seek(SeekFrom::Start(offset))?;
        self.buffer.clear();
        open.take(length).read_to_end(&mut self.buffer)?;
        Ok(decode(&self.buffer))
    }
}
