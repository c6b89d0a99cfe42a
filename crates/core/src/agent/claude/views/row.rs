//! Extracts the light facts of one line.

use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashSet as HashSet;
use serde::{Deserialize, Serialize};

use super::speaker::{self, Words};
use crate::agent::Detail;
use crate::agent::claude::format::content::Block;
use crate::agent::claude::format::line::{Line, Message, Preserved};
use crate::agent::claude::format::usage::Tokens;
use crate::facts::Span;
use crate::model::{MessageKind, ToolCallId, ToolStatus};
use crate::read::json;

/// The model name of messages that the program itself wrote.
const SYNTHETIC: &str = "<synthetic>";

/// The beginning of the id in the examples of Anthropic's documentation, which some gateways give to all replies.
const EXAMPLE: &str = "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszy";

/// One line of the tree.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::agent::claude) struct Row {
    /// The id of the line.
    pub(in crate::agent::claude) uuid: Box<str>,
    /// The uuid of the line that this one follows.
    pub(in crate::agent::claude) parent: Option<Box<str>>,
    /// The uuid of the line that this one follows across a compaction.
    pub(in crate::agent::claude) logical_parent: Option<Box<str>>,
    /// The id of the session that the line names.
    pub(in crate::agent::claude) session: Option<Arc<str>>,
    /// The id of the subagent that wrote the line.
    pub(in crate::agent::claude) agent: Option<Arc<str>>,
    /// The working directory.
    pub(in crate::agent::claude) cwd: Option<Arc<str>>,
    /// The git branch.
    pub(in crate::agent::claude) branch: Option<Arc<str>>,
    /// The time at which the line was written.
    #[serde(with = "crate::time::stored")]
    pub(in crate::agent::claude) at: Option<Timestamp>,
    /// Whether the line belongs to a subagent.
    pub(in crate::agent::claude) is_sidechain: bool,
    /// Whether the line is nested in a line of the parent session.
    pub(in crate::agent::claude) is_nested: bool,
    /// The session that the line was copied from.
    pub(in crate::agent::claude) forked_from: Option<Arc<str>>,
    /// Whether a line above it was written later, which means that it may be a copy.
    pub(in crate::agent::claude) is_outdated: bool,
    /// The location of the line in its file; empty where only calls are wanted.
    span: Span,
    /// The content of the line.
    pub(in crate::agent::claude) content: LineContent,
}

/// The content of a line.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::agent::claude) enum LineContent {
    /// Text that is neither a reply nor a tool result.
    Words(Words),
    /// The results of tool calls.
    Results(Vec<ToolOutcome>),
    /// A part of a reply.
    Reply(Box<ReplyLine>),
    /// A compaction, with the messages that it kept.
    Boundary(Option<Box<Preserved>>),
    /// A progress report, which is not part of the chain.
    Progress,
}

/// One line of a reply.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::agent::claude) struct ReplyLine {
    /// The id of the reply, unless it cannot identify it.
    pub(in crate::agent::claude) id: Option<Box<str>>,
    /// The kind of message.
    pub(in crate::agent::claude) kind: MessageKind,
    /// The model; `None` if the program itself wrote the message.
    pub(in crate::agent::claude) model: Option<Arc<str>>,
    /// The token counts of the call.
    pub(in crate::agent::claude) tokens: Option<Tokens>,
    /// The id of the request that the reply answers.
    pub(in crate::agent::claude) request: Option<Box<str>>,
    /// Whether a stop reason is recorded.
    pub(in crate::agent::claude) has_stopped: bool,
    /// Whether the reply was aborted while it was streamed.
    pub(in crate::agent::claude) is_aborted: bool,
    /// Whether the program itself wrote the message.
    pub(in crate::agent::claude) is_synthetic: bool,
    /// The ids and names of the requested tools.
    pub(in crate::agent::claude) tools: Vec<(ToolCallId, Box<str>)>,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::agent::claude) struct ToolOutcome {
    /// The id of the call.
    pub(in crate::agent::claude) id: Box<str>,
    /// Whether the call succeeded.
    pub(in crate::agent::claude) status: ToolStatus,
    /// The numbers of lines added and removed.
    pub(in crate::agent::claude) lines: Option<(u64, u64)>,
    /// The id of the subagent that the call started.
    pub(in crate::agent::claude) agent: Option<Box<str>>,
}

