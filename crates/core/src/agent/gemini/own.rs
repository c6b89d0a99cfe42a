//! Our own documents (`backstory.session/1`), read back: what `export` wrote as `json` or `jsonl`.
//!
//! They say outright what is worked out of Gemini CLI's files: kinds, fates, which messages are
//! current, whose session it is. So nothing is worked out again.

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::facts::{Facts, Tokens, ToolFact};
use super::identity::Identity;
use super::load::{Form, Loaded};
use super::log::Base;
use super::record::elements;
use super::said::Said;
use super::segment::Segment;
use super::tools::{self, tool_name};
use crate::fault::{Faults, What};
use crate::model::{
    Attachment, Fate, Message, MessageKind, Reference, SessionKind, State, Thought, ToolCall,
    ToolStatus, Usage,
};
use crate::project::{Project, Proof};
use crate::read::{decode, json};

/// What every such document begins with, white space aside.
const BEGINNING: &[u8] = b"{\"schema\":\"backstory.session/1\"";

/// Returns whether a file that begins with `head` is one of ours.
pub(super) fn is_ours(head: &[u8]) -> bool {
    let mut visible = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    BEGINNING.iter().all(|byte| visible.next() == Some(byte))
}

/// What a document says of its session beyond what files of Gemini CLI say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) identity: Identity,
    pub(super) project: Arc<Project>,
    pub(super) state: State,
    /// Copies are among them, which the document does not hold.
    pub(super) messages_current: usize,
    /// The task of an agent, which is no prompt, but what the session is called by.
    pub(super) task: Option<String>,
}

/// Reads a file of ours: one document, or lines of which each `schema` begins a session.
pub(super) fn load(input: &mut (impl Read + Seek)) -> io::Result<Loaded> {
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
    segments: Vec<Segment>,
    /// The messages that the agent would load.
    current: Vec<String>,
    /// Every file it was made of was a whole document, as far as its name tells.
    documents: bool,
    faults: Faults,
}

impl Reader<'_> {
    fn new() -> Self {
        Self {
            base: Base { text: "", offset: None },
            segments: Vec::new(),
            current: Vec::new(),
            documents: true,
            faults: Faults::default(),
        }
    }

    fn document(&mut self, text: &str) {
        if !self.head(text) {
            return self.faults.push(None, None, What::Refused("it names no session".into()));
        }
        let mut messages = None;
        let _ = json::each_field(text, |key, value| {
            if *key == *b"messages" {
                messages = Some(value);
            }
        });
        for raw in messages.map(|list| elements(list.get())).unwrap_or_default() {
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
        self.segments.push(head.segment());
        true
    }

    fn message(&mut self, line: Option<u64>, text: &str) {
        let row = serde_json::from_str::<Row>(text);
        match (row, self.segments.last_mut()) {
            (Ok(row), Some(segment)) => {
                if row.current {
                    self.current.push(row.id.clone());
                }
                let mut said = Said::new(row.id.clone(), row.facts(), Some(self.base.place(text)));
                said.fate = named(&FATES, Fate::name, &row.fate).unwrap_or(Fate::Kept);
                said.is_ours = true;
                segment.said.push(said);
                self.faults.used += 1;
            }
            (Err(error), _) => self.faults.push(line, None, What::Unknown(error.to_string())),
            (_, None) => self.faults.push(line, None, What::NoId),
        }
    }

    fn finish(self) -> Loaded {
        Loaded {
            accepted: false,
            form: if self.documents { Form::Document } else { Form::Log },
            fields: indexmap::IndexMap::new(),
            messages: Vec::new(),
            ids: self.current,
            user_messages: 0,
            first_user_message: None,
            scratchpad_is_stale: None,
            resumable: true,
            segments: self.segments,
            faults: self.faults,
        }
    }
}

#[derive(Deserialize)]
struct Head {
    /// Messages have none.
    #[serde(rename = "schema")]
    _schema: String,
    id: String,
    kind: String,
    parent: Option<String>,
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
    fn segment(self) -> Segment {
        let kind = named(&SessionKind::ALL, SessionKind::name, &self.kind);
        let ProjectIn { name, path, proof, hash, dir } = self.project;
        let proof = named(&Proof::ALL, Proof::name, &proof).unwrap_or(Proof::None);
        let given = Given {
            identity: Identity {
                id: self.id.clone(),
                kind: kind.unwrap_or(SessionKind::Main),
                parent: self.parent,
            },
            project: Arc::new(Project { name, path, proof, hash: hash.clone(), dir }),
            state: if self.state == State::LogOnly.name() { State::LogOnly } else { State::Live },
            messages_current: self.messages_current,
            task: self.first_prompt.filter(|_| self.prompts == 0),
        };
        Segment {
            session_id: Some(self.id),
            project_hash: hash,
            started: self.started,
            updated: self.updated,
            summary: self.summary,
            given: Some(Box::new(given)),
            ..Segment::default()
        }
    }
}

