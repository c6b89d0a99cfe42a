//! Files that are written beside their target and then take its place, whole.
//!
//! SQLite needs a file with a name while it writes, so a killed run can leave one. Its writer holds a
//! lock on it for as long as it lives; the next one removes those that nobody locks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Tells the files of one process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A file under a name of its own beside its target. It is removed when it is dropped.
pub(super) struct Beside {
    path: PathBuf,
    file: File,
    is_placed: bool,
}

impl Beside {
    /// Creates a private file, after removing what killed runs left there for the same purpose.
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

    /// Puts the file in the place of its target, whatever was there.
    pub(super) fn replace(self, target: &Path) -> io::Result<()> {
        self.place(|path| fs::rename(path, target))
    }

    /// Gives the file its target's name, which must be free.
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

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_placed {
            remove(&self.path);
        }
    }
}

/// Renames a file, unless the target exists. At no moment does it have two names.
#[cfg(target_os = "linux")]
fn rename_new(path: &Path, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE) {
        // Not every file system can do it.
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
        // Some file systems have no links.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => fs::rename(path, target),
    }
}

/// Removes a database file and what SQLite keeps beside it.
pub(super) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    remove_logs(path);
}

/// Removes SQLite's own files beside a database.
pub(super) fn remove_logs(path: &Path) {
    for ending in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(with_ending(path, ending));
    }
}

/// Returns a path with something behind its name.
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

/// Removes files of earlier runs that nobody writes any more.
pub(super) fn sweep_all(target: &Path) {
    for purpose in PURPOSES {
        sweep(target, &prefix(target, purpose));
    }
}

/// Everything a file is created beside an archive for.
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
