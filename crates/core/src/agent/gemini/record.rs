//! One record of a session file, told apart as Gemini CLI's loader tells them apart.
//!
//! The order of the questions matters: a record with a string `id` is a message even if it carries
//! `$set` or looks like a header.

use serde_json::value::RawValue;

use super::content::{self, Throws};
use crate::read::json::{self, Field, JsStr, Malformed};

/// A record, its values still in the agent's own words.
#[derive(Debug)]
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

#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) id: JsStr<'a>,
    pub(super) raw: &'a str,
    pub(super) is_user: bool,
    content: Option<&'a RawValue>,
    /// Whether there is anything to resume in it; an exception drops the message.
    pub(super) resumable: Result<bool, Throws>,
    /// The metadata a header in disguise would bring (a header that has an `id`).
    pub(super) header: bool,
}

impl Message<'_> {
    /// What the loader would take as the session's first prompt.
    pub(super) fn first_text(&self) -> Option<String> {
        content::first_message(self.content?)
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
    Messages(Vec<&'a RawValue>),
    /// Something that is no list.
    Other,
}

impl<'a> Set<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Malformed> {
        let mut set = Self::default();
        if text.starts_with('[') {
            return Ok(set); // an array is an object to JavaScript, but has no keys of interest
        }
        json::each_field_and_list(text, b"messages", |key, value| match value {
            Field::List(elements) => set.messages = Listed::Messages(elements),
            Field::Raw(value) if *key == *b"messages" => {
                set.messages = if value.get() == "null" { Listed::Nothing } else { Listed::Other };
            }
            Field::Raw(value) => set.fields.push((key, value)),
        })?;
        Ok(set)
    }
}

/// The elements of an array that is known to be valid.
pub(super) fn elements(array: &str) -> Vec<&RawValue> {
    let mut out = Vec::new();
    let _ = json::each_element(array, |element| out.push(element));
    out
}

/// The fields that decide what a record is.
#[derive(Default)]
struct Seen<'a> {
    rewind: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    thoughts: Option<&'a RawValue>,
    set: Option<&'a RawValue>,
    session: Option<&'a RawValue>,
    project: Option<&'a RawValue>,
    other: usize,
    first_key: Option<JsStr<'a>>,
}

impl<'a> Seen<'a> {
    fn new(text: &'a str) -> Result<Self, Malformed> {
        let mut seen = Self::default();
        json::each_field(text, |key, value| {
            let slot = match &*key {
                b"$rewindTo" => &mut seen.rewind,
                b"id" => &mut seen.id,
                b"type" => &mut seen.kind,
                b"content" => &mut seen.content,
                b"toolCalls" => &mut seen.tool_calls,
                b"thoughts" => &mut seen.thoughts,
                b"$set" => &mut seen.set,
                b"sessionId" => &mut seen.session,
                b"projectHash" => &mut seen.project,
                _ => {
                    seen.other += 1;
                    seen.first_key.get_or_insert(key);
                    return;
                }
            };
            *slot = Some(value);
        })?;
        Ok(seen)
    }

    fn is_header(&self) -> bool {
        let string = |value: Option<&RawValue>| value.is_some_and(|v| v.get().starts_with('"'));
        string(self.session) && string(self.project)
    }

    fn into_message(self, id: JsStr<'a>, raw: &'a str) -> Message<'a> {
        let kind = self.kind.and_then(json::js_string);
        let is_user = kind.as_deref() == Some(b"user");
        let is_gemini = kind.as_deref() == Some(b"gemini");
        let header = self.is_header() && self.kind.is_none() && self.content.is_none();
        Message {
            resumable: self.resumable(is_user, is_gemini),
            id,
            raw,
            is_user,
            content: self.content,
            header,
        }
    }

    fn resumable(&self, is_user: bool, is_gemini: bool) -> Result<bool, Throws> {
        let text = content::leading_text(self.content, is_user || is_gemini)?;
        if is_user {
            let ignored = text.is_empty()
                || text.starts_with(['/', '?'])
                || text.starts_with("<session_context>")
                || text.starts_with("<hook_context>");
            return Ok(!ignored);
        }
        Ok(is_gemini
            && (!text.is_empty()
                || content::has_length(self.tool_calls)?
                || content::has_length(self.thoughts)?))
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
        let seen = Seen::new(text)?;
        if let Some(to) = seen.rewind.and_then(json::js_string) {
            return Ok(Self::Rewind(to));
        }
        if let Some(id) = seen.id.and_then(json::js_string) {
            return Ok(Self::Message(seen.into_message(id, text)));
        }
        if let Some(set) = seen.set.filter(|set| set.get().starts_with(['{', '['])) {
            return Ok(Self::Set(Set::new(set.get())?));
        }
        if seen.is_header() {
            return Ok(Self::Header(Set::new(text)?));
        }
        let what = match &seen.first_key {
            Some(key) => format!("`{}`", String::from_utf8_lossy(key)),
            None => "no known key".to_owned(),
        };
        Ok(Self::Unknown(what))
    }
}

/// An element of a list of messages: `None` when it has no string id, which the loader drops.
pub(super) fn listed(element: &RawValue) -> Option<Message<'_>> {
    let text = element.get();
    if !text.starts_with('{') {
        return None;
    }
    let seen = Seen::new(text).ok()?;
    let id = seen.id.and_then(json::js_string)?;
    Some(seen.into_message(id, text))
}

/// The same for the loader's whole-document path, which asks for no id.
pub(super) fn in_document(element: &RawValue) -> Option<Message<'_>> {
    let text = element.get();
    if !text.starts_with('{') {
        return None;
    }
    let seen = Seen::new(text).ok()?;
    let id = seen.id.and_then(json::js_string).unwrap_or_default();
    Some(seen.into_message(id, text))
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
            ("[1,2]", "unknown"),
            ("null", "unknown"),
            ("{\"id\":\"a\"}{}", "malformed"),
            ("\u{FEFF}{\"id\":\"a\"}", "malformed"),
        ] {
            assert_eq!(kind(text), want, "{text}");
        }
    }
}
