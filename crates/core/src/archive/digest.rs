//! Identifies the content of a file, so that two reads of it can be compared without keeping the bytes.
//!
//! A file is hashed with XXH3 in pieces of 1 MiB, which are also the pieces that are captured. A
//! reader can therefore verify that it captures what was read, and that a log only grew.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::fingerprint::{Fingerprint, time};
use crate::discover::Source;
use crate::read::bytes::{Bytes, Disk, ReadSeek, open_regular};

/// The length of every piece but the last. Larger pieces compress better, smaller ones are faster
/// to read from.
pub(super) const PIECE: u64 = 1 << 20;

/// The buffer for bytes that are only hashed.
const BUFFER: usize = 256 << 10;

/// The length of some content, and the hash of each of its pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) length: u64,
    pieces: Vec<u64>,
}

impl Digest {
    /// Returns the digest of some content.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.digest()
    }

    /// Returns the hashes as they are stored; the length has a column of its own.
    pub(super) fn to_blob(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|hash| hash.to_le_bytes()).collect()
    }

    /// Reads stored hashes; none when their number does not match the length.
    pub(super) fn from_blob(length: u64, blob: &[u8]) -> Option<Self> {
        let (words, rest) = blob.as_chunks::<8>();
        let pieces: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let is_right = rest.is_empty() && pieces.len() as u64 == length.div_ceil(PIECE);
        is_right.then_some(Self { length, pieces })
    }

    /// Returns whether the piece that begins at `start` has this content.
    pub(super) fn matches(&self, start: u64, bytes: &[u8]) -> bool {
        let piece = usize::try_from(start / PIECE).ok().and_then(|at| self.pieces.get(at));
        piece.is_some_and(|hash| *hash == xxh3_64(bytes))
    }
}

/// Computes a digest from bytes in order.
#[derive(Default)]
pub(super) struct Hasher {
    length: u64,
    pieces: Vec<u64>,
    piece: Xxh3,
}

impl Hasher {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = PIECE - self.length % PIECE;
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(count);
            self.piece.update(now);
            self.length += count as u64;
            if self.length.is_multiple_of(PIECE) {
                self.pieces.push(self.piece.digest());
                self.piece.reset();
            }
            bytes = later;
        }
    }

    /// Returns the digest of all bytes so far.
    pub(super) fn digest(&self) -> Digest {
        let mut pieces = self.pieces.clone();
        if !self.length.is_multiple_of(PIECE) {
            pieces.push(self.piece.digest());
        }
        Digest { length: self.length, pieces }
    }
}

/// Reads a file through one handle, up to the size it had when it was opened, and hashes every byte once.
pub(super) struct Recorder {
    file: File,
    fingerprint: Fingerprint,
    /// The handle's own position.
    position: Cell<u64>,
    state: RefCell<State>,
}

struct State {
    hasher: Hasher,
    /// The length at which to take the digest of the beginning of the file.
    mark: Option<u64>,
    at_mark: Option<Digest>,
}

/// The content that was read, and the fingerprint of the file it was read from.
pub(super) struct Recorded {
    pub(super) digest: Digest,
    /// The digest of the beginning of the file up to the mark, if it is that long.
    pub(super) at_mark: Option<Digest>,
    pub(super) fingerprint: Fingerprint,
}

impl Recorder {
    /// Opens a regular file. `mark` is a length for which a digest is needed as well.
    pub(super) fn open(path: &Path, mark: Option<u64>) -> io::Result<Self> {
        let file = open_regular(path)?;
        let fingerprint = Fingerprint::of_file(&file)?;
        let mut state = State { hasher: Hasher::default(), mark, at_mark: None };
        state.update(&[]);
        Ok(Self { file, fingerprint, position: Cell::new(0), state: RefCell::new(state) })
    }

    /// Updates a source from the file's current metadata, which may have changed since discovery.
    pub(super) fn describe(&self, source: &mut Source) {
        source.size = self.fingerprint.size;
        source.modified = self.fingerprint.modified.map(time);
    }

    /// Hashes the beginning of the file up to the mark and returns its digest.
    pub(super) fn beginning(&self) -> io::Result<Option<Digest>> {
        let mark = self.state.borrow().mark;
        self.hash_to(mark.unwrap_or(0))?;
        Ok(self.state.borrow().at_mark.clone())
    }

