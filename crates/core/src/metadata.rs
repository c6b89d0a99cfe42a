//! Reads file metadata that the standard library only provides on some systems.

use std::fs::Metadata;

/// Returns the time of the last change of a file's metadata, if the system records it.
#[cfg(unix)]
pub(crate) fn changed(metadata: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    metadata.ctime().checked_mul(1_000_000_000)?.checked_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
pub(crate) fn changed(_: &Metadata) -> Option<i64> {
    None
}

/// Returns the number that identifies a file regardless of its name, if the system has one.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn inode(metadata: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(metadata))
}

#[cfg(not(unix))]
pub(crate) fn inode(_: &Metadata) -> Option<u64> {
    None
}
