//! Reads one line of a transcript: only the fields that the light pass needs, borrowed from the line.
//!
//! The order of the keys differs by version, so no field can be relied on before the whole line has been
//! scanned. Long values, such as file contents in tool results, are skipped.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::content::{Block, blocks};
use super::usage::{self, Tokens};
use crate::agent::Detail;
use crate::model::Usage;
use crate::read::json::{self, Malformed, Raw};
use crate::read::scanner::{Invalid, Scanner};
use crate::time::iso;

type Text<'a> = Option<Cow<'a, str>>;

/// The path of a worktree, and the folder that the session was in before.
type Worktree<'a> = Option<(Cow<'a, str>, Cow<'a, str>)>;

/// The fields of a line of any type.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Line<'a> {
    /// The `type` of the line.
    pub(in crate::agent::claude) kind: Text<'a>,
    /// The `subtype` of a `system` line.
    pub(in crate::agent::claude) subtype: Text<'a>,
    /// The id of the line.
    pub(in crate::agent::claude) uuid: Text<'a>,
    /// The id of the line that this one follows.
    pub(in crate::agent::claude) parent: Text<'a>,
    /// The id of the line that this one follows across a compaction.
    pub(in crate::agent::claude) logical_parent: Text<'a>,
    /// The id of the session.
    pub(in crate::agent::claude) session: Text<'a>,
    /// The id of the subagent.
    pub(in crate::agent::claude) agent: Text<'a>,
    /// The working directory.
    pub(in crate::agent::claude) cwd: Text<'a>,
    /// The id of the request that a reply answers.
    pub(in crate::agent::claude) request: Text<'a>,
    /// The time at which the line was written.
    pub(in crate::agent::claude) at: Option<Timestamp>,
    /// Whether the line belongs to a subagent.
    pub(in crate::agent::claude) is_sidechain: bool,
    /// Whether the program wrote the message for the model.
    pub(in crate::agent::claude) is_meta: bool,
    /// Whether the message is the summary of a compaction.
    pub(in crate::agent::claude) is_summary: bool,
    /// Whether the message reports an error of the API.
    pub(in crate::agent::claude) is_error: bool,
    /// Whether the reply was aborted while it was streamed.
    pub(in crate::agent::claude) is_aborted: bool,
    /// The session that a copied line comes from.
    pub(in crate::agent::claude) forked_from: Text<'a>,
    /// The version of the program.
    pub(in crate::agent::claude) version: Text<'a>,
    /// Whether the line is marked as written by a program, not a person.
    pub(in crate::agent::claude) is_automatic: bool,
    /// The message, if the line has one.
    pub(in crate::agent::claude) message: Option<Message<'a>>,
    /// The structured result of a tool.
    pub(in crate::agent::claude) result: ToolResult<'a>,
    /// The content of an `attachment` line.
    pub(in crate::agent::claude) attachment: Option<Raw<'a>>,
    /// The text of a `system` line.
    pub(in crate::agent::claude) content: Option<Raw<'a>>,
    /// The line of a subagent that a `progress` line repeats.
    pub(in crate::agent::claude) progress: Option<Progress<'a>>,
    /// The id of the tool call that a `progress` line belongs to.
    pub(in crate::agent::claude) parent_tool: Text<'a>,
    /// The messages that a compaction kept.
    pub(in crate::agent::claude) preserved: Option<Preserved>,
    /// The text of a title of any kind.
    pub(in crate::agent::claude) title: Text<'a>,
    /// The leaf that a checkpoint or summary names. An empty leaf is a rewind to the beginning.
    pub(in crate::agent::claude) leaf: Text<'a>,
    /// The git branch.
    pub(in crate::agent::claude) branch: Text<'a>,
    /// The tokens of all calls of the session so far.
    pub(in crate::agent::claude) reported: Option<Usage>,
    /// The worktree that the session entered, and the folder that it was in before.
    pub(in crate::agent::claude) worktree: Worktree<'a>,
    /// Whether the user went back to the leaf of a checkpoint.
    pub(in crate::agent::claude) is_explicit: bool,
}

