//! A private place beside the archive, for what must be on disk unencrypted for a moment.
//!
//! It is removed at the end of a run, when the user interrupts it, and by the next run if it was killed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::error::{Failure, Result};

/// The folder to remove when the user interrupts the run.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the folder when the user interrupts the run. If that cannot be arranged, the next run does it.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        // The lock is held until the exit, so that no new folder is created in the meantime.
        let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            let _ = fs::remove_dir_all(folder);
        }
        exit();
    });
}

#[expect(clippy::exit, reason = "the handler runs on a thread of its own, which cannot return")]
fn exit() {
    std::process::exit(130);
}

/// The folder of one run. No other run with the same archive works at the same time.
pub(crate) struct Work {
    folder: TempDir,
    _lock: File,
}

impl Work {
    /// Waits for other runs, and removes what killed ones left behind.
    pub(crate) fn begin(archive: &Path, wait: impl FnOnce()) -> Result<Self> {
        let begin = || -> io::Result<Self> {
            let (parent, prefix) = (parent(archive), prefix(archive));
            let lock = lock(&archive.with_extension("share"), wait)?;
            for entry in fs::read_dir(&parent)? {
                let entry = entry?;
                if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                    fs::remove_dir_all(entry.path())?;
                }
            }
            let mut known = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
            *known = Some(folder.path().to_owned());
            Ok(Self { folder, _lock: lock })
        };
        begin().map_err(|error| {
            let place = parent(archive);
            Failure::new(format!("cannot write to `{}`", place.display())).because(error)
        })
    }

    /// Returns the path of a file that does not exist yet.
    pub(crate) fn file(&self) -> io::Result<PathBuf> {
        let file = self.folder.path().join("parcel.db");
        crate::folder::remove(&file)?;
        Ok(file)
    }
}

fn lock(path: &Path, wait: impl FnOnce()) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            wait();
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    Ok(file)
}

fn parent(archive: &Path) -> PathBuf {
    let parent = archive.parent().filter(|folder| !folder.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn prefix(archive: &Path) -> OsString {
    let mut prefix = archive.with_extension("share").file_name().unwrap_or_default().to_owned();
    prefix.push("-");
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive.db");
        let begin = || Work::begin(&archive, || {}).unwrap();
        let work = begin();
        fs::write(work.file().unwrap(), "plain").unwrap();
        let killed = work.folder.path().with_file_name("archive.share-killed");
        drop(work);
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join("parcel.db"), "plain").unwrap();
        let work = begin();
        assert!(!killed.exists());
        assert!(!work.file().unwrap().exists());
        drop(work);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["archive.share"]);
    }
}
