//! One line of a transcript, borrowed: only what the light pass needs of it.
//!
//! The order of the keys differs by version, so nothing is known of a field before the line was passed
//! whole. Long values, such as file contents in tool results, are passed and not looked at.

use std::borrow::Cow;

use jiff::Timestamp;

use super::content::{Block, blocks};
use super::usage::Tokens;
use crate::read::json::{self, Malformed, Raw};
use crate::read::scanner::{Invalid, Scanner};
use crate::time::iso;

type Text<'a> = Option<Cow<'a, str>>;

/// The fields of a line, whatever its type.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Line<'a> {
    pub(in crate::agent::claude) kind: Text<'a>,
    pub(in crate::agent::claude) subtype: Text<'a>,
    pub(in crate::agent::claude) uuid: Text<'a>,
    pub(in crate::agent::claude) parent: Text<'a>,
    pub(in crate::agent::claude) logical_parent: Text<'a>,
    pub(in crate::agent::claude) session: Text<'a>,
    pub(in crate::agent::claude) agent: Text<'a>,
    pub(in crate::agent::claude) cwd: Text<'a>,
    pub(in crate::agent::claude) request: Text<'a>,
    pub(in crate::agent::claude) at: Option<Timestamp>,
    pub(in crate::agent::claude) is_sidechain: bool,
    pub(in crate::agent::claude) is_meta: bool,
    pub(in crate::agent::claude) is_summary: bool,
    pub(in crate::agent::claude) is_error: bool,
    pub(in crate::agent::claude) is_aborted: bool,
    /// The session that a copied line comes from.
    pub(in crate::agent::claude) forked_from: Text<'a>,
    /// Whether the line says that no person is behind it.
    pub(in crate::agent::claude) is_automatic: bool,
    pub(in crate::agent::claude) message: Option<Message<'a>>,
    pub(in crate::agent::claude) result: ToolResult<'a>,
    pub(in crate::agent::claude) attachment: Option<Raw<'a>>,
    /// The text of a `system` line.
    pub(in crate::agent::claude) content: Option<Raw<'a>>,
    pub(in crate::agent::claude) progress: Option<Progress<'a>>,
    pub(in crate::agent::claude) parent_tool: Text<'a>,
    pub(in crate::agent::claude) preserved: Option<Preserved>,
    /// The words of a title, whichever kind it is.
    pub(in crate::agent::claude) title: Text<'a>,
    /// The leaf that a checkpoint or summary names; an empty one is a rewind to nothing.
    pub(in crate::agent::claude) leaf: Text<'a>,
    pub(in crate::agent::claude) is_explicit: bool,
}

/// The `message` of a line.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Message<'a> {
    pub(in crate::agent::claude) id: Text<'a>,
    pub(in crate::agent::claude) model: Text<'a>,
    pub(in crate::agent::claude) has_stopped: bool,
    pub(in crate::agent::claude) tokens: Option<Tokens>,
    pub(in crate::agent::claude) blocks: Vec<Block<'a>>,
}

/// What a line says of a tool's result beside the text for the model.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct ToolResult<'a> {
    pub(in crate::agent::claude) agent: Text<'a>,
    /// Lines added and removed.
    pub(in crate::agent::claude) lines: Option<(u64, u64)>,
    pub(in crate::agent::claude) is_interrupted: bool,
}

/// A line of a subagent inside a line of its parent.
#[derive(Debug)]
pub(in crate::agent::claude) struct Progress<'a> {
    pub(in crate::agent::claude) agent: Text<'a>,
    pub(in crate::agent::claude) line: Raw<'a>,
}

/// The messages that a compaction kept: they follow the anchor, and what followed it follows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agent::claude) struct Preserved {
    pub(in crate::agent::claude) head: Box<str>,
    pub(in crate::agent::claude) anchor: Box<str>,
    pub(in crate::agent::claude) tail: Box<str>,
}

