//! Reads a session log record by record, and repairs lines that are not valid JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use super::content::is_js_space;
use super::quick_reply::Reply;
use super::record::{Depth, Record};
use crate::facts::Base;
use crate::fault::Repair;
use crate::read::decode;
use crate::read::json::Malformed;
use crate::read::lines::{LONGEST_LINE, Line, Lines, Position};

/// The record on one line.
pub(crate) struct Entry<'a> {
    pub(crate) line: u64,
    pub(crate) record: Result<Record<'a>, Malformed>,
    /// Set if the line could only be parsed after a repair; the loader does not see such a record.
    pub(crate) repair: Option<Repair>,
    pub(crate) base: Base<'a>,
}

/// The unfinished last line of a log. It is used if it happens to be complete, but a continued read
/// must begin before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tail {
    line: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl Tail {
    pub(crate) fn read(&self, depth: Depth, sink: &mut impl FnMut(&mut Entry<'_>)) {
        let Self { line, offset, bytes } = self;
        entry(Line { terminated: false, ..Line::whole(*line, *offset, bytes) }, depth, sink);
    }
}

/// Reads the complete lines of a log from `position` on, and moves `position` past them.
pub(crate) fn read(
    input: impl Read,
    position: &mut Position,
    depth: Depth,
    mut sink: impl FnMut(&mut Entry<'_>),
) -> io::Result<Option<Tail>> {
    let mut lines = Lines::new(input, *position);
    while let Some(line) = lines.next()? {
        if !line.terminated {
            let Line { number, offset, bytes, .. } = line;
            return Ok(Some(Tail { line: number, offset, bytes: bytes.to_vec() }));
        }
        entry(line, depth, &mut sink);
        *position = lines.position();
    }
    Ok(None)
}

pub(crate) fn entry(line: Line<'_>, depth: Depth, sink: &mut impl FnMut(&mut Entry<'_>)) {
    if line.is_too_long {
        let reason = format!("the line is longer than {} MiB", LONGEST_LINE.div_ceil(1 << 20));
        let record = Err(Malformed { column: line.bytes.len(), reason });
        let base = Base { text: "", offset: None };
        return sink(&mut Entry { line: line.number, record, repair: None, base });
    }
    if depth == Depth::Calls
        && let Some(reply) = Reply::new(line.bytes)
    {
        let (record, base) = (Ok(Record::Reply(reply)), Base { text: "", offset: None });
        return sink(&mut Entry { line: line.number, record, repair: None, base });
    }
    let text = decode(line.bytes);
    if text.trim_matches(is_js_space).is_empty() {
        return;
    }
    let offset = matches!(text, Cow::Borrowed(_)).then_some(line.offset);
    let record = Record::new(&text, depth);
    if record.is_err()
        && let Some((repair, better)) = repair(&text)
        && let Ok(record) = Record::new(&better, depth)
    {
        let base = Base { text: &better, offset: None };
        sink(&mut Entry { line: line.number, record: Ok(record), repair: Some(repair), base });
        return;
    }
    let base = Base { text: &text, offset };
    sink(&mut Entry { line: line.number, record, repair: None, base });
}

/// Repairs a line that is not valid JSON, if the damage is of a known kind.
fn repair(text: &str) -> Option<(Repair, String)> {
    let mut kind = Repair::Padding;
    if text.starts_with('\u{FEFF}') {
        kind = Repair::ByteOrderMark;
    }
    let core = text.trim_matches(|c| is_js_space(c) || c == '\0');
    let mut better = escape_controls(core);
    if better.len() != core.len() {
        kind = Repair::ControlCharacters;
    }
    if Record::new(&better, Depth::Whole).is_err() {
        better = after_torn(&better)?.to_owned();
        kind = Repair::AfterTorn;
    }
    Some((kind, better))
}

/// Escapes the control characters inside strings as JSON requires.
fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        if in_string && c < ' ' {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the complete record at the end of a line that begins with a torn one: the agent was
/// killed in the middle of a write, and the next start appended to the same line.
fn after_torn(text: &str) -> Option<&str> {
    const STARTS: [&str; 4] =
        [r#"{"id":""#, r#"{"$set":{"#, r#"{"sessionId":""#, r#"{"$rewindTo":""#];
    // The innermost match would do; the limit prevents quadratic time on a hostile line.
    const TRIES: usize = 16;
    let mut starts: Vec<usize> =
        STARTS.iter().flat_map(|start| text.match_indices(start).map(|(at, _)| at)).collect();
    starts.sort_unstable();
    let late = starts.len().saturating_sub(TRIES);
    let candidates = starts.iter().take(TRIES).chain(starts[late..].iter());
    candidates.filter(|at| **at > 0).map(|at| &text[*at..]).find(
        |rest| matches!(Record::new(rest, Depth::Whole), Ok(record) if !matches!(record, Record::Unknown(_))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(bytes: &[u8]) -> Option<Repair> {
        let mut got = None;
        let line = Line::whole(1, 0, bytes);
        entry(line, Depth::Whole, &mut |entry| {
            got = entry.record.is_ok().then_some(entry.repair).flatten();
        });
        got
    }

    #[test]
    fn repairs() {
        assert_eq!(repaired(b"{\"id\":\"a\"}"), None);
        assert_eq!(repaired(b"\xef\xbb\xbf{\"id\":\"a\"}"), Some(Repair::ByteOrderMark));
        assert_eq!(repaired(b"{\"id\":\"a\tb\"}"), Some(Repair::ControlCharacters));
        assert_eq!(repaired(b"{\"id\":\"a\"}\0\0"), Some(Repair::Padding));
        assert_eq!(
            repaired(br#"{"id":"a","x":"to{"id":"b","type":"user"}"#),
            Some(Repair::AfterTorn)
        );
        assert_eq!(repaired(br#"{"id":"a","toolCalls":[{"id":"c"}],}"#), None);
    }
}
