//! Reads the names of threads: `session_index.jsonl`.

use std::io::{self, Read};

use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;

use super::object::Object;
use crate::facts::TitleLine;
use crate::read::bytes::read_whole;
use crate::read::decode;

/// Reads a list of names. Codex CLI only ever appends to it, and the last name of a thread counts, whatever its time.
pub(crate) fn read(input: impl Read) -> io::Result<Vec<TitleLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let text = decode(&bytes);
    let mut latest: HashMap<String, Option<Timestamp>> = HashMap::default();
    let entry = |line: &str| {
        let entry = Object::read(line).ok()?;
        let (session, title) = (entry.owned("id")?, entry.owned("thread_name")?);
        let at = latest.entry(session.clone()).or_default();
        *at = entry.time("updated_at").max(*at);
        Some(TitleLine { at: *at, session, title, spawned_by: None })
    };
    Ok(text.lines().filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_never_older_than_others() {
        let line = |id: &str, name: &str, at: &str| {
            format!("{{\"id\":\"{id}\",\"thread_name\":\"{name}\",\"updated_at\":\"{at}\"}}\n")
        };
        let text = line("a", "one", "2026-03-02T10:00:00Z")
            + &line("a", "two", "2026-03-01T10:00:00Z")
            + &line("b", "three", "2026-03-01T10:00:00Z")
            + &line("a", "four", "");
        let found = read(text.as_bytes()).unwrap();
        let day = |at: Option<Timestamp>| at.unwrap().to_string()[8..10].to_owned();
        let found: Vec<_> = found.iter().map(|one| (one.title.as_str(), day(one.at))).collect();
        let expected = [("one", "02"), ("two", "02"), ("three", "01"), ("four", "02")];
        assert_eq!(found, expected.map(|(title, day)| (title, day.to_owned())));
    }
}
