//! Reads backstory's own documents (`backstory.session/1`), as `export` writes them with `json` or
//! `jsonl`.
//!
//! They record explicitly what is otherwise derived from an agent's files: kinds, fates, the
//! current messages and the agent. Nothing is derived again.

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::facts::{
    Base, CallFacts, CallKey, Contents, Form, MessageFacts, PartFacts, RecordedSession,
    SessionFile, SessionRef, SourceFacts, ToolFacts,
};
use crate::fault::{FaultKind, Faults};
use crate::model::{
    AgentId, Attachment, Fate, Message, MessageId, MessageKind, Reference, Service, SessionId,
    SessionKind, State, Thought, ToolCall, ToolCallId, ToolStatus, Usage,
};
use crate::project::{Project, Proof};
use crate::read::{decode, json};
use crate::tools::{self, tool_name};

/// The beginning of every such document, ignoring white space.
const BEGINNING: &[u8] = b"{\"schema\":\"backstory.session/1\"";

/// Returns whether a file that begins with `head` is one of these documents.
pub(crate) fn is_ours(head: &[u8]) -> bool {
    let mut visible = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    BEGINNING.iter().all(|byte| visible.next() == Some(byte))
}

/// Reads such a file: one document, or lines in which each `schema` begins a session.
pub(crate) fn scan(input: &mut (impl Read + Seek)) -> io::Result<SourceFacts> {
    input.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let text = decode(&bytes);
    let offset = matches!(text, Cow::Borrowed(_)).then_some(0);
    let mut reader = Reader { base: Base { text: &text, offset }, ..Reader::new() };
    if json::check(&text).is_ok() {
        reader.document(&text);
    } else {
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            reader.line(n as u64 + 1, line);
        }
    }
    Ok(reader.finish())
}

struct Reader<'a> {
    base: Base<'a>,
    parts: Vec<PartFacts>,
    /// Whether every file it was made from was a rewritten document, judging by its name.
    documents: bool,
    faults: Faults,
}

impl Reader<'_> {
    fn new() -> Self {
        Self {
            base: Base { text: "", offset: None },
            parts: Vec::new(),
            documents: true,
            faults: Faults::default(),
        }
    }

    fn document(&mut self, text: &str) {
        if !self.head(text) {
            return self.faults.push(None, None, FaultKind::Refused("it names no session".into()));
        }
        let mut messages = None;
        let _ = json::each_field(text, |key, value| {
            if *key == *b"messages" {
                messages = Some(value);
            }
        });
        for raw in messages.map(|list| json::elements(list.get())).unwrap_or_default() {
            self.message(None, raw.get());
        }
    }

    fn line(&mut self, line: u64, text: &str) {
        if !self.head(text) {
            self.message(Some(line), text);
        }
    }

    /// Begins a session.
    fn head(&mut self, text: &str) -> bool {
        let Ok(head) = serde_json::from_str::<Head>(text) else { return false };
        self.documents &= head
            .parts
            .iter()
            .all(|part| Path::new(&part.file).extension().is_some_and(|ending| ending == "json"));
        self.parts.push(head.part());
        true
    }

    fn message(&mut self, line: Option<u64>, text: &str) {
        let row = serde_json::from_str::<Row>(text);
        match (row, self.parts.last_mut()) {
            (Ok(row), Some(part)) => {
                if row.current {
                    part.current.push(row.id.clone());
                }
                let mut facts = row.facts();
                facts.spans.push(self.base.place(text));
                part.messages.push(facts);
                self.faults.used += 1;
            }
            (Err(error), _) => self.faults.push(line, None, FaultKind::Unknown(error.to_string())),
            (_, None) => self.faults.push(line, None, FaultKind::NoId),
        }
    }

    fn finish(mut self) -> SourceFacts {
        for part in &mut self.parts {
            part.form = if self.documents { Form::Document } else { Form::Log };
        }
        let file = SessionFile { updated: None, is_resumable: true, is_offered: false };
        SourceFacts {
            parts: self.parts,
            faults: self.faults,
            ..SourceFacts::of(Contents::Session(file))
        }
    }
}

#[derive(Deserialize)]
struct Head {
    /// Messages do not have this field.
    #[serde(rename = "schema")]
    _schema: String,
    id: SessionId,
    agent: String,
    kind: String,
    parent: Option<SessionId>,
    project: ProjectIn,
    started: Option<Timestamp>,
    updated: Option<Timestamp>,
    summary: Option<String>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    messages_current: usize,
    first_prompt: Option<String>,
    #[serde(default)]
    prompts: usize,
    #[serde(default)]
    parts: Vec<PartIn>,
}

#[derive(Deserialize)]
struct ProjectIn {
    name: String,
    path: Option<String>,
    proof: String,
    hash: Option<String>,
    dir: Option<String>,
}

#[derive(Deserialize)]
struct PartIn {
    file: String,
}

impl Head {
    fn part(self) -> PartFacts {
        let kind = named(&SessionKind::ALL, SessionKind::name, &self.kind);
        let ProjectIn { name, path, proof, hash, dir } = self.project;
        let proof = named(&Proof::ALL, Proof::name, &proof).unwrap_or(Proof::None);
        let stated = RecordedSession {
            agent: AgentId::new(&self.agent),
            project: Arc::new(Project { name, path, proof, hash: hash.clone(), dir }),
            state: if self.state == State::LogOnly.name() { State::LogOnly } else { State::Live },
            messages_current: self.messages_current,
            task: self.first_prompt.filter(|_| self.prompts == 0),
        };
        PartFacts {
            session: SessionRef::Id(self.id),
            kind: kind.unwrap_or_default(),
            parent: self.parent,
            project: hash,
            started: self.started,
            updated: self.updated,
            summary: self.summary,
            stated: Some(Box::new(stated)),
            ..PartFacts::default()
        }
    }
}

