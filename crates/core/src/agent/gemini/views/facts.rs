//! Extracts the facts of a message record without its text.
//!
//! This is the light half of reading. It runs for every message of every file, so that lists and
//! sums do not need the text.

use std::sync::Arc;

use jiff::Timestamp;

use crate::agent::gemini::format::content::Key;
use crate::agent::gemini::format::record::{Depth, Message, ToolCallFields, ToolCalls};
use crate::agent::gemini::format::tokens;
use crate::agent::gemini::text::prompt;
use crate::agent::gemini::text::tool_call;
use crate::facts::{CallFacts, MessageFacts, Span, ToolFacts};
use crate::model::{MessageId, MessageKind, ToolCallId};
use crate::read::json::{self, Raw};
use crate::time::iso;
use crate::tools;

/// The beginnings of `user` messages that Gemini CLI wrote itself. The lead of a message has 64
/// characters.
const INJECTED: [&str; 10] = [
    "<session_context>",
    "<hook_context>",
    "User has manually exited Plan Mode",
    // Saved histories contain the context of older versions, without a tag around it.
    "This is the Gemini CLI. We are setting up the context",
    // Files that were referenced with `@`.
    "[Function Response: ",
    // `/init`.
    "You are an AI agent that brings the power of Gemini directly",
    // The request for a compression.
    "First, reason in your scratchpad. Then, generate",
    // After a failed stream.
    "System: Potential loop detected. Details:",
    "[System: You previously generated thoughts but failed",
    "[System: You previously returned an empty response",
];

/// Returns the facts of a tool call.
fn tool_facts(call: &ToolCallFields<'_>) -> ToolFacts {
    let text = |raw: Option<Raw<'_>>| raw.and_then(json::string).map(Box::from);
    let name: Box<str> = text(call.name).unwrap_or_default();
    let shown = call.display_name.and_then(json::string);
    let server = tools::server(&name, shown.as_deref()).filter(|server| !server.is_empty());
    let status = call.status.and_then(json::string);
    ToolFacts {
        agent_id: text(call.agent_id),
        status: tool_call::status(status.as_deref(), false)
            .with_exit_code(tool_call::recorded_exit_code(call, &name)),
        id: text(call.id).map(ToolCallId::from),
        server: server.map(Box::from),
        at: call.timestamp.and_then(time),
        // Only edits have line counts; the display of other tools may be megabytes of something
        // else.
        lines: call
            .result_display
            .filter(|raw| raw.get().starts_with('{') && tools::edits(&name))
            .and_then(tool_call::lines_changed),
        name,
    }
}

/// The facts about a message that one record contains.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) at: Option<Timestamp>,
    pub(crate) kind: MessageKind,
    /// The typed text of prompts and commands, and whether the record itself separates it.
    pub(crate) typed: Option<(String, bool)>,
    pub(crate) call: Option<CallFacts>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tools: Vec<ToolFacts>,
    pub(crate) keys: Vec<Key>,
    pub(crate) lead: String,
}

impl Facts {
    /// Extracts the facts of a record. `models` interns names, because there may be a million calls
    /// of a few models.
    pub(crate) fn new(message: &mut Message<'_>, depth: Depth, models: &mut Vec<Arc<str>>) -> Self {
        let kind = kind(message);
        let fields = &message.fields;
        let is_typed = matches!(kind, MessageKind::Prompt | MessageKind::Slash);
        let typed = (is_typed && depth == Depth::Whole).then(|| prompt::typed(fields));
        let call = fields.tokens.and_then(tokens::call);
        // Without tokens, only its tool calls make it count.
        let passed_over = match &fields.tool_calls {
            ToolCalls::Other(raw) if depth == Depth::Calls && call.is_none() => {
                Some(ToolCalls::of(*raw))
            }
            _ => None,
        };
        let tools = match passed_over.as_ref().unwrap_or(&fields.tool_calls) {
            ToolCalls::Calls(calls) => calls.iter().map(tool_facts).collect(),
            _ => Vec::new(),
        };
        Self {
            at: fields.timestamp.and_then(time),
            kind,
            typed,
            call,
            model: fields.model.and_then(|model| interned(model, models)),
            tools,
            keys: std::mem::take(&mut message.glance.keys),
            lead: std::mem::take(&mut message.glance.lead),
        }
    }
}

impl Facts {
    /// Creates a message from its first record. Its id is set when everything is read.
    pub(crate) fn into_message(mut self, span: Option<Span>) -> MessageFacts {
        let mut message = MessageFacts::new(MessageId::default(), self.kind, self.at);
        if let Some((typed, sure)) = self.typed.take() {
            (message.typed, message.typed_is_sure) = (Some(typed), sure);
        }
        self.merge_into(&mut message, span);
        message
    }

    /// Adds a later record to a message: its values win, and values it lacks are kept.
    pub(crate) fn merge_into(self, message: &mut MessageFacts, span: Option<Span>) {
        message.spans.extend(span);
        message.at = message.at.or(self.at);
        message.kind = self.kind;
        if let Some((typed, sure)) = self.typed
            && (sure || !message.typed_is_sure)
            && !typed.is_empty()
        {
            message.typed = Some(typed);
            message.typed_is_sure = sure;
        }
        if self.call.is_some() {
            message.call = self.call;
        }
        if self.model.is_some() {
            message.model = self.model;
        }
        if !self.tools.is_empty() {
            message.tools = self.tools;
        }
    }
}

/// Returns the interned name of a model, if it has one.
pub(crate) fn interned(model: Raw<'_>, models: &mut Vec<Arc<str>>) -> Option<Arc<str>> {
    let name = json::string(model).filter(|name| !name.is_empty())?;
    if let Some(known) = models.iter().find(|known| ***known == *name) {
        return Some(known.clone());
    }
    models.push(name.into());
    models.last().cloned()
}

/// Parses an ISO time.
pub(crate) fn time(raw: Raw<'_>) -> Option<Timestamp> {
    iso(&json::string(raw)?)
}

/// Returns the kind according to the record alone; its neighbours may change it.
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
