//! Determines the type of a file from its content, because names are unreliable: a session's file
//! may contain `[]`, session logs may be called `.json`, and shared histories anything.

use std::io::{self, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};

use super::record::{Depth, Record};
use crate::read::bytes::read_whole;
use crate::read::json::{self, Raw};
use crate::read::lines::{Lines, Position};
use crate::read::{decode, document};

/// The type of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// A session, as a log or as a document.
    Session,
    /// `/chat save` or `/chat share`: the model's history.
    History,
    /// A `/restore` snapshot.
    RestorePoint,
    /// `logs.json`: the typed lines.
    PromptLog,
    /// The output of `--output-format json`.
    JsonOutput,
    /// The output of `--output-format stream-json`.
    StreamJson,
    /// A Git LFS pointer; the content is elsewhere.
    LfsPointer,
    /// An empty file.
    Empty,
    /// JSON that is not a session.
    OtherJson,
    /// Anything but JSON.
    NotJson,
}

impl Shape {
    /// Returns the name for output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::History => "saved history",
            Self::RestorePoint => "restore point",
            Self::PromptLog => "prompt log",
            Self::JsonOutput => "output of `--output-format json`",
            Self::StreamJson => "output of `--output-format stream-json`",
            Self::LfsPointer => "Git LFS pointer, the content is not here",
            Self::Empty => "empty",
            Self::OtherJson => "JSON, but not a session",
            Self::NotJson => "not JSON",
        }
    }

    /// Returns whether it contains a conversation.
    pub fn is_conversation(self) -> bool {
        matches!(
            self,
            Self::Session
                | Self::History
                | Self::RestorePoint
                | Self::JsonOutput
                | Self::StreamJson
        )
    }

    /// Determines the type of a file. Only documents are read completely.
    pub fn of(input: &mut (impl Read + Seek)) -> io::Result<Self> {
        input.seek(SeekFrom::Start(0))?;
        let mut lines = Lines::new(&mut *input, Position::default());
        let mut looked = 0;
        while let Some(line) = lines.next()? {
            let text = decode(line.bytes);
            let text = text
                .trim_start_matches('\u{FEFF}')
                .trim_matches(|c: char| c.is_whitespace() || c == '\0');
            if text.is_empty() {
                continue;
            }
            if is_lfs_pointer(text.as_bytes()) {
                return Ok(Self::LfsPointer);
            }
            if let Some(shape) = of_line(text) {
                return Ok(shape);
            }
            looked += 1;
            // A damaged first line does not change the type of a log.
            if looked == 3 {
                break;
            }
        }
        if looked == 0 {
            return Ok(Self::Empty);
        }
        drop(lines);
        input.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        read_whole(input, &mut bytes)?;
        Ok(of_document(&decode(&bytes)))
    }
}

/// Returns whether a file is certainly a session: its head names the session and its project.
pub(crate) fn is_certain(input: &mut impl Read) -> io::Result<bool> {
    const HEAD: u64 = 1 << 20;
    let mut bytes = Vec::new();
    input.take(HEAD).read_to_end(&mut bytes)?;
    let text = decode(&bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    let fields = document::recover(text).unwrap_or_default().fields;
    let has = |name: &str| fields.iter().any(|(key, _)| **key == *name.as_bytes());
    Ok(has("sessionId") && has("projectHash"))
}

/// Returns whether a file that begins with `head` is a Git LFS pointer.
pub(crate) fn is_lfs_pointer(head: &[u8]) -> bool {
    head.starts_with(b"version https://git-lfs")
}

/// Returns the type of a file as far as one of its lines determines it.
fn of_line(text: &str) -> Option<Shape> {
    match Record::new(text, Depth::Calls).ok()? {
        Record::Unknown(_) if text.starts_with('{') => {
            let keys = keys(text);
            let has = |name: &str| keys.iter().any(|key| key == name);
            let streams = has("type") && has("timestamp") && (has("session_id") || has("role"));
            streams.then_some(Shape::StreamJson)
        }
        Record::Unknown(_) => None,
        _ => Some(Shape::Session),
    }
}

fn of_document(text: &str) -> Shape {
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    let Some(recovered) = document::recover(text) else {
        return if json::check(text).is_ok() { Shape::OtherJson } else { Shape::NotJson };
    };
    if let Some(array) = recovered.cut.as_ref().filter(|cut| cut.key.is_none()) {
        if array.elements.is_empty() && json::check(text).is_err() {
            return Shape::NotJson;
        }
        return of_array(array.elements.first().copied());
    }
    let mut found: Vec<&[u8]> = recovered.fields.iter().map(|(key, _)| &**key).collect();
    found.extend(recovered.cut.as_ref().and_then(|cut| cut.key.as_deref()));
    let has = |name: &str| found.contains(&name.as_bytes());
    if has("sessionId") || has("messages") {
        Shape::Session
    } else if has("clientHistory") {
        Shape::RestorePoint
    } else if has("history") {
        Shape::History
    } else if has("stats") && (has("response") || has("session_id")) {
        Shape::JsonOutput
    } else {
        Shape::OtherJson
    }
}

fn of_array(first: Option<Raw<'_>>) -> Shape {
    let Some(first) = first.filter(|value| value.get().starts_with('{')) else {
        return Shape::OtherJson;
    };
    let keys = keys(first.get());
    let has = |name: &str| keys.iter().any(|key| key == name);
    if has("role") && has("parts") {
        Shape::History
    } else if has("messageId") && has("message") {
        Shape::PromptLog
    } else if has("id") && has("type") {
        Shape::Session
    } else {
        Shape::OtherJson
    }
}

fn keys(object: &str) -> Vec<String> {
    let mut out = Vec::new();
    let _ = json::each_field(object, |key, _| {
        out.push(json::to_text(key).into_owned());
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_content() {
        for (text, want) in [
            ("", Shape::Empty),
            (" \n\0\n", Shape::Empty),
            ("[]", Shape::OtherJson),
            ("{}", Shape::OtherJson),
            ("hello", Shape::NotJson),
            ("[workspace]\nresolver = 3\n", Shape::NotJson),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", Shape::LfsPointer),
            (r#"{"sessionId":"s","projectHash":"h"}"#, Shape::Session),
            ("{\"sessionId\":\"s\",\n\"messages\":[{\"id\":", Shape::Session),
            ("garbage\n{\"id\":\"a\",\"type\":\"user\"}\n", Shape::Session),
            (r#"{"history":[]}"#, Shape::History),
            (r#"[{"role":"user","parts":[]}]"#, Shape::History),
            (r#"{"clientHistory":[],"toolCall":{}}"#, Shape::RestorePoint),
            (r#"[{"sessionId":"s","messageId":0,"type":"user","message":"hi"}]"#, Shape::PromptLog),
            (r#"{"session_id":"s","response":"hi","stats":{}}"#, Shape::JsonOutput),
            ("{\"type\":\"init\",\"timestamp\":\"t\",\"session_id\":\"s\"}\n", Shape::StreamJson),
        ] {
            assert_eq!(Shape::of(&mut io::Cursor::new(text)).unwrap(), want, "{text:?}");
        }
    }
}
