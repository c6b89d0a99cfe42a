//! Reads the prompts typed in all sessions: `history.jsonl`, and `history.json` of the first versions.

use std::io::{self, Read};

use jiff::Timestamp;

use super::object::Object;
use crate::facts::PromptLine;
use crate::read::bytes::read_whole;
use crate::read::{decode, json};

/// Reads a prompt log. Lines without a session cannot be attributed and are left out.
pub(super) fn read(input: impl Read) -> io::Result<Vec<PromptLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let text = decode(&bytes);
    let mut out: Vec<PromptLine> = Vec::new();
    for line in text.lines().filter(|line| json::check(line).is_ok()) {
        let Ok(entry) = Object::read(line) else { continue };
        let (Some(session), Some(text)) = (entry.owned("session_id"), entry.owned("text")) else {
            continue;
        };
        let seconds = entry.number("ts").and_then(|seconds| i64::try_from(seconds).ok());
        let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        out.push(PromptLine { session, number: out.len() as u64, at, text, project: None });
    }
    Ok(out)
}
