//! Parses the usual form of a reply for counting calls.
//!
//! Nothing else is parsed, not even to check that the line is text, because these lines are most of
//! all bytes.

use std::sync::Arc;

use super::tokens;
use crate::agent::gemini::views::facts::{Facts, interned, time};
use crate::model::MessageKind;
use crate::read::json::Raw;
use crate::read::scanner::{Invalid, Scanner};

#[derive(Debug, Default)]
pub(crate) struct Reply<'a> {
    /// Includes its quotes.
    id: Option<Raw<'a>>,
    timestamp: Option<Raw<'a>>,
    tokens: Option<Raw<'a>>,
    model: Option<Raw<'a>>,
    is_gemini: bool,
}

impl<'a> Reply<'a> {
    /// Parses a line. Returns `None` if it is not a reply or is unusual in any way; the whole
    /// record must then be parsed.
    pub(crate) fn new(line: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner::of_bytes(line);
        let mut reply = Self::default();
        scanner.fields(|scanner, key| reply.field(scanner, &key)).ok()?;
        scanner.end().ok()?;
        let has_id =
            reply.id.is_some_and(|id| id.get().starts_with('"') && !id.get().contains('\\'));
        let is_call = reply.tokens.is_some_and(|tokens| tokens.get().starts_with('{'));
        (reply.is_gemini && has_id && is_call).then_some(reply)
    }

    fn field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        match key {
            b"id" => self.id = Some(scanner.value()?),
            b"timestamp" => self.timestamp = Some(scanner.value()?),
            b"tokens" => self.tokens = Some(scanner.value()?),
            b"model" => self.model = Some(scanner.value()?),
            b"type" if scanner.value()?.get() == "\"gemini\"" => self.is_gemini = true,
            b"content" if scanner.peek() == Some(b'"') => scanner.pass()?,
            b"thoughts" | b"toolCalls" if scanner.peek() == Some(b'[') => scanner.pass()?,
            // Another kind of record, or a content that may make the loader throw.
            b"type" | b"content" | b"thoughts" | b"toolCalls" | b"$rewindTo" | b"$set"
            | b"sessionId" | b"projectHash" => return Err(Invalid),
            _ => scanner.pass()?,
        }
        Ok(())
    }

    pub(crate) fn id(&self) -> &'a [u8] {
        self.id.map_or(b"", |id| &id.get().as_bytes()[1..id.get().len() - 1])
    }

    pub(crate) fn facts(&self, models: &mut Vec<Arc<str>>) -> Facts {
        Facts {
            at: self.timestamp.and_then(time),
            kind: MessageKind::Reply,
            typed: None,
            call: self.tokens.and_then(tokens::call),
            model: self.model.and_then(|model| interned(model, models)),
            tools: Vec::new(),
            keys: Vec::new(),
            lead: String::new(),
        }
    }
}
