//! Supports systems on which every file has a name and is flushed to the disk separately.

use std::fs::File;
use std::io;
use std::path::Path;

pub(super) fn create_nameless(_folder: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn link(_file: &File, _name: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Flushes files to the disk one by one.
pub(super) fn sync<'a>(mut files: impl Iterator<Item = &'a File>) -> io::Result<()> {
    files.try_for_each(File::sync_all)
}
