//! One record of a session file, told apart as Gemini CLI's loader tells them apart.
//!
//! The order of the questions matters: a record with a string `id` is a message even if it carries
//! `$set` or looks like a header.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Deserialize, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::content::{self, Glance, Throws};
use crate::read::json::{self, Field, JsKey, JsStr, Malformed};

/// A record, its values still in the agent's own words.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every record is a message, and none is kept")]
pub(super) enum Record<'a> {
    /// `{"$rewindTo": id}`: that message and all after it leave the list.
    Rewind(JsStr<'a>),
    Message(Message<'a>),
    /// `{"$set": {…}}`: new metadata, and perhaps a whole new list of messages.
    Set(Set<'a>),
    /// `{"sessionId", "projectHash", …}`.
    Header(Set<'a>),
    /// Valid JSON that the loader passes over; the keys it has, for the fault.
    Unknown(String),
}

/// A message, its fields not yet looked into.
#[derive(Debug)]
pub(super) struct Message<'a> {
    /// Empty when it has none, or one that is no string.
    pub(super) id: JsStr<'a>,
    pub(super) has_id: bool,
    pub(super) raw: &'a str,
    pub(super) kind: Option<JsStr<'a>>,
    pub(super) glance: Glance,
    /// Whether there is anything to resume in it; an exception drops the message.
    pub(super) resumable: Result<bool, Throws>,
    /// It is a header that has an `id`, and so a message to the loader.
    pub(super) header: bool,
    pub(super) fields: Fields<'a>,
}

impl<'a> Message<'a> {
    /// None when `text` is no object.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let fields = text.starts_with('{').then(|| Fields::new(text).ok()).flatten()?;
        Some(fields.into_message(text))
    }

    pub(super) fn is_user(&self) -> bool {
        self.kind.as_deref() == Some(b"user")
    }

    /// What the loader would take as the session's first prompt.
    pub(super) fn first_text(&self) -> Option<String> {
        content::first_message(self.fields.content?)
    }
}

/// Metadata, and the list of messages that may come with it.
#[derive(Debug, Default)]
pub(super) struct Set<'a> {
    /// All keys but `messages`.
    pub(super) fields: Vec<(JsStr<'a>, &'a RawValue)>,
    pub(super) messages: Listed<'a>,
}

/// What a record holds under `messages`.
#[derive(Debug, Default)]
pub(super) enum Listed<'a> {
    #[default]
    Nothing,
    Messages(Vec<Element<'a>>),
    /// Something that is no list.
    Other,
}

/// An element of a list of messages.
#[derive(Debug)]
pub(super) struct Element<'a> {
    pub(super) raw: &'a RawValue,
    /// None when it is no object.
    pub(super) message: Option<Message<'a>>,
}

impl<'a> Element<'a> {
    pub(super) fn new(raw: &'a RawValue) -> Self {
        Self { raw, message: Message::new(raw.get()) }
    }

    /// The message, if the loader would take it into its list.
    pub(super) fn listed(&self) -> Option<&Message<'a>> {
        self.message.as_ref().filter(|message| message.has_id)
    }
}

impl<'a> Set<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Malformed> {
        let mut set = Self::default();
        if text.starts_with('[') {
            return Ok(set); // an array is an object to JavaScript, but has no keys of interest
        }
        json::each_field_and_list(text, b"messages", |key, value| match value {
            Field::List(elements) => {
                set.messages = Listed::Messages(elements.into_iter().map(Element::new).collect());
            }
            Field::Raw(value) if *key == *b"messages" => {
                set.messages = if value.get() == "null" { Listed::Nothing } else { Listed::Other };
            }
            Field::Raw(value) => set.fields.push((key, value)),
        })?;
        Ok(set)
    }

    /// The last value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let is_key = |(name, _): &&(JsStr<'a>, &'a RawValue)| **name == *key.as_bytes();
        self.fields.iter().rfind(is_key).map(|(_, value)| *value)
    }
}

/// The elements of an array that is known to be valid.
pub(super) fn elements(array: &str) -> Vec<&RawValue> {
    let mut out = Vec::new();
    let _ = json::each_element(array, |element| out.push(element));
    out
}

/// The fields of a record that anybody asks for.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    rewind: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    pub(super) timestamp: Option<&'a RawValue>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) display: Option<&'a RawValue>,
    pub(super) tool_calls: ToolCalls<'a>,
    pub(super) thoughts: Option<&'a RawValue>,
    pub(super) tokens: Option<&'a RawValue>,
    pub(super) model: Option<&'a RawValue>,
    set: Option<&'a RawValue>,
    session: Option<&'a RawValue>,
    project: Option<&'a RawValue>,
    /// A key that nobody asks for.
    other: Option<JsStr<'a>>,
}

