//! Classifies the records of a session file as Gemini CLI's loader does.
//!
//! The order of the checks matters: a record with a string `id` is a message even if it contains
//! `$set` or looks like a header.

use super::content::{self, Glance, Part, Throws};
use super::quick_reply::Reply;
use crate::read::json::{self, JsStr, Malformed, Raw};
use crate::read::scanner::{Invalid, Scanner};

/// The depth to which records are parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As far as both views need.
    #[default]
    Whole,
    /// Only far enough to count calls. The text of replies and the tool calls, which are most of
    /// all bytes, are skipped.
    Calls,
}

/// A record, with its values as raw JSON.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// `{"$rewindTo": id}`: that message and all after it leave the list.
    Rewind(JsStr<'a>),
    Message(Message<'a>),
    /// A message without an id, which the loader skips.
    Nameless(Message<'a>),
    /// A message of which only the call is needed.
    Reply(Reply<'a>),
    /// `{"$set": {…}}`: new metadata, and perhaps a whole new list of messages.
    Set(Set<'a>),
    /// `{"sessionId", "projectHash", …}`.
    Header(Set<'a>),
    /// Valid JSON that the loader skips; its keys, for the fault.
    Unknown(String),
}

/// A message, with its fields unparsed.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// Empty if it has none, or one that is not a string.
    pub(crate) id: JsStr<'a>,
    pub(crate) has_id: bool,
    pub(crate) raw: &'a str,
    pub(crate) kind: Option<JsStr<'a>>,
    pub(crate) glance: Glance,
    /// Whether it contains anything to resume; an exception drops the message.
    pub(crate) resumable: Result<bool, Throws>,
    /// Whether it is a header with an `id`, which the loader takes for a message.
    pub(crate) header: bool,
    pub(crate) fields: Fields<'a>,
}

impl Message<'_> {
    pub(crate) fn is_user(&self) -> bool {
        self.kind.as_deref() == Some(b"user")
    }

    /// Returns the text that the loader would take as the session's first prompt.
    pub(crate) fn first_text(&self) -> Option<String> {
        content::first_message(self.fields.content?)
    }
}

/// Metadata, and the list of messages that it may contain.
#[derive(Debug, Default)]
pub(crate) struct Set<'a> {
    /// All keys but `messages`.
    pub(crate) fields: Vec<(JsStr<'a>, Raw<'a>)>,
    pub(crate) messages: Listed<'a>,
}

/// The value of `messages` in a record.
#[derive(Debug, Default)]
pub(crate) enum Listed<'a> {
    #[default]
    Nothing,
    Messages(Vec<Element<'a>>),
    /// A value that is not a list.
    Other,
}

/// An element of a list of messages.
#[derive(Debug)]
pub(crate) struct Element<'a> {
    pub(crate) raw: Raw<'a>,
    /// None if it is not an object.
    pub(crate) message: Option<Message<'a>>,
}

impl<'a> Element<'a> {
    /// Parses `text`, which must be a single value.
    pub(crate) fn new(text: &'a str) -> Option<Self> {
        json::scan(text, |scanner| Self::scan(scanner, Depth::Whole)).ok()
    }

    fn scan(scanner: &mut Scanner<'a>, depth: Depth) -> Result<Self, Invalid> {
        if scanner.peek() != Some(b'{') {
            return Ok(Self { raw: scanner.value()?, message: None });
        }
        let mut fields = Fields::default();
        let ((), raw) = scanner.spanned(|scanner| fields.scan(scanner, depth))?;
        Ok(Self { raw, message: Some(fields.into_message(raw.get(), depth)) })
    }

    /// Returns the message, if the loader would add it to its list.
    pub(crate) fn listed(&self) -> Option<&Message<'a>> {
        self.message.as_ref().filter(|message| message.has_id)
    }
}

