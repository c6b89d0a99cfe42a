//! Whether a file is still the one that was read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::discover::Source;

/// How much of a log is looked at to see that what was read of it is unchanged.
const BLOCK: u64 = 4096;

/// What a look at a file's metadata tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified: Option<i64>,
    pub(super) inode: Option<i64>,
}

impl Look {
    pub(super) fn of(source: &Source) -> Self {
        let modified = source.modified.and_then(nanoseconds);
        Self { size: source.size, modified, inode: source.inode.map(u64::cast_signed) }
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

/// A hash of the last block before `offset`, and of where that is.
pub(super) fn proof(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let start = offset.saturating_sub(BLOCK);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut block = Vec::new();
    file.take(offset - start).read_to_end(&mut block)?;
    let mut hash = Sha256::new();
    hash.update(offset.to_le_bytes());
    hash.update(&block);
    Ok(hash.finalize()[..16].to_vec())
}