/// A message as documents have it.
#[derive(Deserialize)]
struct Row {
    id: String,
    at: Option<Timestamp>,
    kind: String,
    fate: String,
    #[serde(default)]
    current: bool,
    text: String,
    typed: Option<String>,
    references: Vec<ReferenceIn>,
    attachments: Vec<AttachmentIn>,
    thoughts: Vec<ThoughtIn>,
    model: Option<String>,
    usage: Option<UsageIn>,
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

#[derive(Deserialize, Clone, Copy)]
struct UsageIn {
    input: u64,
    cached: u64,
    output: u64,
    thoughts: u64,
    tool: u64,
    other: u64,
}

impl UsageIn {
    fn usage(self) -> Usage {
        let Self { input, cached, output, thoughts, tool, other } = self;
        Usage { input, cached, output, thoughts, tool, other }
    }

    /// As Gemini CLI would record them: what was cached is a part of the input.
    #[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
    fn tokens(self) -> Tokens {
        Tokens {
            input: (self.input + self.cached) as f64,
            output: self.output as f64,
            cached: self.cached as f64,
            thoughts: self.thoughts as f64,
            tool: self.tool as f64,
            total: Some(self.usage().total() as f64),
        }
    }
}

#[derive(Deserialize)]
struct ToolCallIn {
    id: String,
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
    agent_session: Option<String>,
}

impl ToolCallIn {
    fn status(&self) -> ToolStatus {
        named(&STATUSES, ToolStatus::name, &self.status).unwrap_or(ToolStatus::Unfinished)
    }

    fn fact(&self) -> ToolFact {
        let server = tools::server(&self.name, self.display_name.as_deref());
        ToolFact {
            id: (!self.id.is_empty()).then(|| self.id.as_str().into()),
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

    fn facts(&self) -> Facts {
        let kind = self.kind();
        let typed = matches!(kind, MessageKind::Prompt | MessageKind::Slash)
            .then(|| self.typed.clone().unwrap_or_else(|| self.text.trim().to_owned()));
        let recorded = self.tool_calls.iter().filter(|call| call.recorded);
        Facts {
            at: self.at,
            kind,
            typed: typed.map(|typed| (typed, true)),
            tokens: self.usage.map(UsageIn::tokens),
            model: self.model.as_deref().map(Arc::from),
            tools: recorded.map(ToolCallIn::fact).collect(),
            keys: Vec::new(),
            lead: String::new(),
        }
    }
}

/// Fills a message with what a document says of it. False when `text` is none of ours.
pub(super) fn fill(message: &mut Message, text: &str) -> bool {
    let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
    message.text = row.text;
    message.typed = row.typed;
    message.usage = row.usage.map(UsageIn::usage);
    message.references =
        row.references.into_iter().map(|r| Reference { path: r.path, bytes: r.bytes }).collect();
    let attachment = |a: AttachmentIn| Attachment {
        mime: a.mime,
        bytes: a.bytes,
        name: a.name,
        // What it held is not exported.
        raw: None,
    };
    message.attachments = row.attachments.into_iter().map(attachment).collect();
    let thought =
        |t: ThoughtIn| Thought { subject: t.subject, description: t.description, at: t.at };
    message.thoughts = row.thoughts.into_iter().map(thought).collect();
    message.tool_calls = row.tool_calls.into_iter().map(ToolCallIn::call).collect();
    true
}

const FATES: [Fate; 4] = [Fate::Kept, Fate::Rewound, Fate::Compressed, Fate::Failed];
const STATUSES: [ToolStatus; 4] =
    [ToolStatus::Success, ToolStatus::Error, ToolStatus::Cancelled, ToolStatus::Unfinished];

/// The one that is called so.
fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, wanted: &str) -> Option<T> {
    all.iter().copied().find(|one| name(*one) == wanted)
}
