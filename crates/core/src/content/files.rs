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

/// The least number of bytes to read at a time. Records are read nearly in order, so the next ones are usually
/// among them.
const AHEAD: u64 = 64 << 10;

/// The maximum number of bytes to read at a time.
const STEP: usize = 1 << 20;

/// The session's files, each opened only once if they are few.
pub(super) struct Files<'a> {
    sources: &'a [Source],
    bytes: &'a dyn Bytes,
    open: HashMap<usize, OpenFile<'a>>,
}

/// An open file.
struct OpenFile<'a> {
    input: Box<dyn ReadSeek + 'a>,
    /// The bytes read last, and where they begin.
    buffer: Vec<u8>,
    start: u64,
}

impl<'f> Files<'f> {
    pub(super) fn new(sources: &'f [Source], bytes: &'f dyn Bytes) -> Self {
        Self { sources, bytes, open: HashMap::new() }
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
            Entry::Vacant(slot) => {
                let input = unpacked(self.bytes.open(&self.sources[file])?)?;
                slot.insert(OpenFile { input, buffer: Vec::new(), start: 0 })
            }
        };
        Ok(decode(open.read(offset, length)?))
    }
}

impl OpenFile<'_> {
    /// Returns the bytes at a position, fewer if the file ends before.
    fn read(&mut self, offset: u64, length: u64) -> io::Result<&[u8]> {
        if self.inside(offset, length).is_none() {
            self.input.seek(SeekFrom::Start(offset))?;
            self.start = offset;
            self.buffer.clear();
            self.fill(length.max(AHEAD))?;
        }
        let end =
            usize::try_from(length).map_or(self.buffer.len(), |end| end.min(self.buffer.len()));
        Ok(self.inside(offset, length).unwrap_or(&self.buffer[..end]))
    }

    /// Reads up to a number of bytes. Memory grows with what is there, because a stored length may be anything.
    fn fill(&mut self, count: u64) -> io::Result<()> {
        while let Some(rest) = count.checked_sub(self.buffer.len() as u64).filter(|rest| *rest > 0)
        {
            let from = self.buffer.len();
            self.buffer.resize(from + usize::try_from(rest).unwrap_or(STEP).min(STEP), 0);
            let read = self.input.read(&mut self.buffer[from..]);
            self.buffer.truncate(from + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the bytes at a position if all of them were read last.
    fn inside(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        self.buffer.get(from..to)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_are_read_in_any_order(
            spans in prop::collection::vec((0..200_000_usize, 0..100_000_usize), 1..20),
            length in 0..200_000_usize,
        ) {
            let content: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let input = Box::new(Cursor::new(content.clone()));
            let mut file = OpenFile { input, buffer: Vec::new(), start: 0 };
            for (offset, length) in spans {
                let [from, to] = [offset, offset + length].map(|at| at.min(content.len()));
                let record = file.read(offset as u64, length as u64).unwrap();
                prop_assert_eq!(record, &content[from..to]);
            }
        }
    }
}
