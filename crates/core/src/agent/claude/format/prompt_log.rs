//! Reads `history.jsonl`, which records every line typed in a terminal, including those of deleted sessions.

use std::io::{self, Read};

use jiff::Timestamp;

use crate::facts::PromptLine;
use crate::read::decode;
use crate::read::json;
use crate::read::lines::{Lines, Position};

/// A typed line.
#[derive(Debug, Default)]
pub(super) struct Typed {
    display: String,
    at: Option<Timestamp>,
    session: Option<String>,
}

/// Reads one line of the log. Returns `None` if it is not a line of a prompt log.
pub(super) fn line(text: &str) -> Option<Typed> {
    let mut typed = Typed::default();
    let (mut has_display, mut has_project) = (false, false);
    json::each_field(text, |key, value| match &*key {
        b"display" => {
            has_display = true;
            typed.display = json::string(value).unwrap_or_default().into_owned();
        }
        b"project" => has_project = true,
        b"timestamp" => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a time that is out of range is none"
            )]
            let millisecond = json::number(value.get()).map(|number| number as i64);
            typed.at = millisecond.and_then(|at| Timestamp::from_millisecond(at).ok());
        }
        b"sessionId" => typed.session = json::string(value).map(std::borrow::Cow::into_owned),
        _ => {}
    })
    .ok()?;
    (has_display && has_project).then_some(typed)
}

/// Reads a prompt log. Skips lines of old versions, which do not record the session.
pub(super) fn read(input: impl Read) -> io::Result<Vec<PromptLine>> {
    let mut lines = Lines::new(input, Position::default());
    let mut out = Vec::new();
    while let Some(found) = lines.next()? {
        let Some(typed) = line(&decode(found.bytes)) else { continue };
        let Some(session) = typed.session.filter(|session| !session.is_empty()) else { continue };
        out.push(PromptLine { session, number: found.number, at: typed.at, text: typed.display });
    }
    Ok(out)
}