/// The `message` of a line.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Message<'a> {
    /// The id of the reply, which all its lines share.
    pub(in crate::agent::claude) id: Text<'a>,
    /// The model that wrote the reply.
    pub(in crate::agent::claude) model: Text<'a>,
    /// Whether a stop reason is recorded.
    pub(in crate::agent::claude) has_stopped: bool,
    /// The token counts of the call.
    pub(in crate::agent::claude) tokens: Option<Tokens>,
    /// The blocks of the content.
    pub(in crate::agent::claude) blocks: Vec<Block<'a>>,
}

/// The structured result of a tool, recorded in addition to the text for the model.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct ToolResult<'a> {
    /// The id of the subagent that the tool started.
    pub(in crate::agent::claude) agent: Text<'a>,
    /// The numbers of lines added and removed.
    pub(in crate::agent::claude) lines: Option<(u64, u64)>,
    /// The list of changed passages of a file.
    pub(in crate::agent::claude) patch: Option<Raw<'a>>,
    /// Whether the user interrupted the tool.
    pub(in crate::agent::claude) is_interrupted: bool,
}

/// A line of a subagent inside a line of its parent.
#[derive(Debug)]
pub(in crate::agent::claude) struct Progress<'a> {
    /// The id of the subagent.
    pub(in crate::agent::claude) agent: Text<'a>,
    /// The line of the subagent.
    pub(in crate::agent::claude) line: Raw<'a>,
}

/// The messages that a compaction kept: they follow the anchor, and the lines that followed the anchor follow
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::agent::claude) struct Preserved {
    /// The uuid of the first kept line.
    pub(in crate::agent::claude) head: Box<str>,
    /// The uuid of the line that the kept lines follow.
    pub(in crate::agent::claude) anchor: Box<str>,
    /// The uuid of the last kept line.
    pub(in crate::agent::claude) tail: Box<str>,
}

impl<'a> Line<'a> {
    /// Reads a line that is a single object.
    pub(in crate::agent::claude) fn new(text: &'a str) -> Result<Self, Malformed> {
        json::scan(text, |scanner| Self::pass(scanner, Detail::Full))
    }

    /// Reads the next object of a line that may contain several.
    pub(in crate::agent::claude) fn pass(
        scanner: &mut Scanner<'a>,
        detail: Detail,
    ) -> Result<Self, Invalid> {
        let mut line = Self::default();
        scanner.fields(|scanner, key| line.field(scanner, &key, detail))?;
        Ok(line)
    }

    fn field(
        &mut self,
        scanner: &mut Scanner<'a>,
        key: &[u8],
        detail: Detail,
    ) -> Result<(), Invalid> {
        let is_object = scanner.peek() == Some(b'{');
        match key {
            // These have nothing to do with calls.
            b"toolUseResult" | b"gitBranch" | b"requestId" if detail == Detail::Calls => {
                scanner.pass()?;
            }
            b"type" => self.kind = scanner.text()?,
            b"subtype" => self.subtype = scanner.text()?,
            b"uuid" => self.uuid = scanner.text()?,
            b"parentUuid" => self.parent = scanner.text()?,
            b"logicalParentUuid" => self.logical_parent = scanner.text()?,
            b"sessionId" => self.session = scanner.text()?,
            b"agentId" => self.agent = scanner.text()?,
            b"cwd" => self.cwd = scanner.text()?,
            b"gitBranch" => self.branch = scanner.text()?,
            b"modelUsage" if is_object => self.reported = Some(usage::reported(scanner)?),
            b"worktreeSession" if is_object => self.worktree = worktree(scanner)?,
            b"requestId" => self.request = scanner.text()?,
            b"timestamp" => self.at = scanner.text()?.as_deref().and_then(iso),
            b"isSidechain" => self.is_sidechain = flag(scanner)?,
            b"isMeta" => self.is_meta = flag(scanner)?,
            b"isCompactSummary" => self.is_summary = flag(scanner)?,
            b"isApiErrorMessage" => self.is_error = flag(scanner)?,
            b"isAbortedMidStream" => self.is_aborted = flag(scanner)?,
            b"explicit" => self.is_explicit = flag(scanner)?,
            b"parentToolUseID" => self.parent_tool = scanner.text()?,
            b"customTitle" | b"aiTitle" | b"agentName" | b"summary" => {
                self.title = scanner.text()?.or(self.title.take());
            }
            b"leafUuid" => self.leaf = Some(scanner.text()?.unwrap_or_default()),
            b"turnOrigin" => {
                let origin = scanner.text()?;
                let is_person = |origin: &str| matches!(origin, "human" | "sdk");
                self.is_automatic |= origin.is_some_and(|origin| !is_person(&origin));
            }
            b"promptSource" => {
                self.is_automatic |= scanner.text()?.is_some_and(|source| source == "system");
            }
            b"version" => self.version = scanner.text()?,
            b"origin" if is_object => scanner.fields(|scanner, key| {
                if &*key != b"kind" {
                    return scanner.pass();
                }
                self.is_automatic |= scanner.text()?.is_some_and(|kind| kind != "human");
                Ok(())
            })?,
            b"forkedFrom" if is_object => scanner.fields(|scanner, key| {
                if &*key != b"sessionId" {
                    return scanner.pass();
                }
                self.forked_from = scanner.text()?;
                Ok(())
            })?,
            b"message" if is_object => self.message = Some(Message::pass(scanner, detail)?),
            b"toolUseResult" if is_object => self.result = ToolResult::pass(scanner)?,
            b"attachment" => self.attachment = Some(scanner.value()?),
            b"content" => self.content = Some(scanner.value()?),
            b"data" if is_object => self.progress = progress(scanner)?,
            b"compactMetadata" if is_object => self.preserved = preserved(scanner)?,
            _ => scanner.pass()?,
        }
        Ok(())
    }

