//! Separates structural work on an archive from all other access.
//!
//! SQLite orders transactions within one file. Rebuilding, replacing and merging archives need
//! more: the work takes many transactions and may replace the file. Every writer therefore takes a
//! shared lock on `archive.lock` while it writes, and structural work takes an exclusive one. The
//! system releases a lock when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A lock on an archive, released when it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// For ordinary writing, alongside other writers.
    Shared,
    /// For structural work, which excludes all others.
    Exclusive,
}

impl Lock {
    /// Waits for the lock, however long that takes.
    pub(super) fn wait(archive: &Path, mode: Mode) -> io::Result<Self> {
        let file = open(archive)?;
        match mode {
            Mode::Shared => file.lock_shared()?,
            Mode::Exclusive => file.lock()?,
        }
        Ok(Self { _file: file })
    }

    /// Takes the lock if it is free.
    pub(super) fn try_take(archive: &Path, mode: Mode) -> io::Result<Option<Self>> {
        let file = open(archive)?;
        let locked = match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn open(archive: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(false);
    super::temporary::make_private(&mut options);
    options.open(beside(archive))
}

fn beside(archive: &Path) -> PathBuf {
    archive.with_extension("lock")
}
