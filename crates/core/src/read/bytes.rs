//! Provides the content of sources: from the files themselves, or from captures of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

use super::lines::LONGEST_LINE;
use crate::discover::Source;

/// The largest marker that names a folder's owner; a path has a few thousand bytes at most.
pub const MARKER_LIMIT: u64 = 1 << 20;

/// The largest file of settings, prices or registered projects.
pub const SETTINGS_LIMIT: u64 = 16 << 20;

/// Opens a file for reading, if it is a regular one.
///
/// Anything can have the name of a session: opening a FIFO waits for a writer that may never come,
/// and a device such as `/dev/zero` has no end. The file is opened without waiting, and its type is
/// that of the opened file, which can no longer be exchanged.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    let file = options.open(path)?;
    let about = file.metadata()?;
    if about.is_file() {
        Ok(file)
    } else if about.is_dir() {
        Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Reads a regular file completely, unless it is larger than `most`.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most {
        // It may grow in the meantime.
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// Reads everything, unless it is longer than any string of an agent that runs on Node.
pub fn read_whole(input: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    input.take(LONGEST_LINE as u64 + 1).read_to_end(bytes)?;
    if bytes.len() > LONGEST_LINE {
        *bytes = Vec::new();
        return Err(too_large(LONGEST_LINE as u64));
    }
    Ok(())
}

fn too_large(most: u64) -> io::Error {
    let what = format!("it is larger than {} MiB", most.div_ceil(1 << 20));
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

/// Reads a regular file as text, unless it is larger than `most`.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8"))
}

/// A reader that can seek.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Provides the content of sources.
pub trait Bytes {
    /// Opens the content of a source as it was when it was read.
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>>;

    /// Reads a file next to a session's own, `below` a folder that it must not lead out of. Returns
    /// `None` if it does not exist or is larger than `most`.
    fn beside(&self, folder: &Path, below: &Path, most: u64) -> Option<Vec<u8>>;
}

/// The files on the disk. Those of which only an extract may be read have no content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Bytes for Disk {
    fn open(&self, source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        if source.kind.is_extract() {
            return Ok(Box::new(Cursor::new([])));
        }
        Ok(Box::new(open_regular(&source.path)?))
    }

    fn beside(&self, folder: &Path, below: &Path, most: u64) -> Option<Vec<u8>> {
        let path = folder.join(below).canonicalize().ok()?;
        let is_inside = path.starts_with(folder.canonicalize().ok()?);
        is_inside.then(|| read_regular(&path, most).ok()).flatten()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        assert_eq!(read_text(&path("file"), 4).unwrap(), "text");
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert_eq!(read_regular(&path("link"), 4).unwrap(), b"text");
        // Opening a FIFO that nobody writes to must not wait.
        assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("fifo"), path("to-fifo")).unwrap();
        for odd in ["fifo", "socket", "to-fifo", ".", "absent"] {
            assert!(open_regular(&path(odd)).is_err(), "{odd}");
        }
        for device in ["/dev/zero", "/dev/null", "/dev/tty"] {
            assert!(open_regular(Path::new(device)).is_err(), "{device}");
        }
    }

    #[test]
    fn small_files_are_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
        let error = read_regular(&path, 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        assert_eq!(read_regular(&path, (1 << 20) + 1).unwrap().len(), (1 << 20) + 1);
        std::fs::write(&path, b"\xFF").unwrap();
        assert_eq!(read_text(&path, 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
