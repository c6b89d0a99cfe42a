//! Reads `logs.json`: every line typed in the interactive program, including those of deleted
//! sessions.

use std::io::{self, Read};

use crate::agent::gemini::views::facts::time;
use crate::facts::PromptLine;
use crate::model::SessionId;
use crate::read::bytes::read_whole;
use crate::read::json::{self, Raw};
use crate::read::{decode, document};

/// Reads a prompt log, or the intact part of a damaged one.
pub fn read_prompt_log(input: impl Read) -> io::Result<Vec<PromptLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    let text = decode(&bytes);
    let list = document::recover(text.trim_start_matches('\u{FEFF}')).and_then(|found| found.cut);
    Ok(list.map(|list| list.elements.into_iter().filter_map(entry).collect()).unwrap_or_default())
}

fn entry(raw: Raw<'_>) -> Option<PromptLine> {
    let (session, text) = (SessionId::default(), String::new());
    let mut typed = PromptLine { session, number: 0, at: None, text, project: None };
    json::each_field(raw.get(), |key, value| match &*key {
        b"sessionId" => typed.session = json::string(value).unwrap_or_default().into(),
        b"messageId" => typed.number = value.get().parse().unwrap_or_default(),
        b"message" => typed.text = json::string(value).unwrap_or_default().into_owned(),
        b"timestamp" => typed.at = time(value),
        _ => {}
    })
    .ok()?;
    (!typed.session.is_empty()).then_some(typed)
}
