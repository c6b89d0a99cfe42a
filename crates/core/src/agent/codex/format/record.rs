//! Reads one line of a session file.

use std::borrow::Cow;

use jiff::Timestamp;

use super::object::Object;
use crate::read::json::Malformed;

/// A line: an envelope around a payload, or a bare item as written by versions before 0.32.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The time at which the line was written.
    pub(crate) at: Option<Timestamp>,
    /// The position of the line in a history that may be spread over several files.
    pub(crate) ordinal: Option<u64>,
    /// The kind of the line.
    pub(crate) kind: Kind,
    /// The kind as the line names it.
    pub(crate) name: Cow<'a, str>,
    /// The payload, or the whole line where there is no envelope.
    pub(crate) body: Object<'a>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The header of the file, or of a thread that it copies.
    Meta,
    /// An input or output of the model.
    Item,
    /// An event that the program showed.
    Event,
    /// The settings of a turn.
    TurnContext,
    /// A compaction.
    Compacted,
    /// A message from one agent to another.
    Delivery,
    /// The usage of one response.
    Usage,
    /// A line that is unknown or not used.
    Other,
}

impl<'a> Record<'a> {
    /// Reads a line.
    pub(crate) fn read(text: &'a str) -> Result<Self, Malformed> {
        let (line, body) = Object::read_with(text, "payload")?;
        if !line.has("payload") {
            return Ok(Self::bare(line));
        }
        let name = line.text("type").unwrap_or_default();
        let kind = match &*name {
            "session_meta" => Kind::Meta,
            "response_item" => Kind::Item,
            "event_msg" => Kind::Event,
            "turn_context" => Kind::TurnContext,
            "compacted" => Kind::Compacted,
            "inter_agent_communication" => Kind::Delivery,
            "token_usage_record" => Kind::Usage,
            _ => Kind::Other,
        };
        Ok(Self { at: line.time("timestamp"), ordinal: line.number("ordinal"), kind, name, body })
    }

    /// Makes a record of a part of a document.
    pub(crate) fn of(kind: Kind, body: Object<'a>) -> Self {
        Self { at: None, ordinal: None, kind, name: Cow::default(), body }
    }

    /// Classifies a line without an envelope.
    fn bare(line: Object<'a>) -> Self {
        let kind = if line.has("record_type") {
            Kind::Other
        } else if line.has("type") {
            Kind::Item
        } else if line.has("id") && line.has("timestamp") {
            Kind::Meta
        } else {
            Kind::Other
        };
        let name = line.text("type").or_else(|| line.text("record_type")).unwrap_or_default();
        Self { name, ..Self::of(kind, line) }
    }

    /// Returns the type within the payload.
    pub(crate) fn inner(&self) -> Cow<'a, str> {
        self.body.text("type").unwrap_or_default()
    }
}
