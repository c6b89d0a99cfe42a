//! Uses Linux's files without a name, and flushes whole file systems at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, syncfs};

/// Creates a file without a name in a folder.
pub(super) fn create_nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Gives such a file a name that is not in use.
pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Flushes files to the disk with one call per file system.
pub(super) fn sync<'a>(files: impl Iterator<Item = &'a File>) -> io::Result<()> {
    let mut systems = BTreeMap::new();
    for file in files {
        systems.insert(file.metadata()?.dev(), file);
    }
    systems.into_values().try_for_each(|file| Ok(syncfs(file)?))
}
