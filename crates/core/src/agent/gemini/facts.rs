//! What a message record says without its text: the light half of reading, done for every message
//! of every file, so that lists and sums need not hold what was said.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use jiff::Timestamp;

use super::content::Key;
use super::prompt;
use super::record::{Depth, Message, ToolCallFields, ToolCalls};
use super::toolcall;
use super::tools;
use crate::model::{MessageKind, ToolStatus, Usage};
use crate::read::json::{self, Raw};
use crate::time::iso;

/// How messages of type `user` begin that Gemini CLI wrote itself. A glance at a message has 64 characters.
const INJECTED: [&str; 10] = [
    "<session_context>",
    "<hook_context>",
    "User has manually exited Plan Mode",
    // Saved histories hold the context of older versions, without a tag around it.
    "This is the Gemini CLI. We are setting up the context",
    // Files that were referred to with `@`.
    "[Function Response: ",
    // `/init`.
    "You are an AI agent that brings the power of Gemini directly",
    // The request for a compression.
    "First, reason in your scratchpad. Then, generate",
    // After a stream that went wrong.
    "System: Potential loop detected. Details:",
    "[System: You previously generated thoughts but failed",
    "[System: You previously returned an empty response",
];

/// No prompt is that long.
const ABSURD: f64 = 1e9;

/// What is beyond this is cut to it: one damaged number must not spoil the sums of all others.
const MOST: f64 = 1e12;

/// Tokens as recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: f64,
    pub output: f64,
    pub cached: f64,
    pub thoughts: f64,
    pub tool: f64,
    pub total: Option<f64>,
}

impl Tokens {
    pub(super) fn new(raw: Raw<'_>) -> Option<Self> {
        if !raw.get().starts_with('{') {
            return None;
        }
        let mut tokens = Self::default();
        json::each_field(raw.get(), |key, value| {
            let number = count(value);
            match &*key {
                b"input" => tokens.input = number.unwrap_or(0.0),
                b"output" => tokens.output = number.unwrap_or(0.0),
                b"cached" => tokens.cached = number.unwrap_or(0.0),
                b"thoughts" => tokens.thoughts = number.unwrap_or(0.0),
                b"tool" => tokens.tool = number.unwrap_or(0.0),
                b"total" => tokens.total = number,
                _ => {}
            }
        })
        .ok()?;
        Some(tokens)
    }

    /// What is wrong with the numbers, if anything.
    pub fn problems(&self) -> Vec<String> {
        let named = [
            ("input", self.input),
            ("output", self.output),
            ("cached", self.cached),
            ("thoughts", self.thoughts),
            ("tool", self.tool),
            ("total", self.total.unwrap_or(0.0)),
        ];
        let mut out: Vec<String> = named
            .iter()
            .filter(|(_, number)| *number < 0.0)
            .map(|(name, number)| format!("`{name}` is {number}, counted as 0"))
            .collect();
        out.extend(named.iter().filter(|(_, number)| *number > ABSURD).map(|(name, number)| {
            let cut = if *number > MOST { "; counted as 10^12" } else { "" };
            format!("`{name}` is {number}, more than any model takes{cut}")
        }));
        if self.cached > self.input.max(0.0) {
            out.push(format!(
                "`cached` is {}, more than `input` {}; counted as {}",
                self.cached,
                self.input,
                self.input.max(0.0)
            ));
        }
        let sum = self.input + self.output + self.thoughts + self.tool;
        if let Some(total) = self.total.filter(|total| *total < sum) {
            out.push(format!("`total` is {total}, less than its parts, {sum}"));
        }
        out
    }

    /// Our buckets: `cached` is a part of the recorded input, and never more than it.
    pub fn usage(&self) -> Usage {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates at 0"
        )]
        let whole = |number: f64| number.min(MOST).round() as u64;
        let (prompt, cached) = (whole(self.input), whole(self.cached));
        let cached = cached.min(prompt);
        let mut usage = Usage {
            input: prompt - cached,
            cached,
            output: whole(self.output),
            thoughts: whole(self.thoughts),
            tool: whole(self.tool),
            other: 0,
        };
        usage.other = self.total.map_or(0, whole).saturating_sub(usage.total());
        usage
    }
}

