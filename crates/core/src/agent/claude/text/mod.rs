//! The rich pass: adds texts, tool calls and attachments to messages.

mod tool_call;

use std::path::{Component, Path};

use crate::agent::claude::format::content::Block;
use crate::agent::claude::format::line::Line;
use crate::agent::claude::views::{OUTPUTS, prompt_text};
use crate::assemble::SessionFacts;
use crate::facts::MessageFacts;
use crate::model::{Attachment, Message, MessageKind, Thought};
use crate::read::bytes::Bytes;
use crate::read::decode;
use crate::read::json::{self, Raw};

/// The separator between the blocks of a reply.
const GAP: &str = "\n\n";

/// Adds the content of one of its lines to a message. A file that changed since it was scanned may contain
/// something else by now.
pub(super) fn fill(message: &mut Message, facts: &MessageFacts, record: &str) {
    let Ok(line) = Line::new(record) else { return };
    if line.kind.as_deref() != Some("assistant") {
        fill_words(message, &line);
        // A command is shown as typed, without the tags around it.
        if let (MessageKind::Slash | MessageKind::Shell, Some(typed)) = (facts.kind, &facts.typed) {
            message.text.clone_from(typed);
        }
        return;
    }
    let blocks = line.message.as_ref().map_or(&[][..], |message| &message.blocks);
    for block in blocks {
        match block {
            Block::Text(text) => add_text(message, &json::string(*text).unwrap_or_default()),
            Block::Thinking(text) => {
                let description = json::string(*text).unwrap_or_default().into_owned();
                let thought = Thought { subject: String::new(), description, at: line.at };
                let is_known = |known: &Thought| known.description == thought.description;
                if !thought.description.is_empty() && !message.thoughts.iter().any(is_known) {
                    message.thoughts.push(thought);
                }
            }
            Block::ToolUse { id, name, input }
                if !message.tool_calls.iter().any(|call| call.id == **id) =>
            {
                message.tool_calls.push(tool_call::requested(id, name, *input, facts));
            }
            _ => {}
        }
    }
}

/// Adds a block to the text of a reply, unless it is already there: another file may repeat it.
fn add_text(message: &mut Message, text: &str) {
    if text.trim().is_empty() || message.text.split(GAP).any(|known| known == text) {
        return;
    }
    let is_inside = text.contains(GAP) && message.text.contains(text);
    if is_inside {
        return;
    }
    if !message.text.is_empty() {
        message.text.push_str(GAP);
    }
    message.text.push_str(text);
}

/// Sets the content of a message from a line that is not part of a reply. Later copies of the line have the
/// same content.
fn fill_words(message: &mut Message, line: &Line<'_>) {
    let blocks = line.message.as_ref().map_or(&[][..], |message| &message.blocks);
    if message.kind == MessageKind::ToolResult {
        message.tool_calls = tool_call::answers(blocks, line.result.patch);
        return;
    }
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => json::string(*text),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    message.text = match line.attachment {
        Some(attachment) => attached_text(attachment),
        None if blocks.is_empty() => {
            line.content.and_then(json::string).unwrap_or_default().into_owned()
        }
        None => texts.join("\n"),
    };
    if message.kind == MessageKind::Info {
        message.text = without_tags(&message.text);
    }
    let media = blocks.iter().filter_map(|block| match block {
        Block::Media(raw) => attachment(*raw),
        _ => None,
    });
    message.attachments = media.collect();
}

/// Returns the output of a command without the tags around it.
fn without_tags(text: &str) -> String {
    let mut out = text.to_owned();
    for tag in OUTPUTS {
        out = out.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "\n");
    }
    out.trim().to_owned()
}

/// Returns the text of an attachment: a queued prompt, a file, or other context.
fn attached_text(attachment: Raw<'_>) -> String {
    let (mut prompt, mut text, mut content, mut name) = (None, None, None, None);
    let _ = json::each_field(attachment.get(), |key, value| match &*key {
        b"prompt" => prompt = Some(value),
        b"text" => text = json::string(value),
        b"content" => content = Some(value),
        b"filename" => name = json::string(value),
        _ => {}
    });
    if let Some(prompt) = prompt {
        return prompt_text(prompt);
    }
    let words = content.and_then(json::string).or(text);
    words.or(name).unwrap_or_default().into_owned()
}

/// Returns the image or document of a prompt.
fn attachment(block: Raw<'_>) -> Option<Attachment> {
    let (mut source, mut name) = (None, None);
    json::each_field(block.get(), |key, value| match &*key {
        b"source" => source = Some(value),
        b"title" => name = json::string(value),
        _ => {}
    })
    .ok()?;
    let (mut mime, mut bytes) = (None, 0);
    json::each_field(source?.get(), |key, value| match &*key {
        b"media_type" => mime = json::string(value),
        b"data" => bytes = json::string(value).map_or(0, |data| Attachment::decoded_size(&*data)),
        b"url" | b"file_id" => name = name.take().or_else(|| json::string(value)),
        _ => {}
    })
    .ok()?;
    Some(Attachment::new(mime, bytes, name, block.boxed()))
}

/// Adds the full text of outputs that are stored in separate files. A session must not make us read arbitrary
/// files: only a file of that name among the results of a session of its project is read.
pub(super) fn follow_outputs(session: &SessionFacts, bytes: &dyn Bytes, messages: &mut [Message]) {
    // Larger files are not read: nobody reads that much text.
    const MOST: u64 = 64 * 1024 * 1024;
    let mut folders: Vec<&Path> =
        session.files.iter().filter_map(crate::discover::Source::folder).collect();
    folders.dedup();
    for call in messages.iter_mut().flat_map(|message| &mut message.tool_calls) {
        let Some(path) = call.output.as_deref().and_then(tool_call::full_output) else { continue };
        let path = path.replace('\\', "/");
        let mut parts = path.rsplit('/');
        let (Some(name), Some("tool-results"), Some(owner)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let below = Path::new(owner).join("tool-results").join(name);
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
