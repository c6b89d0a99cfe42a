//! Writes sessions as JSON: the rows of `backstory.sessions/1` and the document
//! `backstory.session/1`.
//!
//! Scripts rely on these guarantees: fields are only added, times are UTC with milliseconds, and
//! unknown values are null.

use std::borrow::Cow;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use super::write_line;
use crate::activity::simple_commands;
pub use crate::model::UsageRow;
use crate::model::{Attachment, Message, Part, Reference, Service, Session, Thought, ToolCall};
use crate::money::Usd;
use crate::pricing::{Bill, Table};
use crate::project::Project;
pub use crate::time::Time;

fn time(at: Option<Timestamp>) -> Option<Time> {
    at.map(Time)
}

/// A session's row.
#[derive(Debug, Serialize)]
pub struct SessionRow<'a> {
    /// The id.
    pub id: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The kind: `main`, `subagent`, `background` or `checkpoint`.
    pub kind: &'static str,
    /// The session that started it.
    pub parent: Option<&'a str>,
    /// The session that this one is a branch of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<&'a str>,
    /// Its project.
    pub project: ProjectRow<'a>,
    /// The worktree of the project's repository that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<&'a str>,
    /// The git branch that it worked on last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<&'a str>,
    /// The time of its start.
    pub started: Option<Time>,
    /// The time of its last update.
    pub updated: Option<Time>,
    /// The title shown to people.
    pub title: String,
    /// The source of the title.
    pub title_from: &'static str,
    /// The user's own name for it.
    pub name: Option<&'a str>,
    /// The user's own tags.
    pub tags: Vec<&'a str>,
    /// The agent's summary.
    pub summary: Option<&'a str>,
    /// The first prompt.
    pub first_prompt: Option<&'a str>,
    /// The last prompt.
    pub last_prompt: Option<&'a str>,
    /// The number of prompts.
    pub prompts: usize,
    /// The number of messages that the agent would load.
    pub messages_current: usize,
    /// The number of all messages.
    pub messages_full: usize,
    /// The number of model calls.
    pub calls: usize,
    /// The number of tool calls.
    pub tool_calls: usize,
    /// The number of subagents.
    pub subagents: usize,
    /// The models that were called.
    pub models: &'a [String],
    /// The tokens used.
    pub usage: UsageRow,
    /// The tokens of calls that no file records, as far as the agent reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<UsageRow>,
    /// The cost of its calls.
    #[serde(flatten)]
    pub cost: Bill,
    /// The files that contain it.
    pub parts: Vec<PartRow<'a>>,
    /// The state of its files.
    pub state: &'static str,
    /// Whether all its files are captured completely.
    pub captured: bool,
    /// The number of faults in its files.
    pub faults: usize,
}

impl<'a> SessionRow<'a> {
    /// Creates the row of a session.
    pub fn new(session: &'a Session, cost: Bill) -> Self {
        let (title, title_from) = session.title();
        Self {
            id: &session.id,
            agent: session.agent.as_str(),
            kind: session.kind.name(),
            parent: session.parent.as_deref(),
            forked_from: session.forked_from.as_deref(),
            project: ProjectRow::new(&session.project),
            worktree: session.worktree.as_deref(),
            branch: session.branch.as_deref(),
            started: time(session.started),
            updated: time(session.updated),
            title,
            title_from: title_from.name(),
            name: session.name.as_deref(),
            tags: session.tags.iter().map(String::as_str).collect(),
            summary: session.summary.as_deref(),
            first_prompt: session.first_prompt.as_deref(),
            last_prompt: session.last_prompt.as_deref(),
            prompts: session.prompts,
            messages_current: session.messages_current,
            messages_full: session.messages_full,
            calls: session.calls,
            tool_calls: session.tool_calls,
            subagents: session.subagents,
            models: &session.models,
            usage: UsageRow::new(&session.usage),
            unrecorded: session.unrecorded.as_ref().map(UsageRow::new),
            cost,
            parts: session.parts.iter().map(PartRow::new).collect(),
            state: session.state.name(),
            captured: session.captured,
            faults: session.faults,
        }
    }
}

/// The project in a row.
#[derive(Debug, Serialize)]
pub struct ProjectRow<'a> {
    /// The name shown to people.
    pub name: &'a str,
    /// The path, if it is known.
    pub path: Option<&'a str>,
    /// The kind of evidence for the path.
    pub proof: &'static str,
    /// The agent's hash of the path.
    pub hash: Option<&'a str>,
    /// The agent's folder for it.
    pub dir: Option<&'a str>,
}

impl<'a> ProjectRow<'a> {
    /// Creates the row of a project.
    pub fn new(project: &'a Project) -> Self {
        Self {
            name: &project.name,
            path: project.path.as_deref(),
            proof: project.proof.name(),
            hash: project.hash.as_deref(),
            dir: project.dir.as_deref(),
        }
    }
}

/// A file of a session.
#[derive(Debug, Serialize)]
pub struct PartRow<'a> {
    file: Cow<'a, str>,
    started: Option<Time>,
    updated: Option<Time>,
    why: &'static str,
}

impl<'a> PartRow<'a> {
    fn new(part: &'a Part) -> Self {
        let (started, updated) = (time(part.started), time(part.updated));
        Self { file: part.file.to_string_lossy(), started, updated, why: part.why.name() }
    }
}

