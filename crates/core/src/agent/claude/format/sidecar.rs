//! Reads the small files that Claude Code writes beside a session: its title, and what started an agent.

use std::io::{self, Read};

use crate::agent::claude::paths;
use crate::discover::Source;
use crate::facts::TitleLine;
use crate::model::ToolCallId;
use crate::read::bytes::read_whole;
use crate::read::{decode, json, unpadded};

/// Reads a `custom-title.json`, or the `.meta.json` of an agent.
pub(super) fn read(source: &Source, input: impl Read) -> io::Result<Option<TitleLine>> {
    let mut bytes = Vec::new();
    read_whole(input, &mut bytes)?;
    Ok(paths::session_of_sidecar(&source.path)
        .and_then(|session| line(session, unpadded(&decode(&bytes)))))
}

fn line(session: String, text: &str) -> Option<TitleLine> {
    let (mut title, mut kind, mut task, mut call) = (None, None, None, None);
    json::each_field(text, |key, value| match &*key {
        b"customTitle" => title = json::string(value),
        b"agentType" => kind = json::string(value),
        b"description" => task = json::string(value),
        b"toolUseId" => call = json::string(value),
        _ => {}
    })
    .ok()?;
    let about: Vec<_> =
        [kind, task].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let title = title.map_or_else(|| about.join(": "), std::borrow::Cow::into_owned);
    let spawned_by = call.filter(|call| !call.is_empty()).map(ToolCallId::from);
    let is_empty = title.trim().is_empty() && spawned_by.is_none();
    (!is_empty).then_some(TitleLine { session, at: None, title, spawned_by })
}
