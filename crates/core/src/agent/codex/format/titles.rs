//! Reads the names of threads: `session_index.jsonl`.

use std::io::{self, Read};

use super::object::Object;
use crate::facts::TitleLine;
use crate::read::bytes::read_whole;
use crate::read::decode;

/// Reads a list of names. Codex CLI only ever appends to it.
pub(super) fn read(input: impl Read) -> io::Result<Vec<TitleLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let text = decode(&bytes);
    let entry = |line: &str| {
        let entry = Object::read(line).ok()?;
        let at = entry.time("updated_at");
        let (session, title) = (entry.owned("id")?, entry.owned("thread_name")?);
        Some(TitleLine { session, at, title, spawned_by: None })
    };
    Ok(text.lines().filter_map(entry).collect())
}