impl Row {
    /// Returns the facts of a line of the tree. A line without a uuid is identified by its number.
    pub(in crate::agent::claude) fn new(
        line: &Line<'_>,
        number: usize,
        span: Span,
        names: &mut Names,
        detail: Detail,
    ) -> Self {
        let boxed = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(Box::from);
        Self {
            uuid: boxed(&line.uuid).unwrap_or_else(|| format!("#{number}").into()),
            parent: boxed(&line.parent),
            logical_parent: boxed(&line.logical_parent),
            session: names.shared(line.session.as_deref()),
            agent: names.shared(line.agent.as_deref()),
            cwd: names.shared(line.cwd.as_deref()),
            branch: names.shared(line.branch.as_deref()),
            at: line.at,
            is_sidechain: line.is_sidechain,
            is_nested: false,
            forked_from: names.shared(line.forked_from.as_deref()),
            is_outdated: false,
            span,
            content: content(line, names, detail),
        }
    }

    /// Replaces names by their shared copies.
    pub(in crate::agent::claude) fn share(&mut self, names: &mut Names) {
        let model = match &mut self.content {
            LineContent::Reply(reply) => Some(&mut reply.model),
            _ => None,
        };
        let Self { session, agent, cwd, branch, forked_from, .. } = self;
        let own = [session, agent, cwd, branch, forked_from];
        for name in own.into_iter().chain(model) {
            *name = names.shared(name.as_deref());
        }
    }