impl<'a> Line<'a> {
    /// Reads the one object that `text` is.
    pub(in crate::agent::claude) fn new(text: &'a str) -> Result<Self, Malformed> {
        json::scan(text, Self::pass)
    }

    /// Reads the object that comes next; several can be on one line.
    pub(in crate::agent::claude) fn pass(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        let mut line = Self::default();
        scanner.fields(|scanner, key| line.field(scanner, &key))?;
        Ok(line)
    }

    fn field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        let is_object = scanner.peek() == Some(b'{');
        match key {
            b"type" => self.kind = text(scanner)?,
            b"subtype" => self.subtype = text(scanner)?,
            b"uuid" => self.uuid = text(scanner)?,
            b"parentUuid" => self.parent = text(scanner)?,
            b"logicalParentUuid" => self.logical_parent = text(scanner)?,
            b"sessionId" => self.session = text(scanner)?,
            b"agentId" => self.agent = text(scanner)?,
            b"cwd" => self.cwd = text(scanner)?,
            b"requestId" => self.request = text(scanner)?,
            b"timestamp" => self.at = text(scanner)?.as_deref().and_then(iso),
            b"isSidechain" => self.is_sidechain = flag(scanner)?,
            b"isMeta" => self.is_meta = flag(scanner)?,
            b"isCompactSummary" => self.is_summary = flag(scanner)?,
            b"isApiErrorMessage" => self.is_error = flag(scanner)?,
            b"isAbortedMidStream" => self.is_aborted = flag(scanner)?,
            b"explicit" => self.is_explicit = flag(scanner)?,
            b"parentToolUseID" => self.parent_tool = text(scanner)?,
            b"customTitle" | b"aiTitle" | b"agentName" | b"summary" => {
                self.title = text(scanner)?.or(self.title.take());
            }
            b"leafUuid" => self.leaf = Some(text(scanner)?.unwrap_or_default()),
            b"turnOrigin" => {
                let origin = text(scanner)?;
                let is_person = |origin: &str| matches!(origin, "human" | "sdk");
                self.is_automatic |= origin.is_some_and(|origin| !is_person(&origin));
            }
            b"origin" if is_object => scanner.fields(|scanner, key| {
                if &*key != b"kind" {
                    return scanner.pass();
                }
                self.is_automatic |= text(scanner)?.is_some_and(|kind| kind != "human");
                Ok(())
            })?,
            b"forkedFrom" if is_object => scanner.fields(|scanner, key| {
                if &*key != b"sessionId" {
                    return scanner.pass();
                }
                self.forked_from = text(scanner)?;
                Ok(())
            })?,
            b"message" if is_object => self.message = Some(Message::pass(scanner)?),
            b"toolUseResult" if is_object => self.result = ToolResult::pass(scanner)?,
            b"attachment" => self.attachment = Some(scanner.value()?),
            b"content" => self.content = Some(scanner.value()?),
            b"data" if is_object => self.progress = progress(scanner)?,
            b"compactMetadata" if is_object => self.preserved = preserved(scanner)?,
            _ => scanner.pass()?,
        }
        Ok(())
    }

    /// Returns whether the line is one of those that form the tree of a session.
    pub(in crate::agent::claude) fn is_in_tree(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        matches!(kind, "user" | "assistant" | "system" | "attachment" | "progress")
    }

    /// Returns whether only Claude Code writes such lines.
    pub(in crate::agent::claude) fn is_recognized(&self) -> bool {
        let is_summary = self.kind.as_deref() == Some("summary") && self.leaf.is_some();
        self.kind.is_some() && (self.session.is_some() || self.uuid.is_some()) || is_summary
    }
}

impl<'a> Message<'a> {
    fn pass(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        let mut message = Self::default();
        scanner.fields(|scanner, key| {
            match &*key {
                b"id" => message.id = text(scanner)?,
                b"model" => message.model = text(scanner)?,
                b"stop_reason" => message.has_stopped = text(scanner)?.is_some(),
                b"usage" if scanner.peek() == Some(b'{') => {
                    message.tokens = Some(Tokens::pass(scanner)?);
                }
                b"content" => message.blocks = blocks(scanner)?,
                _ => scanner.pass()?,
            }
            Ok(())
        })?;
        Ok(message)
    }
}