/// What stands under `toolCalls`. It is most of a session's bytes, so it is taken apart in the same
/// pass as the record.
#[derive(Debug, Default)]
pub(super) enum ToolCalls<'a> {
    #[default]
    Absent,
    Calls(Vec<ToolCallFields<'a>>),
    /// No list of objects.
    Other(&'a RawValue),
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ToolCallFields<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) name: Option<&'a RawValue>,
    pub(super) args: Option<&'a RawValue>,
    pub(super) result: Option<&'a RawValue>,
    pub(super) status: Option<&'a RawValue>,
    pub(super) timestamp: Option<&'a RawValue>,
    pub(super) agent_id: Option<&'a RawValue>,
    pub(super) display_name: Option<&'a RawValue>,
    pub(super) description: Option<&'a RawValue>,
    pub(super) result_display: Option<&'a RawValue>,
    pub(super) markdown: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolCallFields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Call;
        impl<'de> Visitor<'de> for Call {
            type Value = ToolCallFields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a tool call")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut call = ToolCallFields::default();
                while let Some(JsKey(key)) = map.next_key()? {
                    let slot = match &*key {
                        b"id" => &mut call.id,
                        b"name" => &mut call.name,
                        b"args" => &mut call.args,
                        b"result" => &mut call.result,
                        b"status" => &mut call.status,
                        b"timestamp" => &mut call.timestamp,
                        b"agentId" => &mut call.agent_id,
                        b"displayName" => &mut call.display_name,
                        b"description" => &mut call.description,
                        b"resultDisplay" => &mut call.result_display,
                        b"renderOutputAsMarkdown" => &mut call.markdown,
                        _ => {
                            refuse_controls(&key)?;
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *slot = Some(map.next_value()?);
                }
                Ok(call)
            }
        }
        deserializer.deserialize_map(Call)
    }
}

/// A control character may stand in a key only as an escape, which cannot be told here any more: the
/// careful way must decide.
fn refuse_controls<E: serde::de::Error>(key: &[u8]) -> Result<(), E> {
    if key.iter().any(|byte| *byte < b' ') { Err(E::custom("a doubtful key")) } else { Ok(()) }
}

impl<'a> Fields<'a> {
    fn new(text: &'a str) -> Result<Self, Malformed> {
        struct Whole;
        impl<'a> Visitor<'a> for Whole {
            type Value = Fields<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a record")
            }
            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Fields<'a>, A::Error> {
                let mut fields = Fields::default();
                while let Some(JsKey(key)) = map.next_key()? {
                    if *key == *b"toolCalls" {
                        fields.tool_calls = ToolCalls::Calls(map.next_value()?);
                    } else if let Some(slot) = fields.slot(&key) {
                        *slot = Some(map.next_value()?);
                    } else {
                        refuse_controls(&key)?;
                        map.next_value::<IgnoredAny>()?;
                        fields.other.get_or_insert(key);
                    }
                }
                Ok(fields)
            }
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        if let Ok(fields) = deserializer.deserialize_map(Whole)
            && deserializer.end().is_ok()
        {
            return Ok(fields);
        }
        // Odd tool calls, or no JSON at all.
        Self::carefully(text)
    }

    fn slot(&mut self, key: &[u8]) -> Option<&mut Option<&'a RawValue>> {
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

    /// Without assumptions about the values.
    fn carefully(text: &'a str) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        json::each_field(text, |key, value| {
            if *key == *b"toolCalls" {
                fields.tool_calls = ToolCalls::Other(value);
            } else if let Some(slot) = fields.slot(&key) {
                *slot = Some(value);
            } else {
                fields.other.get_or_insert(key);
            }
        })?;
        if let ToolCalls::Other(list) = fields.tool_calls
            && let Ok(calls) = serde_json::from_str(list.get())
        {
            fields.tool_calls = ToolCalls::Calls(calls);
        }
        Ok(fields)
    }

    fn is_header(&self) -> bool {
        let string = |value: Option<&RawValue>| value.is_some_and(|v| v.get().starts_with('"'));
        string(self.session) && string(self.project)
    }

    fn into_message(self, raw: &'a str) -> Message<'a> {
        let id = self.id.and_then(json::js_string);
        let has_id = id.is_some();
        let kind = self.kind.and_then(json::js_string);
        let is_user = kind.as_deref() == Some(b"user");
        let is_gemini = kind.as_deref() == Some(b"gemini");
        let header = self.is_header() && self.kind.is_none() && self.content.is_none();
        let (glance, thrown) = content::glance(self.content, is_user || is_gemini);
        let resumable = thrown.and_then(|()| self.resumable(&glance.lead, is_user, is_gemini));
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
        Ok(is_gemini
            && (!text.is_empty()
                || self.tool_calls.has_length()?
                || content::has_length(self.thoughts)?))
    }
}

impl ToolCalls<'_> {
    fn has_length(&self) -> Result<bool, Throws> {
        match self {
            Self::Absent => Ok(false),
            Self::Calls(calls) => Ok(!calls.is_empty()),
            Self::Other(value) => content::has_length(Some(value)),
        }
    }
}

impl<'a> Record<'a> {
    /// Reads one line as `JSON.parse` and the loader do.
    pub(super) fn new(text: &'a str) -> Result<Self, Malformed> {
        let text = text.trim_matches([' ', '\t', '\n', '\r']);
        if !text.starts_with('{') {
            json::check(text)?;
            return Ok(Self::Unknown("no object".to_owned()));
        }
        let fields = Fields::new(text)?;
        if let Some(to) = fields.rewind.and_then(json::js_string) {
            return Ok(Self::Rewind(to));
        }
        if fields.id.is_some_and(|id| id.get().starts_with('"')) {
            return Ok(Self::Message(fields.into_message(text)));
        }
        if let Some(set) = fields.set.filter(|set| set.get().starts_with(['{', '['])) {
            return Ok(Self::Set(Set::new(set.get())?));
        }
        if fields.is_header() {
            return Ok(Self::Header(Set::new(text)?));
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
        match Record::new(text) {
            Ok(Record::Rewind(_)) => "rewind",
            Ok(Record::Message(_)) => "message",
            Ok(Record::Set(_)) => "set",
            Ok(Record::Header(_)) => "header",
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