impl<'a> Set<'a> {
    /// Recognizes exactly `{"$set":{"lastUpdated":"…"}}`, because every other line of a log is one
    /// and need not be parsed.
    fn stamp(line: &'a str) -> Option<Self> {
        let time = line.strip_prefix(r#"{"$set":{"lastUpdated":"#)?.strip_suffix("}}")?;
        let time = Raw::new(time).filter(|time| time.get().starts_with('"'))?;
        let fields = vec![(b"lastUpdated".as_slice().into(), time)];
        Some(Self { fields, messages: Listed::Nothing })
    }

    pub(crate) fn new(text: &'a str, depth: Depth) -> Result<Self, Malformed> {
        let mut set = Self::default();
        if text.starts_with('[') {
            return Ok(set); // an array is an object to JavaScript, but has no keys of interest
        }
        json::scan(text, |scanner| {
            scanner.fields(|scanner, key| {
                if *key != *b"messages" {
                    set.fields.push((key, scanner.value()?));
                } else if scanner.peek() == Some(b'[') {
                    let mut messages = Vec::new();
                    scanner.elements(|scanner| {
                        messages.push(Element::scan(scanner, depth)?);
                        Ok(())
                    })?;
                    set.messages = Listed::Messages(messages);
                } else {
                    let is_null = scanner.value()?.get() == "null";
                    set.messages = if is_null { Listed::Nothing } else { Listed::Other };
                }
                Ok(())
            })
        })?;
        Ok(set)
    }

    /// Returns the last value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        let is_key = |(name, _): &&(JsStr<'a>, Raw<'a>)| **name == *key.as_bytes();
        self.fields.iter().rfind(is_key).map(|(_, value)| *value)
    }
}

/// The fields of a record that any reader uses.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    rewind: Option<Raw<'a>>,
    id: Option<Raw<'a>>,
    kind: Option<Raw<'a>>,
    pub(crate) timestamp: Option<Raw<'a>>,
    pub(crate) content: Option<Raw<'a>>,
    /// The parts of the content, if it is a plain list of them.
    pub(crate) parts: Option<Vec<Part<'a>>>,
    pub(crate) display: Option<Raw<'a>>,
    pub(crate) tool_calls: ToolCalls<'a>,
    pub(crate) thoughts: Option<Raw<'a>>,
    pub(crate) tokens: Option<Raw<'a>>,
    pub(crate) model: Option<Raw<'a>>,
    set: Option<Raw<'a>>,
    session: Option<Raw<'a>>,
    project: Option<Raw<'a>>,
    /// A key that no reader uses.
    other: Option<JsStr<'a>>,
}