/// A number, also one that was written as a string.
fn count(raw: Raw<'_>) -> Option<f64> {
    let number = match json::string(raw) {
        Some(text) => text.trim().parse().ok(),
        None => json::number(raw.get()),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// One tool call at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFact {
    /// None where the record has no id for it.
    pub id: Option<Box<str>>,
    pub name: Box<str>,
    /// The session of the agent it started.
    pub agent_id: Option<Box<str>>,
    /// How it ended; a command that exits with another code than 0 has failed.
    pub status: ToolStatus,
    /// The MCP server it belongs to.
    pub server: Option<Box<str>>,
    /// When it was done.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// Lines added and removed, for a tool that edits files.
    pub lines: Option<(u64, u64)>,
}

impl ToolFact {
    fn new(call: &ToolCallFields<'_>) -> Self {
        let text = |raw: Option<Raw<'_>>| raw.and_then(json::string).map(Box::from);
        let name: Box<str> = text(call.name).unwrap_or_default();
        let shown = call.display_name.and_then(json::string);
        let server = tools::server(&name, shown.as_deref()).filter(|server| !server.is_empty());
        let status = call.status.and_then(json::string);
        Self {
            agent_id: text(call.agent_id),
            status: toolcall::status(status.as_deref(), false)
                .with_exit_code(toolcall::recorded_exit_code(call, &name)),
            id: text(call.id),
            server: server.map(Box::from),
            at: call.timestamp.and_then(time),
            // Only edits have lines; what other tools show may be megabytes of something else.
            lines: call
                .result_display
                .filter(|raw| raw.get().starts_with('{') && tools::edits(&name))
                .and_then(toolcall::lines_changed),
            name,
        }
    }
}

/// What one record says of a message.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) at: Option<Timestamp>,
    pub(super) kind: MessageKind,
    /// What was typed, for prompts and commands; and whether the record told it apart itself.
    pub(super) typed: Option<(String, bool)>,
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<Arc<str>>,
    pub(super) tools: Vec<ToolFact>,
    pub(super) keys: Vec<Key>,
    pub(super) lead: String,
}

impl Facts {
    /// `models` has the names that are known: there may be a million calls, of a few models.
    pub(super) fn new(message: &mut Message<'_>, depth: Depth, models: &mut Vec<Arc<str>>) -> Self {
        let kind = kind(message);
        let fields = &message.fields;
        let is_typed = matches!(kind, MessageKind::Prompt | MessageKind::Slash);
        let typed = (is_typed && depth == Depth::Whole).then(|| prompt::typed(fields));
        let tokens = fields.tokens.and_then(Tokens::new);
        // Without tokens, what it did is what makes it count.
        let passed_over = match &fields.tool_calls {
            ToolCalls::Other(raw) if depth == Depth::Calls && tokens.is_none() => {
                Some(ToolCalls::of(*raw))
            }
            _ => None,
        };
        let tools = match passed_over.as_ref().unwrap_or(&fields.tool_calls) {
            ToolCalls::Calls(calls) => calls.iter().map(ToolFact::new).collect(),
            _ => Vec::new(),
        };
        Self {
            at: fields.timestamp.and_then(time),
            kind,
            typed,
            tokens,
            model: fields.model.and_then(|model| interned(model, models)),
            tools,
            keys: std::mem::take(&mut message.glance.keys),
            lead: std::mem::take(&mut message.glance.lead),
        }
    }
}

/// The name of a model, if it is one.
pub(super) fn interned(model: Raw<'_>, models: &mut Vec<Arc<str>>) -> Option<Arc<str>> {
    let name = json::string(model).filter(|name| !name.is_empty())?;
    if let Some(known) = models.iter().find(|known| ***known == *name) {
        return Some(known.clone());
    }
    models.push(name.into());
    models.last().cloned()
}

/// An ISO time.
pub(super) fn time(raw: Raw<'_>) -> Option<Timestamp> {
    iso(&json::string(raw)?)
}

/// The kind that the record alone tells; its neighbours may know better.
fn kind(message: &Message<'_>) -> MessageKind {
    let lead = message.glance.lead.as_str();
    match message.kind.as_deref().unwrap_or_default() {
        b"gemini" | b"model" | b"assistant" => MessageKind::Reply,
        b"user" => user_kind(message, lead),
        b"error" => MessageKind::Error,
        b"warning" => MessageKind::Warning,
        // Only a compression writes an empty notice.
        b"info" if lead.is_empty() => MessageKind::Compress,
        _ => MessageKind::Info,
    }
}

fn user_kind(message: &Message<'_>, lead: &str) -> MessageKind {
    let keys = &message.glance.keys;
    if keys.iter().any(|key| matches!(key, Key::Response(_) | Key::ResponseOf(_))) {
        return MessageKind::ToolResult;
    }
    if lead.is_empty() {
        return MessageKind::Injected;
    }
    if matches!(lead.trim_end(), "Please continue." | "System: Please continue.")
        || INJECTED.iter().any(|start| lead.starts_with(start))
    {
        return MessageKind::Injected;
    }
    for (start, kind) in [
        ("<state_snapshot>", MessageKind::CompressSummary),
        ("I ran the following shell command:", MessageKind::Shell),
        ("/", MessageKind::Slash),
        ("?", MessageKind::Slash),
    ] {
        if lead.starts_with(start) {
            return kind;
        }
    }
    MessageKind::Prompt
}