    /// Returns whether the line is part of the tree of a session.
    pub(in crate::agent::claude) fn is_in_tree(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        matches!(kind, "user" | "assistant" | "system" | "attachment" | "progress")
    }

    /// Returns whether the line has the fields of a line of Claude Code.
    pub(in crate::agent::claude) fn is_recognized(&self) -> bool {
        let is_summary = self.kind.as_deref() == Some("summary") && self.leaf.is_some();
        self.kind.is_some() && (self.session.is_some() || self.uuid.is_some()) || is_summary
    }
}

impl<'a> Message<'a> {
    fn pass(scanner: &mut Scanner<'a>, detail: Detail) -> Result<Self, Invalid> {
        let mut message = Self::default();
        scanner.fields(|scanner, key| {
            match &*key {
                b"id" => message.id = scanner.text()?,
                b"model" => message.model = scanner.text()?,
                b"stop_reason" => message.has_stopped = scanner.text()?.is_some(),
                b"usage" if scanner.peek() == Some(b'{') => {
                    message.tokens = Some(Tokens::pass(scanner)?);
                }
                b"content" => message.blocks = blocks(scanner, detail)?,
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
                b"agentId" => result.agent = scanner.text()?,
                b"interrupted" => result.is_interrupted = flag(scanner)?,
                b"structuredPatch" => result.patch = Some(scanner.value()?),
                b"type" => is_created = scanner.text()?.as_deref() == Some("create"),
                b"content" => content = Some(scanner.value()?),
                _ => scanner.pass()?,
            }
            Ok(())
        })?;
        result.lines = result.patch.and_then(patch);
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
            b"type" => is_agent = scanner.text()?.as_deref() == Some("agent_progress"),
            b"agentId" => agent = scanner.text()?,
            b"message" => line = Some(scanner.value()?),
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    let line = line.filter(|line| is_agent && line.get().starts_with('{'));
    Ok(line.map(|line| Progress { agent, line }))
}

/// Reads the paths of a worktree and of the folder that the session was in before.
fn worktree<'a>(scanner: &mut Scanner<'a>) -> Result<Worktree<'a>, Invalid> {
    let (mut path, mut original) = (None, None);
    scanner.fields(|scanner, key| {
        match &*key {
            b"worktreePath" => path = scanner.text()?,
            b"originalCwd" => original = scanner.text()?,
            _ => scanner.pass()?,
        }
        Ok(())
    })?;
    Ok(path.zip(original))
}

/// Reads the messages that a compaction kept: a segment, otherwise a list.
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
            b"headUuid" => head = scanner.text()?,
            b"anchorUuid" => anchor = scanner.text()?,
            b"tailUuid" => tail = scanner.text()?,
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

fn flag(scanner: &mut Scanner<'_>) -> Result<bool, Invalid> {
    Ok(scanner.bytes()? == b"true")
}