impl<'a> ToolResult<'a> {
    fn pass(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        let mut result = Self::default();
        let (mut is_created, mut content) = (false, None);
        scanner.fields(|scanner, key| {
            match &*key {
                b"agentId" => result.agent = text(scanner)?,
                b"interrupted" => result.is_interrupted = flag(scanner)?,
                b"structuredPatch" => result.lines = patch(scanner.value()?),
                b"type" => is_created = text(scanner)?.as_deref() == Some("create"),
                b"content" => content = Some(scanner.value()?),
                _ => scanner.pass()?,
            }
            Ok(())
        })?;
        // A new file has an empty patch.
        if let Some(content) = content.filter(|_| is_created) {
            let lines = json::string(content).map_or(0, |text| text.lines().count() as u64);
            result.lines = Some((lines, 0));
        }
        Ok(result)
    }
}

/// Counts the lines that a list of hunks adds and removes.
fn patch(hunks: Raw<'_>) -> Option<(u64, u64)> {
    let (mut added, mut removed) = (0, 0);
    json::each_element(hunks.get(), |hunk| {
        let _ = json::each_field(hunk.get(), |key, value| {
            if &*key != b"lines" {
                return;
            }
            let _ = json::each_element(value.get(), |line| {
                added += u64::from(line.get().starts_with("\"+"));
                removed += u64::from(line.get().starts_with("\"-"));
            });
        });
    })
    .ok()?;
    Some((added, removed))
}

/// Reads the line of a subagent that a progress line repeats.
fn progress<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Progress<'a>>, Invalid> {
    let (mut agent, mut line, mut is_agent) = (None, None, false);
    scanner.fields(|scanner, key| {
        match &*key {
            b"type" => is_agent = text(scanner)?.as_deref() == Some("agent_progress"),
            b"agentId" => agent = text(scanner)?,
            b"message" => line = Some(scanner.value()?),
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    let line = line.filter(|line| is_agent && line.get().starts_with('{'));
    Ok(line.map(|line| Progress { agent, line }))
}

/// Reads which messages a compaction kept: as a segment, else as a list.
fn preserved(scanner: &mut Scanner<'_>) -> Result<Option<Preserved>, Invalid> {
    let (mut segment, mut list) = (None, None);
    scanner.fields(|scanner, key| {
        let is_object = scanner.peek() == Some(b'{');
        match &*key {
            b"preservedSegment" if is_object => segment = kept(scanner)?,
            b"preservedMessages" if is_object => list = kept(scanner)?,
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    Ok(segment.or(list))
}

fn kept(scanner: &mut Scanner<'_>) -> Result<Option<Preserved>, Invalid> {
    let (mut head, mut anchor, mut tail) = (None, None, None);
    scanner.fields(|scanner, key| {
        match &*key {
            b"headUuid" => head = text(scanner)?,
            b"anchorUuid" => anchor = text(scanner)?,
            b"tailUuid" => tail = text(scanner)?,
            b"uuids" => {
                let list = json::elements(scanner.value()?.get());
                head = list.first().copied().and_then(json::string);
                tail = list.last().copied().and_then(json::string);
            }
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    let (Some(head), Some(anchor), Some(tail)) = (head, anchor, tail) else { return Ok(None) };
    Ok(Some(Preserved { head: head.into(), anchor: anchor.into(), tail: tail.into() }))
}

/// Passes a value, and returns the text that it is.
pub(super) fn text<'a>(scanner: &mut Scanner<'a>) -> Result<Text<'a>, Invalid> {
    Ok(json::string(scanner.value()?))
}

fn flag(scanner: &mut Scanner<'_>) -> Result<bool, Invalid> {
    Ok(scanner.value()?.get() == "true")
}