    /// Hashes the bytes that have not been read so far. A file that changed in the meantime gets no
    /// fingerprint, so that it is read again next time.
    pub(super) fn finish(self) -> io::Result<Recorded> {
        self.hash_to(self.fingerprint.size)?;
        let State { hasher, at_mark, .. } = self.state.into_inner();
        let digest = hasher.digest();
        let is_same = digest.length == self.fingerprint.size
            && Fingerprint::of_file(&self.file)? == self.fingerprint;
        let fingerprint =
            if is_same { self.fingerprint } else { Fingerprint::unknown(digest.length) };
        Ok(Recorded { digest, at_mark, fingerprint })
    }

    fn hash_to(&self, end: u64) -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            let at = self.state.borrow().hasher.length;
            if at >= end.min(self.fingerprint.size) {
                return Ok(());
            }
            buffer.resize(BUFFER, 0);
            if self.read_at(at, &mut buffer)? == 0 {
                return Ok(());
            }
        }
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.fingerprint.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let count = room.min(buffer.len());
        if count == 0 {
            return Ok(0);
        }
        let mut file = &self.file;
        if self.position.get() != at {
            file.seek(SeekFrom::Start(at))?;
        }
        let count = file.read(&mut buffer[..count])?;
        self.position.set(at + count as u64);
        let mut state = self.state.borrow_mut();
        // Bytes are hashed when they are first read in order; `finish` reads the bytes that a
        // reader skips.
        if (at..at + count as u64).contains(&state.hasher.length) {
            let known = usize::try_from(state.hasher.length - at).unwrap_or(usize::MAX);
            state.update(&buffer[known..count]);
        }
        Ok(count)
    }
}

impl State {
    fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if let Some(mark) = self.mark
            && self.at_mark.is_none()
            && mark - self.hasher.length <= bytes.len() as u64
        {
            let before = usize::try_from(mark - self.hasher.length).unwrap_or(usize::MAX);
            self.hasher.update(&bytes[..before]);
            self.at_mark = Some(self.hasher.digest());
            rest = &bytes[before..];
        }
        self.hasher.update(rest);
    }
}

impl Bytes for Recorder {
    fn open(&self, _: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(RecordingReader { recorder: self, at: 0 }))
    }

    fn beside(&self, folder: &Path, below: &Path, most: u64) -> Option<Vec<u8>> {
        Disk.beside(folder, below, most)
    }
}

struct RecordingReader<'a> {
    recorder: &'a Recorder,
    at: u64,
}

impl Read for RecordingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.recorder.read_at(self.at, buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for RecordingReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = seek(self.at, self.recorder.fingerprint.size, to)?;
        Ok(self.at)
    }
}

/// Returns the new position in content of the given length.
pub(super) fn seek(at: u64, length: u64, to: SeekFrom) -> io::Result<u64> {
    let to = match to {
        SeekFrom::Start(at) => Some(at),
        SeekFrom::End(by) => length.checked_add_signed(by),
        SeekFrom::Current(by) => at.checked_add_signed(by),
    };
    to.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Reads in any order and of any size give the digest of the whole file and of its
        /// beginning.
        #[test]
        fn a_digest_does_not_depend_on_how_the_file_is_read(
            length in 0..3_000_000_usize,
            mark in 0..3_000_000_u64,
            reads in prop::collection::vec((0..3_000_000_u64, 0..1_500_000_usize), 0..6),
        ) {
            let content: Vec<u8> = (0..length).map(|n| (n / 7 + n / 4096).to_le_bytes()[0]).collect();
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &content).unwrap();
            let recorder = Recorder::open(file.path(), Some(mark)).unwrap();
            for (at, count) in reads {
                recorder.read_at(at, &mut vec![0; count]).unwrap();
            }
            let recorded = recorder.finish().unwrap();
            prop_assert_eq!(&recorded.digest, &Digest::of(&content));
            let beginning = content.get(..usize::try_from(mark).unwrap()).map(Digest::of);
            prop_assert_eq!(recorded.at_mark, beginning);
            let blob = recorded.digest.to_blob();
            prop_assert_eq!(Digest::from_blob(length as u64, &blob), Some(recorded.digest));
        }
    }

    /// The hashes are stored, so they must be the same in every version of the program.
    #[test]
    fn the_hash_is_xxh3() {
        let mut hasher = Hasher::default();
        hasher.update(b"backstory");
        assert_eq!(hasher.digest().pieces, [xxh3_64(b"backstory")]);
        assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
    }
}