/// A message of a session.
#[derive(Debug, Serialize)]
pub struct MessageRow<'a> {
    id: &'a str,
    at: Option<Time>,
    role: &'static str,
    kind: &'static str,
    fate: &'static str,
    current: bool,
    text: &'a str,
    typed: Option<&'a str>,
    references: Vec<ReferenceRow<'a>>,
    attachments: Vec<AttachmentRow<'a>>,
    thoughts: Vec<ThoughtRow<'a>>,
    model: Option<&'a str>,
    usage: Option<UsageRow>,
    #[serde(skip_serializing_if = "Service::is_default")]
    service: Service,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    cost_usd: Option<Usd>,
    tool_calls: Vec<ToolCallRow<'a>>,
}

impl<'a> MessageRow<'a> {
    /// Creates the row of a message.
    pub fn new(message: &'a Message, prices: &Table) -> Self {
        Self {
            id: &message.id,
            at: time(message.at),
            role: message.role.name(),
            kind: message.kind.name(),
            fate: message.fate.name(),
            current: message.current,
            text: &message.text,
            typed: message.typed.as_deref(),
            references: message.references.iter().map(ReferenceRow::new).collect(),
            attachments: message.attachments.iter().map(AttachmentRow::new).collect(),
            thoughts: message.thoughts.iter().map(ThoughtRow::new).collect(),
            model: message.model.as_deref(),
            usage: message.usage.as_ref().map(UsageRow::new),
            service: message.service,
            imported: message.is_imported,
            cost_usd: prices.bill_message(message, message.at).usd,
            tool_calls: message.tool_calls.iter().map(ToolCallRow::new).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ReferenceRow<'a> {
    path: &'a str,
    bytes: u64,
}

impl<'a> ReferenceRow<'a> {
    fn new(reference: &'a Reference) -> Self {
        Self { path: &reference.path, bytes: reference.bytes }
    }
}

#[derive(Debug, Serialize)]
struct AttachmentRow<'a> {
    mime: &'a str,
    bytes: u64,
    name: Option<&'a str>,
}

impl<'a> AttachmentRow<'a> {
    fn new(attachment: &'a Attachment) -> Self {
        Self { mime: &attachment.mime, bytes: attachment.bytes, name: attachment.name.as_deref() }
    }
}

#[derive(Debug, Serialize)]
struct ThoughtRow<'a> {
    subject: &'a str,
    description: &'a str,
    at: Option<Time>,
}

impl<'a> ThoughtRow<'a> {
    fn new(thought: &'a Thought) -> Self {
        let Thought { subject, description, at } = thought;
        Self { subject, description, at: time(*at) }
    }
}

#[derive(Debug, Serialize)]
struct ToolCallRow<'a> {
    id: &'a str,
    name: &'a str,
    label: &'a str,
    canonical: &'static str,
    category: &'static str,
    server: Option<&'a str>,
    display_name: Option<&'a str>,
    description: Option<&'a str>,
    args: Option<&'a RawValue>,
    status: &'static str,
    /// Whether the call or the command it ran has failed.
    failed: bool,
    recorded: bool,
    at: Option<Time>,
    output: Option<&'a str>,
    error: Option<&'a str>,
    result_display: Option<&'a RawValue>,
    markdown: bool,
    exit_code: Option<i32>,
    commands: Vec<String>,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
    agent_session: Option<&'a str>,
}

impl<'a> ToolCallRow<'a> {
    fn new(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id,
            name: &call.name.name,
            label: &call.name.label,
            canonical: call.name.canonical,
            category: call.name.category,
            server: call.name.server.as_deref(),
            display_name: call.display_name.as_deref(),
            description: call.description.as_deref(),
            args: call.args.as_deref(),
            status: call.status.name(),
            failed: call.has_failed(),
            recorded: call.recorded,
            at: time(call.at),
            output: call.output.as_deref(),
            error: call.error.as_deref(),
            result_display: call.result_display.as_deref(),
            markdown: call.markdown,
            exit_code: call.exit_code,
            commands: simple_commands(call).into_iter().map(|command| command.text).collect(),
            lines_added: call.lines_added,
            lines_removed: call.lines_removed,
            agent_session: call.agent_session.as_deref(),
        }
    }
}

/// Writes one session as a document.
pub fn write(
    session: &Session,
    cost: Bill,
    messages: &[Message],
    prices: &Table,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        #[serde(flatten)]
        session: SessionRow<'a>,
        messages: Vec<MessageRow<'a>>,
    }
    let document = Document {
        schema: "backstory.session/1",
        session: SessionRow::new(session, cost),
        messages: messages.iter().map(|message| MessageRow::new(message, prices)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// Writes one session as lines: the session, then one line per message.
pub fn write_lines(
    session: &Session,
    cost: Bill,
    messages: &[Message],
    prices: &Table,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Head<'a> {
        schema: &'static str,
        #[serde(flatten)]
        session: SessionRow<'a>,
    }
    let head = Head { schema: "backstory.session/1", session: SessionRow::new(session, cost) };
    write_line(&head, out)?;
    for message in messages {
        write_line(&MessageRow::new(message, prices), out)?;
    }
    Ok(())
}
