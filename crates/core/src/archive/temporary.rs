//! Writes files next to their target and moves them into place once they are complete.
//!
//! SQLite needs a named file while it writes, so a killed run can leave one behind. A writer keeps
//! its file locked as long as it runs; the next writer removes the files that nobody locks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Distinguishes the files of one process.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A uniquely named file next to its target. It is removed when dropped.
pub(super) struct TemporaryFile {
    path: PathBuf,
    file: File,
    is_placed: bool,
}

impl TemporaryFile {
    /// Creates a private file, after removing leftovers of killed runs with the same purpose.
    pub(super) fn create(target: &Path, purpose: &str) -> io::Result<Self> {
        let prefix = prefix(target, purpose);
        sweep(target, &prefix);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let number = format!("{}-{count}", std::process::id());
            let mut name = prefix.clone();
            name.push(&number);
            let path = target.with_file_name(name);
            let mut options = OpenOptions::new();
            options.create_new(true).read(true).write(true);
            make_private(&mut options);
            match options.open(&path) {
                Ok(file) => {
                    file.lock()?;
                    // A sweep of another process may have been faster than the lock.
                    if path.exists() {
                        return Ok(Self { path, file, is_placed: false });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Moves the file over its target, replacing whatever is there.
    pub(super) fn replace(self, target: &Path) -> io::Result<()> {
        self.place(|path| fs::rename(path, target))
    }

    /// Moves the file to its target, which must not exist.
    pub(super) fn place_new(self, target: &Path) -> io::Result<()> {
        self.place(|path| rename_new(path, target))
    }

    fn place(mut self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        self.file.sync_all()?;
        rename(&self.path)?;
        self.is_placed = true;
        sync_folder(&self.path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_placed {
            remove(&self.path);
        }
    }
}

/// Renames a file unless the target exists. The file never has two names.
#[cfg(target_os = "linux")]
fn rename_new(path: &Path, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE) {
        // Not every file system supports this.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => link_new(path, target),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(path: &Path, target: &Path) -> io::Result<()> {
    link_new(path, target)
}

fn link_new(path: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(path, target) {
        Ok(()) => fs::remove_file(path),
        // Some file systems have no hard links.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => fs::rename(path, target),
    }
}

/// Removes a database file and SQLite's files next to it.
pub(super) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    remove_logs(path);
}

/// Removes SQLite's own files next to a database.
pub(super) fn remove_logs(path: &Path) {
    for ending in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(with_ending(path, ending));
    }
}

/// Appends an ending to the file name of a path.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes a rename durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Not every system can open a folder.
    match File::open(folder.unwrap_or(Path::new("."))) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

/// Makes a new file readable by its owner alone.
pub(super) fn make_private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Removes leftovers of earlier runs that no writer locks.
pub(super) fn sweep_all(target: &Path) {
    for purpose in PURPOSES {
        sweep(target, &prefix(target, purpose));
    }
}

/// The purposes for which files are created next to an archive.
pub(super) const PURPOSES: [&str; 3] = ["new", "rebuild", "backup"];

fn prefix(target: &Path, purpose: &str) -> OsString {
    let mut prefix = target.file_name().unwrap_or(OsStr::new("archive")).to_owned();
    prefix.push(format!(".{purpose}-"));
    prefix
}

fn sweep(target: &Path, prefix: &OsStr) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        let is_log = ["-wal", "-shm", "-journal"]
            .iter()
            .any(|ending| name.as_encoded_bytes().ends_with(ending.as_bytes()));
        if !is_ours || is_log {
            continue;
        }
        let path = entry.path();
        let is_free = |file: File| file.try_lock().is_ok();
        if OpenOptions::new().read(true).open(&path).is_ok_and(is_free) {
            remove(&path);
        }
    }
}