/// A message as written in documents.
#[derive(Deserialize)]
struct Row {
    id: MessageId,
    at: Option<Timestamp>,
    kind: String,
    fate: String,
    #[serde(default)]
    current: bool,
    text: String,
    typed: Option<String>,
    #[serde(default)]
    references: Vec<ReferenceIn>,
    #[serde(default)]
    attachments: Vec<AttachmentIn>,
    #[serde(default)]
    thoughts: Vec<ThoughtIn>,
    model: Option<String>,
    usage: Option<Usage>,
    #[serde(default)]
    service: Service,
    #[serde(default)]
    imported: bool,
    #[serde(default)]
    tool_calls: Vec<ToolCallIn>,
}

#[derive(Deserialize)]
struct ReferenceIn {
    path: String,
    bytes: u64,
}

#[derive(Deserialize)]
struct AttachmentIn {
    mime: String,
    bytes: u64,
    name: Option<String>,
}

#[derive(Deserialize)]
struct ThoughtIn {
    subject: String,
    description: String,
    at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct ToolCallIn {
    id: ToolCallId,
    name: String,
    display_name: Option<String>,
    description: Option<String>,
    args: Option<Box<RawValue>>,
    status: String,
    #[serde(default)]
    recorded: bool,
    at: Option<Timestamp>,
    output: Option<String>,
    error: Option<String>,
    result_display: Option<Box<RawValue>>,
    markdown: bool,
    exit_code: Option<i32>,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
    agent_session: Option<SessionId>,
}

impl ToolCallIn {
    fn status(&self) -> ToolStatus {
        named(&STATUSES, ToolStatus::name, &self.status).unwrap_or(ToolStatus::Unfinished)
    }

    fn facts(&self) -> ToolFacts {
        let server = tools::server(&self.name, self.display_name.as_deref());
        ToolFacts {
            id: Some(self.id.clone()).filter(|id| !id.is_empty()),
            agent_id: self.agent_session.as_deref().map(Box::from),
            status: self.status().with_exit_code(self.exit_code),
            server: server.filter(|server| !server.is_empty()).map(Box::from),
            at: self.at,
            lines: self.lines_added.zip(self.lines_removed).filter(|_| tools::edits(&self.name)),
            name: self.name.as_str().into(),
        }
    }

    fn call(self) -> ToolCall {
        ToolCall {
            name: tool_name(&self.name, self.display_name.as_deref()),
            status: self.status(),
            id: self.id,
            display_name: self.display_name,
            description: self.description,
            args: self.args,
            recorded: self.recorded,
            at: self.at,
            output: self.output,
            error: self.error,
            result_display: self.result_display,
            markdown: self.markdown,
            exit_code: self.exit_code,
            lines_added: self.lines_added,
            lines_removed: self.lines_removed,
            agent_session: self.agent_session,
            is_powershell: false,
        }
    }
}

impl Row {
    fn kind(&self) -> MessageKind {
        named(&MessageKind::ALL, MessageKind::name, &self.kind).unwrap_or(MessageKind::Info)
    }

    fn facts(&self) -> MessageFacts {
        let kind = self.kind();
        let typed = matches!(kind, MessageKind::Prompt | MessageKind::Slash)
            .then(|| self.typed.clone().unwrap_or_else(|| self.text.trim().to_owned()));
        let recorded = self.tool_calls.iter().filter(|call| call.recorded);
        // With a key, the session that made the call is found again; without one, only the mark remains.
        let is_inherited = self.imported && !self.id.is_uuid();
        let usage = self.usage.filter(|_| !is_inherited);
        MessageFacts {
            key: if self.id.is_uuid() { CallKey::Message } else { CallKey::Local },
            typed_is_sure: typed.is_some(),
            typed,
            call: usage.map(|usage| CallFacts::new(usage).with_service(self.service)),
            model: self.model.as_deref().map(Arc::from),
            tools: recorded.map(ToolCallIn::facts).collect(),
            fate: named(&Fate::ALL, Fate::name, &self.fate).unwrap_or(Fate::Kept),
            is_inherited,
            is_ours: true,
            ..MessageFacts::new(self.id.clone(), kind, self.at)
        }
    }
}

/// Fills a message from a document. Returns false if `text` is not one of its messages.
pub(crate) fn fill(message: &mut Message, text: &str) -> bool {
    let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
    message.text = row.text;
    message.typed = row.typed;
    message.usage = row.usage;
    message.service = row.service;
    message.references =
        row.references.into_iter().map(|r| Reference { path: r.path, bytes: r.bytes }).collect();
    let attachment = |a: AttachmentIn| Attachment {
        mime: a.mime,
        bytes: a.bytes,
        name: a.name,
        // The content of attachments is not exported.
        raw: None,
    };
    message.attachments = row.attachments.into_iter().map(attachment).collect();
    let thought =
        |t: ThoughtIn| Thought { subject: t.subject, description: t.description, at: t.at };
    message.thoughts = row.thoughts.into_iter().map(thought).collect();
    message.tool_calls = row.tool_calls.into_iter().map(ToolCallIn::call).collect();
    true
}

const STATUSES: [ToolStatus; 4] =
    [ToolStatus::Success, ToolStatus::Error, ToolStatus::Cancelled, ToolStatus::Unfinished];

/// Returns the value with a name.
fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, wanted: &str) -> Option<T> {
    all.iter().copied().find(|one| name(*one) == wanted)
}
