//! Where the content of sources comes from: the files themselves, or what was captured of them.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::discover::Source;

pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

pub trait Bytes {
    /// The content of a source as it was when it was read.
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>>;

    /// A file that stands beside a session's own; none when there is none, or one larger than `most`.
    fn beside(&self, path: &Path, most: u64) -> Option<Vec<u8>>;
}

/// The files themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Bytes for Disk {
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(File::open(&source.path)?))
    }

    fn beside(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let about = path.symlink_metadata().ok()?;
        (about.is_file() && about.len() <= most).then(|| std::fs::read(path).ok()).flatten()
    }
}

/// Opens a regular file for reading; anything else is an error.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}