/// The value of `toolCalls`. It is most of a session's bytes, so it is parsed in the same pass as
/// the record.
#[derive(Debug, Default)]
pub(crate) enum ToolCalls<'a> {
    #[default]
    Absent,
    Calls(Vec<ToolCallFields<'a>>),
    /// A value that is not a list of objects.
    Other(Raw<'a>),
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ToolCallFields<'a> {
    pub(crate) id: Option<Raw<'a>>,
    pub(crate) name: Option<Raw<'a>>,
    pub(crate) args: Option<Raw<'a>>,
    pub(crate) result: Option<Raw<'a>>,
    pub(crate) status: Option<Raw<'a>>,
    pub(crate) timestamp: Option<Raw<'a>>,
    pub(crate) agent_id: Option<Raw<'a>>,
    pub(crate) display_name: Option<Raw<'a>>,
    pub(crate) description: Option<Raw<'a>>,
    pub(crate) result_display: Option<Raw<'a>>,
    pub(crate) markdown: Option<Raw<'a>>,
}

impl<'a> ToolCallFields<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        let mut call = Self::default();
        scanner.fields(|scanner, key| {
            let value = Some(scanner.value()?);
            match &*key {
                b"id" => call.id = value,
                b"name" => call.name = value,
                b"args" => call.args = value,
                b"result" => call.result = value,
                b"status" => call.status = value,
                b"timestamp" => call.timestamp = value,
                b"agentId" => call.agent_id = value,
                b"displayName" => call.display_name = value,
                b"description" => call.description = value,
                b"resultDisplay" => call.result_display = value,
                b"renderOutputAsMarkdown" => call.markdown = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(call)
    }
}

impl<'a> ToolCalls<'a> {
    /// Parses a value that was skipped.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        json::scan(raw.get(), Self::scan).unwrap_or(Self::Other(raw))
    }

    fn scan(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        if scanner.peek() != Some(b'[') {
            return Ok(Self::Other(scanner.value()?));
        }
        let (calls, raw) = scanner.spanned(|scanner| {
            let (mut calls, mut all) = (Vec::new(), true);
            scanner.elements(|scanner| {
                if scanner.peek() == Some(b'{') {
                    calls.push(ToolCallFields::scan(scanner)?);
                } else {
                    scanner.value()?;
                    all = false;
                }
                Ok(())
            })?;
            Ok(all.then_some(calls))
        })?;
        Ok(calls.map_or(Self::Other(raw), Self::Calls))
    }
}

impl<'a> Fields<'a> {
    fn scan(&mut self, scanner: &mut Scanner<'a>, depth: Depth) -> Result<(), Invalid> {
        scanner.fields(|scanner, key| {
            if *key == *b"toolCalls" {
                self.tool_calls = match depth {
                    Depth::Whole => ToolCalls::scan(scanner)?,
                    Depth::Calls => ToolCalls::Other(scanner.value()?),
                };
                return Ok(());
            }
            if *key == *b"content" && depth == Depth::Whole {
                let (parts, content) = scanner.spanned(Part::scan_list)?;
                (self.content, self.parts) = (Some(content), parts);
                return Ok(());
            }
            let value = scanner.value()?;
            match self.slot(&key) {
                Some(slot) => *slot = Some(value),
                None => {
                    self.other.get_or_insert(key);
                }
            }
            Ok(())
        })
    }

    fn slot(&mut self, key: &[u8]) -> Option<&mut Option<Raw<'a>>> {
        Some(match key {
            b"$rewindTo" => &mut self.rewind,
            b"id" => &mut self.id,
            b"type" => &mut self.kind,
            b"timestamp" => &mut self.timestamp,
            b"content" => &mut self.content,
            b"displayContent" => &mut self.display,
            b"thoughts" => &mut self.thoughts,
            b"tokens" => &mut self.tokens,
            b"model" => &mut self.model,
            b"$set" => &mut self.set,
            b"sessionId" => &mut self.session,
            b"projectHash" => &mut self.project,
            _ => return None,
        })
    }

    fn is_header(&self) -> bool {
        let string = |value: Option<Raw<'_>>| value.is_some_and(|v| v.get().starts_with('"'));
        string(self.session) && string(self.project)
    }

    /// Returns whether it has the type of a message, and any content.
    fn says_something(&self) -> bool {
        let kind = self.kind.and_then(json::js_string);
        matches!(kind.as_deref(), Some(b"user" | b"gemini"))
            && (self.content.is_some() || self.tokens.is_some())
    }

    fn into_message(self, raw: &'a str, depth: Depth) -> Message<'a> {
        let id = self.id.and_then(json::js_string);
        let has_id = id.is_some();
        let kind = self.kind.and_then(json::js_string);
        let is_user = kind.as_deref() == Some(b"user");
        let is_gemini = kind.as_deref() == Some(b"gemini");
        let header = self.is_header() && self.kind.is_none() && self.content.is_none();
        let text = self.content.filter(|content| content.get().starts_with('"'));
        let (glance, resumable) = if let Some(text) = text
            && is_gemini
            && depth == Depth::Calls
        {
            (Glance::default(), self.has_anything(content::first_letter(text).is_some()))
        } else {
            let (glance, thrown) =
                content::glance(self.content, self.parts.as_deref(), is_user || is_gemini);
            let resumable = thrown.and_then(|()| self.resumable(&glance.lead, is_user, is_gemini));
            (glance, resumable)
        };
        let id = id.unwrap_or_default();
        Message { id, has_id, raw, kind, glance, resumable, header, fields: self }
    }

    fn resumable(&self, text: &str, is_user: bool, is_gemini: bool) -> Result<bool, Throws> {
        if is_user {
            let ignored = text.is_empty()
                || text.starts_with(['/', '?'])
                || text.starts_with("<session_context>")
                || text.starts_with("<hook_context>");
            return Ok(!ignored);
        }
        Ok(is_gemini && self.has_anything(!text.is_empty())?)
    }

    /// Returns whether a reply contains any text, tool calls or thoughts.
    fn has_anything(&self, has_text: bool) -> Result<bool, Throws> {
        Ok(has_text || self.tool_calls.has_length()? || content::has_length(self.thoughts)?)
    }
}

impl ToolCalls<'_> {
    fn has_length(&self) -> Result<bool, Throws> {
        match self {
            Self::Absent => Ok(false),
            Self::Calls(calls) => Ok(!calls.is_empty()),
            Self::Other(value) => content::has_length(Some(*value)),
        }
    }
}