    /// Returns the reply that the line is part of.
    pub(in crate::agent::claude) fn reply(&self) -> Option<&ReplyLine> {
        match &self.content {
            LineContent::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    /// Returns the id of the message that the line belongs to; `None` for a line without content.
    pub(in crate::agent::claude) fn message(&self) -> Option<&str> {
        match &self.content {
            LineContent::Reply(reply) => Some(reply.id.as_deref().unwrap_or(&self.uuid)),
            LineContent::Words(words) => words.kind.map(|_| &*self.uuid),
            LineContent::Results(_) | LineContent::Boundary(_) => Some(&self.uuid),
            LineContent::Progress => None,
        }
    }

    /// Returns the kind of the message that the line belongs to.
    pub(in crate::agent::claude) fn kind(&self) -> Option<MessageKind> {
        match &self.content {
            LineContent::Reply(reply) => Some(reply.kind),
            LineContent::Words(words) => words.kind,
            LineContent::Results(_) => Some(MessageKind::ToolResult),
            LineContent::Boundary(_) => Some(MessageKind::Compress),
            LineContent::Progress => None,
        }
    }

    /// Returns the location of the line, if it is wanted.
    pub(super) fn span(&self) -> Option<Span> {
        (self.span.length() > 0).then(|| self.span.clone())
    }

    /// Returns whether the tree decides how the line affects calls, even of those with tokens.
    pub(super) fn needs_tree(&self) -> bool {
        match &self.content {
            LineContent::Reply(reply) => !reply.tools.is_empty(),
            LineContent::Words(words) => words.is_cut_off,
            _ => false,
        }
    }

    /// Returns the text facts of the line, unless it is a reply or a result.
    pub(in crate::agent::claude) fn words(&self) -> Option<&Words> {
        match &self.content {
            LineContent::Words(words) => Some(words),
            _ => None,
        }
    }
}

/// Returns the content of a line, without texts and outcomes of tools where only calls are wanted.
fn content(line: &Line<'_>, names: &mut Names, detail: Detail) -> LineContent {
    match line.kind.as_deref().unwrap_or_default() {
        "assistant" => LineContent::Reply(Box::new(reply(line, names, detail))),
        "progress" => LineContent::Progress,
        "attachment" => LineContent::Words(speaker::of_attachment(line)),
        "system" if line.subtype.as_deref() == Some("compact_boundary") => {
            LineContent::Boundary(line.preserved.clone().map(Box::new))
        }
        "system" => LineContent::Words(speaker::of_system(line.subtype.as_deref(), line.content)),
        "user" => {
            let words = speaker::of_user(line);
            match words.kind {
                Some(MessageKind::ToolResult) if detail == Detail::Calls => {
                    LineContent::Results(Vec::new())
                }
                Some(MessageKind::ToolResult) => LineContent::Results(outcomes(line)),
                _ if detail == Detail::Calls => LineContent::Words(Words { typed: None, ..words }),
                _ => LineContent::Words(words),
            }
        }
        // No other line is part of the tree; see `Line::is_in_tree`.
        _ => LineContent::Words(Words::default()),
    }
}

fn reply(line: &Line<'_>, names: &mut Names, detail: Detail) -> ReplyLine {
    let empty = Message::default();
    let message = line.message.as_ref().unwrap_or(&empty);
    let is_synthetic = message.model.as_deref() == Some(SYNTHETIC);
    let begins = |start: &str| {
        matches!(message.blocks.first(), Some(Block::Text(text))
            if json::chars(*text).is_some_and(|text| text.take(start.chars().count()).eq(start.chars())))
    };
    let tool = |block: &Block<'_>| match block {
        Block::ToolUse { id, name, .. } => Some((ToolCallId::from(&**id), Box::from(&**name))),
        _ => None,
    };
    let tokens = message.tokens.filter(|_| !is_synthetic);
    let id = message.id.as_deref().filter(|id| !id.is_empty() && !id.starts_with(EXAMPLE));
    // The use of a tool proves a call, which the tokens do as well.
    let needs_tools = detail == Detail::Full || tokens.is_none();
    let tools = message.blocks.iter().filter(|_| needs_tools).filter_map(tool);
    ReplyLine {
        kind: match is_synthetic {
            _ if line.is_error => MessageKind::Error,
            true if begins("No response requested.") => MessageKind::Info,
            _ => MessageKind::Reply,
        },
        tokens,
        model: names.shared(message.model.as_deref().filter(|_| !is_synthetic)),
        request: line.request.as_deref().map(Box::from),
        has_stopped: message.has_stopped,
        is_aborted: line.is_aborted,
        is_synthetic,
        tools: tools.collect(),
        id: id.map(Box::from),
    }
}

fn outcomes(line: &Line<'_>) -> Vec<ToolOutcome> {
    let blocks = line.message.as_ref().map_or(&[][..], |message| &message.blocks);
    let outcome = |block: &Block<'_>| match block {
        Block::ToolResult { id, is_error, content } => {
            let begins = |start: &str| content.is_some_and(|raw| raw.get().contains(start));
            let is_refused = *is_error
                && (begins("The user doesn't want to proceed") || begins(speaker::INTERRUPTION));
            Some(ToolOutcome {
                id: Box::from(&**id),
                status: match is_error {
                    _ if is_refused || line.result.is_interrupted => ToolStatus::Cancelled,
                    true => ToolStatus::Error,
                    false => ToolStatus::Success,
                },
                lines: line.result.lines,
                agent: line.result.agent.as_deref().map(Box::from),
            })
        }
        _ => None,
    };
    blocks.iter().filter_map(outcome).collect()
}

/// Interned names that many lines share.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Names(HashSet<Arc<str>>);

impl Names {
    /// Returns the shared copy of a name.
    pub(in crate::agent::claude) fn shared(&mut self, name: Option<&str>) -> Option<Arc<str>> {
        let name = name?;
        if let Some(known) = self.0.get(name) {
            return Some(known.clone());
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.clone());
        Some(name)
    }
}
