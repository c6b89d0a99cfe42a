//! Writes files and folders outside the archive.
//!
//! A file appears under its name whole or not at all, its owner alone can read it, and it never takes
//! the place of anything but a regular file.

mod draft;
mod place;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "portable.rs")]
mod system;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

pub use draft::{Draft, finish_all, remove_abandoned};
pub use place::{Occupant, check_below, is_below, occupant, resolve};

/// What happens to a regular file that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing fails.
    Keep,
    Replace,
}

/// Writes one file that is on the disk before it has its name.
pub fn save(
    path: &Path,
    existing: Existing,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    remove_abandoned(folder_of(path));
    let mut draft = Draft::new(path, existing)?;
    draft.fill(content)?;
    draft.finish()
}

/// Creates a folder, and those above it, for their owner alone. Folders that exist stay as they are.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the folder that a file is in.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
