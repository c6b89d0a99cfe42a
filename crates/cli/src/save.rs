//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::interrupt;

/// All of it or nothing: a file beside the target is written, then takes its place.
pub(crate) fn save(
    output: &Path,
    force: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let mut file = interrupt::make(|| new_file(folder_of(output)), NamedTempFile::path)?;
    let mut out = io::BufWriter::with_capacity(64 * 1024, file.as_file_mut());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    if force { file.persist(output) } else { file.persist_noclobber(output) }
        .map_err(|error| error.error)
}

/// A new file with the rights any new file has, not those of a private temporary one.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".backstory-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
