//! Reads the content of a message: a text, or a list of blocks.

use std::borrow::Cow;

use crate::agent::Detail;
use crate::read::json::Raw;
use crate::read::scanner::{Invalid, Scanner};

/// One block of a message.
#[derive(Debug)]
pub(in crate::agent::claude) enum Block<'a> {
    /// Text, as a JSON string.
    Text(Raw<'a>),
    /// The model's thinking, as a JSON string.
    Thinking(Raw<'a>),
    /// A tool call that the model requests.
    ToolUse {
        /// The id of the call.
        id: Cow<'a, str>,
        /// The name of the tool.
        name: Cow<'a, str>,
        /// The arguments of the call.
        input: Option<Raw<'a>>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        id: Cow<'a, str>,
        /// Whether the call failed.
        is_error: bool,
        /// The output, as a string or a list of blocks.
        content: Option<Raw<'a>>,
    },
    /// An image or a document: the block as written.
    Media(Raw<'a>),
    /// Any other block.
    Other,
}

/// Consumes the content of a message and returns its blocks. Where only calls are wanted, blocks other than
/// text have no content.
pub(super) fn blocks<'a>(
    scanner: &mut Scanner<'a>,
    detail: Detail,
) -> Result<Vec<Block<'a>>, Invalid> {
    let mut out = Vec::new();
    match scanner.peek() {
        Some(b'"') => out.push(Block::Text(scanner.value()?)),
        Some(b'[') => scanner.elements(|scanner| {
            if scanner.peek() == Some(b'{') {
                out.push(block(scanner, detail)?);
                Ok(())
            } else {
                scanner.pass()
            }
        })?,
        _ => scanner.pass()?,
    }
    Ok(out)
}

fn block<'a>(scanner: &mut Scanner<'a>, detail: Detail) -> Result<Block<'a>, Invalid> {
    let (mut kind, mut id, mut name, mut call) = (None, None, None, None);
    let (mut words, mut thought, mut input, mut content) = (None, None, None, None);
    let mut is_error = false;
    let first = scanner.offset();
    scanner.fields(|scanner, key| {
        match &*key {
            b"thinking" | b"input" | b"content" if detail == Detail::Calls => scanner.pass()?,
            b"type" => kind = scanner.text()?,
            b"id" => id = scanner.text()?,
            b"name" => name = scanner.text()?,
            b"tool_use_id" => call = scanner.text()?,
            b"is_error" => is_error = scanner.bytes()? == b"true",
            b"text" => words = Some(scanner.value()?),
            b"thinking" => thought = Some(scanner.value()?),
            b"input" => input = Some(scanner.value()?),
            b"content" => content = Some(scanner.value()?),
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    Ok(match (kind.as_deref(), words, thought) {
        (Some("text"), Some(words), _) => Block::Text(words),
        (Some("thinking"), _, Some(thought)) => Block::Thinking(thought),
        (Some("tool_use"), ..) => {
            Block::ToolUse { id: id.unwrap_or_default(), name: name.unwrap_or_default(), input }
        }
        (Some("tool_result"), ..) => {
            Block::ToolResult { id: call.unwrap_or_default(), is_error, content }
        }
        (Some("image" | "document"), ..) => Block::Media(scanner.since(first)?),
        _ => Block::Other,
    })
}
