//! Gives a restored thread its name again: a line in the list of names, to which Codex CLI only appends.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::format::read_titles;
use crate::model::Session;
use crate::read::bytes::open_regular;

/// Returns the line that names a thread, unless the list has it already.
pub(super) fn line(list: &Path, session: &Session, name: &str) -> Option<String> {
    let known = open_regular(list).and_then(read_titles).unwrap_or_default();
    let last = known.iter().rev().find(|line| *line.session == *session.id);
    let is_there = last.is_some_and(|line| line.title == name);
    let at = session.updated.filter(|_| !is_there)?;
    Some(serde_json::json!({ "id": session.id, "thread_name": name, "updated_at": at }).to_string())
}

/// Appends a line to the list. A link is not followed: the folder also has files that are not lists.
pub(super) fn append(list: &Path, line: &str) -> io::Result<()> {
    if list.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(list)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    let start = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    file.sync_all()
}
