//! Recognizes a file that has not changed since it was read.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use crate::discover::Source;
use crate::metadata::{changed, inode};

/// A file's metadata. While it is unchanged, so is the content.
///
/// Programs cannot set the time of the last metadata change (`ctime`), so a file that was rewritten
/// and got its old size and modification time back is still recognized as changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified: Option<i64>,
    pub(super) changed: Option<i64>,
    pub(super) inode: Option<i64>,
}

impl Fingerprint {
    pub(super) fn of(source: &Source) -> Self {
        Self {
            size: source.size,
            modified: source.modified.and_then(nanoseconds),
            changed: source.changed,
            inode: source.inode.map(u64::cast_signed),
        }
    }

    pub(super) fn of_file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            size: metadata.len(),
            modified: metadata.modified().ok().and_then(nanoseconds),
            changed: changed(&metadata),
            inode: inode(&metadata).map(u64::cast_signed),
        })
    }

    /// Returns the fingerprint of a file that must be read again.
    pub(super) fn unknown(size: u64) -> Self {
        Self { size, modified: None, changed: None, inode: None }
    }
}

fn nanoseconds(time: SystemTime) -> Option<i64> {
    let since = |from, to: SystemTime| to.duration_since(from).ok();
    let whole = |d: std::time::Duration| i64::try_from(d.as_nanos()).ok();
    match since(SystemTime::UNIX_EPOCH, time) {
        Some(after) => whole(after),
        None => since(time, SystemTime::UNIX_EPOCH).and_then(whole).map(|before| -before),
    }
}

pub(super) fn time(nanoseconds: i64) -> SystemTime {
    let distance = std::time::Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}
