//! Reads the content of messages from their records.

use std::path::{Component, Path};

use indexmap::IndexSet;

use super::{prompt, tool_call};
use crate::agent::gemini::format::record::{Element, Message as Record, ToolCalls};
use crate::agent::gemini::views::facts::time;
use crate::assemble::SessionFacts;
use crate::facts::MessageFacts;
use crate::model::{Attachment, Message, MessageKind, Thought};
use crate::projects::has_drive;
use crate::read::bytes::Bytes;
use crate::read::decode;
use crate::read::json::{self, Raw};

/// Adds the content of one record to a message. A file that changed since it was scanned may
/// contain something else by now.
pub(crate) fn fill(message: &mut Message, facts: &MessageFacts, record: &str) {
    if let Some(Element { message: Some(record), .. }) = Element::new(record) {
        take(message, &record);
    }
    if matches!(facts.kind, MessageKind::Prompt | MessageKind::Slash) {
        message.references = prompt::references(&message.text);
    }
}

/// Marks commands as PowerShell's, which Gemini CLI uses where paths have drive letters.
pub(crate) fn complete(session: &SessionFacts, messages: &mut [Message]) {
    if session.session.project.path.as_deref().is_some_and(has_drive) {
        let calls = messages.iter_mut().flat_map(|message| &mut message.tool_calls);
        calls.for_each(|call| call.is_powershell = true);
    }
}

/// Merges one record: its values win, and values it lacks are kept.
fn take(message: &mut Message, record: &Record<'_>) {
    let fields = &record.fields;
    if let Some(content) = fields.content.filter(|content| content.get() != "null") {
        message.text = prompt::text(content);
        message.attachments = attachments(content);
    }
    let thoughts = fields.thoughts.map(thoughts).unwrap_or_default();
    let thoughts = if thoughts.is_empty() { inner_thoughts(fields.content) } else { thoughts };
    // A reply rewritten as the model's history has its thoughts only in the content, shortened.
    if !thoughts.is_empty() && message.thoughts.is_empty() {
        message.thoughts = thoughts;
    }
    let calls = match &fields.tool_calls {
        ToolCalls::Calls(calls) => calls.iter().map(tool_call::recorded).collect(),
        _ => Vec::new(),
    };
    if !calls.is_empty() {
        message.tool_calls = calls;
    } else if message.tool_calls.is_empty() && message.kind == MessageKind::Reply {
        message.tool_calls = fields.content.map(tool_call::requested).unwrap_or_default();
    }
    if message.kind == MessageKind::ToolResult {
        message.tool_calls = fields.content.map(tool_call::answers).unwrap_or_default();
    }
}

fn thoughts(raw: Raw<'_>) -> Vec<Thought> {
    if !raw.get().starts_with('[') {
        return Vec::new();
    }
    let thought = |raw: Raw<'_>| {
        let mut out = Thought { subject: String::new(), description: String::new(), at: None };
        json::each_field(raw.get(), |key, value| match &*key {
            b"subject" => out.subject = json::string(value).unwrap_or_default().into_owned(),
            b"description" => {
                out.description = json::string(value).unwrap_or_default().into_owned();
            }
            b"timestamp" => out.at = time(value),
            _ => {}
        })
        .ok()?;
        Some(out)
    };
    json::elements(raw.get()).into_iter().filter_map(thought).collect()
}

/// Returns thoughts that are parts of the content: `**subject** description`.
fn inner_thoughts(content: Option<Raw<'_>>) -> Vec<Thought> {
    let Some(content) = content.filter(|raw| raw.get().starts_with('[')) else { return Vec::new() };
    let mut out = Vec::new();
    for part in json::elements(content.get()) {
        let (mut text, mut is_thought) = (None, false);
        let _ = json::each_field(part.get(), |key, value| match &*key {
            b"text" => text = json::string(value),
            b"thought" => is_thought = json::is_truthy(value),
            _ => {}
        });
        if let Some(text) = text.filter(|_| is_thought) {
            let split = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
            let (subject, description) = split.unwrap_or(("", &text));
            let (subject, description) = (subject.trim().to_owned(), description.trim().to_owned());
            out.push(Thought { subject, description, at: None });
        }
    }
    out
}

/// Returns the parts of a content that are not text.
fn attachments(content: Raw<'_>) -> Vec<Attachment> {
    let parts = match content.get().as_bytes().first() {
        Some(b'[') => json::elements(content.get()),
        Some(b'{') => vec![content],
        _ => Vec::new(),
    };
    parts.into_iter().filter_map(attachment).collect()
}

fn attachment(part: Raw<'_>) -> Option<Attachment> {
    let mut inner = None;
    json::each_field(part.get(), |key, value| {
        if matches!(&*key, b"inlineData" | b"fileData") {
            inner = Some(value);
        }
    })
    .ok()?;
    let (mut mime, mut bytes, mut name) = (None, 0, None);
    json::each_field(inner?.get(), |key, value| match &*key {
        b"mimeType" => mime = json::string(value),
        b"data" => {
            bytes = json::js_string(value).map_or(0, |data| Attachment::decoded_size(&*data));
        }
        b"displayName" | b"fileUri" => name = json::string(value),
        _ => {}
    })
    .ok()?;
    Some(Attachment::new(mime, bytes, name, part.boxed()))
}

/// Adds the full text of outputs that were too long for the model and are stored in separate files.
/// A session file must not choose what is read: only a file of that name in its own project's
/// `tool-outputs`.
pub(crate) fn follow_outputs(session: &SessionFacts, bytes: &dyn Bytes, messages: &mut [Message]) {
    // Larger than anything a person reads, so such a file is not loaded.
    const MOST: u64 = 64 * 1024 * 1024;
    // Most files of a session share these folders.
    let folders: IndexSet<&Path> =
        session.files.iter().flat_map(|file| file.path.ancestors().skip(1).take(3)).collect();
    let calls = messages.iter_mut().flat_map(|message| &mut message.tool_calls);
    for call in calls {
        let Some(path) = call.output.as_deref().and_then(tool_call::full_output) else { continue };
        // The recorded path is that of the original machine; the file moves with its project.
        let path = path.replace('\\', "/");
        let Some((_, below)) = path.split_once("/tool-outputs/") else { continue };
        let below = Path::new("tool-outputs").join(below);
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        let text = folders
            .iter()
            .filter(|_| is_inside)
            .find_map(|folder| bytes.beside(folder, &below, MOST));
        if let Some(text) = text {
            call.output = Some(decode(&text).into_owned());
        }
    }
}