impl<'a> Record<'a> {
    /// Parses one line as `JSON.parse` and the loader do.
    pub(crate) fn new(text: &'a str, depth: Depth) -> Result<Self, Malformed> {
        let text = text.trim_matches([' ', '\t', '\n', '\r']);
        if !text.starts_with('{') {
            json::check(text)?;
            return Ok(Self::Unknown("no object".to_owned()));
        }
        if let Some(set) = Set::stamp(text) {
            return Ok(Self::Set(set));
        }
        let mut fields = Fields::default();
        json::scan(text, |scanner| fields.scan(scanner, depth))?;
        if let Some(to) = fields.rewind.and_then(json::js_string) {
            return Ok(Self::Rewind(to));
        }
        if fields.id.is_some_and(|id| id.get().starts_with('"')) {
            return Ok(Self::Message(fields.into_message(text, depth)));
        }
        if let Some(set) = fields.set.filter(|set| set.get().starts_with(['{', '['])) {
            return Ok(Self::Set(Set::new(set.get(), depth)?));
        }
        if fields.is_header() {
            return Ok(Self::Header(Set::new(text, depth)?));
        }
        if fields.says_something() {
            return Ok(Self::Nameless(fields.into_message(text, depth)));
        }
        let what = match &fields.other {
            Some(key) => format!("`{}`", String::from_utf8_lossy(key)),
            None => "no known key".to_owned(),
        };
        Ok(Self::Unknown(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        match Record::new(text, Depth::Whole) {
            Ok(Record::Rewind(_)) => "rewind",
            Ok(Record::Message(_) | Record::Reply(_)) => "message",
            Ok(Record::Set(_)) => "set",
            Ok(Record::Header(_)) => "header",
            Ok(Record::Nameless(_)) => "nameless",
            Ok(Record::Unknown(_)) => "unknown",
            Err(_) => "malformed",
        }
    }

    #[test]
    fn asked_in_the_loaders_order() {
        for (text, want) in [
            (r#"{"$rewindTo":"a","id":"b"}"#, "rewind"),
            (r#"{"$rewindTo":1,"id":"b"}"#, "message"),
            (r#"{"id":"b","$set":{}}"#, "message"),
            (r#"{"id":"b","sessionId":"s","projectHash":"h"}"#, "message"),
            (r#"{"id":1,"$set":{},"sessionId":"s","projectHash":"h"}"#, "set"),
            (r#"{"$set":null,"sessionId":"s","projectHash":"h"}"#, "header"),
            (r#"{"$set":[]}"#, "set"),
            (r#"{"sessionId":"s"}"#, "unknown"),
            (r#"{"sessionId":"s","projectHash":5}"#, "unknown"),
            (r#"{"id":"a","id":null}"#, "unknown"),
            (r#"{"\u0069d":"a"}"#, "message"),
            (r#"{"id":"a","toolCalls":7}"#, "message"),
            (r#"{"id":"a","toolCalls":[7]}"#, "message"),
            (r#"{"type":"gemini","tokens":{"input":1}}"#, "nameless"),
            (r#"{"type":"user","content":"a","id":7}"#, "nameless"),
            (r#"{"type":"gemini"}"#, "unknown"),
            (r#"{"type":"message","content":"a"}"#, "unknown"),
            ("[1,2]", "unknown"),
            ("null", "unknown"),
            ("{\"id\":\"a\"}{}", "malformed"),
            ("{\"id\":\"a\",\"b\n\":1}", "malformed"),
            ("\u{FEFF}{\"id\":\"a\"}", "malformed"),
        ] {
            assert_eq!(kind(text), want, "{text}");
        }
    }
}
