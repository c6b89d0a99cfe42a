//! Reads and writes the extract of Codex CLI's own list of threads: one line per thread, and one more each time
//! that the list says something else about it.

use std::io::{self, Read};

use super::object::Object;
use crate::facts::ListedSession;
use crate::read::bytes::read_whole;
use crate::read::decode;

/// Reads an extract. Of several lines about a thread, the last one counts.
pub(crate) fn read(input: impl Read) -> io::Result<Vec<ListedSession>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let entry = |line: &str| {
        let entry = Object::read(line).ok()?;
        let (file, name) = (entry.owned("file"), entry.owned("name"));
        Some(ListedSession { session: entry.owned("session")?.into(), file, name })
    };
    Ok(decode(&bytes).lines().filter_map(entry).collect())
}

/// Returns a line of an extract.
pub(crate) fn line(listed: &ListedSession) -> String {
    let ListedSession { session, file, name } = listed;
    let mut line =
        serde_json::json!({ "session": session, "file": file, "name": name }).to_string();
    line.push('\n');
    line
}
