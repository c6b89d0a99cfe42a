//! Writes files and folders outside the archive.
//!
//! A file appears under its name complete or not at all, only its owner can read it, and it never
//! replaces anything but a regular file.

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

/// The treatment of a regular file that already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is kept, and writing fails.
    Keep,
    /// It is replaced.
    Replace,
}

/// Writes one file, which is on the disk before it gets its name.
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

/// Creates a folder and its parents for their owner alone. Existing folders stay unchanged.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the folder that contains a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
