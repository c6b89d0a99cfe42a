//! Reads one line of a session file.

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
    /// The usage of one response.
    Usage,
    /// A line that is unknown or not used.
    Other,
}

impl<'a> Record<'a> {
    /// Reads a line.
    pub(crate) fn read(text: &'a str) -> Result<Self, Malformed> {
        let line = Object::read(text)?;
        if !line.has("payload") {
            return Ok(Self::bare(line));
        }
        let kind = match line.text("type").as_deref() {
            Some("session_meta") => Kind::Meta,
            Some("response_item") => Kind::Item,
            Some("event_msg") => Kind::Event,
            Some("turn_context") => Kind::TurnContext,
            Some("compacted") => Kind::Compacted,
            Some("token_usage_record") => Kind::Usage,
            _ => Kind::Other,
        };
        Ok(Self {
            at: line.time("timestamp"),
            ordinal: line.number("ordinal"),
            kind,
            body: line.object("payload"),
        })
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
        Self { at: None, ordinal: None, kind, body: line }
    }

    /// Returns the type within the payload.
    pub(crate) fn inner(&self) -> std::borrow::Cow<'a, str> {
        self.body.text("type").unwrap_or_default()
    }
}
