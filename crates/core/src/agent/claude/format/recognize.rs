//! Recognizes Claude Code's files by their content.

use std::io::{self, Read};

use super::line::Line;
use crate::read::lines::{Lines, Position};
use crate::read::{decode, unpadded};

/// The maximum number of lines to examine: the first line may be damaged, and the newest versions begin with
/// the whole request.
const LINES: usize = 32;

/// The maximum number of bytes to examine.
const HEAD: u64 = 1 << 20;

/// The kind of a file, judged by its first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent::claude) enum Shape {
    /// The lines of one or more sessions.
    Transcript,
    /// A `history.jsonl`.
    PromptLog,
    /// A file without content.
    Empty,
    /// Not a file of Claude Code.
    Other,
}

/// Determines the kind of a file from its first lines.
pub(in crate::agent::claude) fn shape(input: impl Read) -> io::Result<Shape> {
    let mut lines = Lines::new(input.take(HEAD), Position::default());
    let mut looked = 0;
    while let Some(line) = lines.next()? {
        let text = decode(line.bytes);
        let text = unpadded(&text);
        if text.is_empty() {
            continue;
        }
        if let Some(shape) = of_line(text) {
            return Ok(shape);
        }
        looked += 1;
        if looked == LINES {
            break;
        }
    }
    Ok(if looked == 0 { Shape::Empty } else { Shape::Other })
}

fn of_line(text: &str) -> Option<Shape> {
    if super::prompt_log::line(text).is_some() {
        return Some(Shape::PromptLog);
    }
    let line = Line::new(text).ok()?;
    is_own(&line).then_some(Shape::Transcript)
}

/// Returns whether only Claude Code writes such a line.
fn is_own(line: &Line<'_>) -> bool {
    let kind = line.kind.as_deref().unwrap_or_default();
    match kind {
        "summary" => line.leaf.is_some() && line.title.is_some(),
        "file-history-snapshot" => true,
        "user" | "assistant" | "system" | "attachment" | "progress" => {
            line.uuid.is_some() && line.session.is_some()
        }
        // The types of other lines have a hyphen, or are words that no other agent uses.
        _ => line.session.is_some() && line.message.is_none() && KNOWN.contains(&kind),
    }
}

/// The types of lines without a uuid that a transcript may begin with.
const KNOWN: [&str; 16] = [
    "ai-title",
    "custom-title",
    "agent-name",
    "agent-color",
    "agent-setting",
    "tag",
    "mode",
    "permission-mode",
    "last-prompt",
    "queue-operation",
    "cost-state",
    "tools-used",
    "atis-latch",
    "api-request",
    "api-request-shape",
    "worktree-state",
];
