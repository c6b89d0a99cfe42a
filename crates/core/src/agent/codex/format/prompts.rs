//! Reads the prompts typed in all sessions: `history.jsonl`, and `history.json` of the first versions.

use std::io::{self, Read};

use jiff::Timestamp;

use super::object::Object;
use crate::facts::{PromptLine, SESSIONLESS};
use crate::read::bytes::read_whole;
use crate::read::json::Raw;
use crate::read::{decode, json, unpadded};

/// Reads a prompt log. Lines without a session are left out, except those of the first versions, which never
/// recorded it.
pub(super) fn read(input: impl Read) -> io::Result<Vec<PromptLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let text = decode(&bytes);
    let text = unpadded(&text);
    if text.starts_with('[') {
        return Ok(commands(text));
    }
    let mut out: Vec<PromptLine> = Vec::new();
    for line in text.lines().map(unpadded).filter(|line| json::check(line).is_ok()) {
        let Ok(entry) = Object::read(line) else { continue };
        let (Some(session), Some(text)) = (entry.owned("session_id"), entry.owned("text")) else {
            continue;
        };
        let seconds = entry.number("ts").and_then(|seconds| i64::try_from(seconds).ok());
        let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        let session = session.into();
        out.push(PromptLine { session, number: out.len() as u64, at, text, project: None });
    }
    Ok(out)
}

/// Reads the list of the first versions.
fn commands(text: &str) -> Vec<PromptLine> {
    let command = |(number, entry): (usize, Raw<'_>)| {
        let entry = Object::of(entry);
        let at = entry.number("timestamp").and_then(|at| i64::try_from(at).ok());
        Some(PromptLine {
            session: SESSIONLESS.into(),
            number: number as u64,
            at: at.and_then(|at| Timestamp::from_millisecond(at).ok()),
            text: entry.owned("command")?,
            project: None,
        })
    };
    json::elements(text).into_iter().enumerate().filter_map(command).collect()
}
