//! The rich half of reading: a session's messages with all they say.
//!
//! Done for one session at a time. The records are read again from where the light half found them,
//! merged, and put into the words of the model.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path};

use indexmap::IndexSet;

use super::assemble::{Assembled, Placed};
use super::facts::time;
use super::log::Span;
use super::own;
use super::projects::has_drive;
use super::prompt;
use super::record::{Element, Message as Record, ToolCalls, elements};
use super::toolcall;
use crate::discover::Source;
use crate::model::{Attachment, Message, MessageKind, Thought, ToolCall, ToolStatus};
use crate::read::bytes::{Bytes, ReadSeek};
use crate::read::decode;
use crate::read::json::{self, Raw};

/// Which messages of a session to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What the agent itself would load.
    Current,
    /// All that happened.
    Full,
}

/// Reads the messages of a session. `agent_session` finds the session that a tool call started.
pub fn transcript(
    assembled: &Assembled,
    view: View,
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    let mut wanted: Vec<&Placed> = match view {
        View::Current => assembled.messages.iter().filter(|m| m.current.is_some()).collect(),
        View::Full => assembled.listed().collect(),
    };
    if view == View::Current {
        wanted.sort_by_key(|placed| placed.current);
    }
    let mut out = some_messages(assembled, &wanted, bytes, agent_session)?;
    follow_outputs(assembled, bytes, &mut out);
    Ok(out)
}

/// Reads only the messages that are wanted; long tool outputs are left as they stand in the session.
pub fn some_messages(
    assembled: &Assembled,
    wanted: &[&Placed],
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    read(assembled, wanted, wanted, bytes, agent_session)
}

/// Reads the messages of the full view that are wanted, with all they say in it.
pub fn excerpt(
    assembled: &Assembled,
    wanted: &[&Placed],
    bytes: &dyn Bytes,
) -> io::Result<Vec<Message>> {
    let listed: Vec<&Placed> = assembled.listed().collect();
    // What a tool gave back may stand in another message than its call.
    if listed.iter().any(|placed| placed.said.kind == MessageKind::ToolResult) {
        let mut all = transcript(assembled, View::Full, bytes, &|_| None)?;
        let ids: HashSet<&str> = wanted.iter().map(|placed| placed.said.id.as_str()).collect();
        all.retain(|message| ids.contains(message.id.as_str()));
        return Ok(all);
    }
    let mut out = read(assembled, wanted, &listed, bytes, &|_| None)?;
    follow_outputs(assembled, bytes, &mut out);
    Ok(out)
}

/// Reads messages; `among` are those that may record a call which another only repeats.
fn read(
    assembled: &Assembled,
    wanted: &[&Placed],
    among: &[&Placed],
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    let mut files =
        Files { sources: &assembled.files, bytes, open: HashMap::new(), buffer: Vec::new() };
    let messages = wanted.iter().map(|placed| message(placed, &mut files, agent_session));
    let mut out: Vec<Message> = messages.collect::<io::Result<_>>()?;
    answer_calls(&mut out);
    tell_calls_once(wanted, among, &mut out);
    let project = &assembled.session.project;
    if project.path.as_deref().is_some_and(has_drive) {
        // That is what Gemini CLI runs commands with where paths have drives.
        let calls = out.iter_mut().flat_map(|message| &mut message.tool_calls);
        calls.for_each(|call| call.is_powershell = true);
    }
    Ok(out)
}

/// A call that one message records is only repeated where the content of another requests it: after
/// a cancel the model's history joins the two.
fn tell_calls_once(wanted: &[&Placed], among: &[&Placed], messages: &mut [Message]) {
    let recorded: HashSet<String> = among
        .iter()
        .flat_map(|placed| &placed.said.tools)
        .filter_map(|tool| tool.id.as_deref().map(str::to_owned))
        .collect();
    for (placed, message) in wanted.iter().zip(messages) {
        if placed.said.tools.is_empty() {
            message.tool_calls.retain(|call| !recorded.contains(&call.id));
        }
    }
}

/// How many files of a session are open at once, less than any system allows.
const OPEN: usize = 64;

/// The session's files, opened once where they are few.
struct Files<'a> {
    sources: &'a [Source],
    bytes: &'a dyn Bytes,
    open: HashMap<usize, Box<dyn ReadSeek + 'a>>,
    /// What was read last.
    buffer: Vec<u8>,
}

impl Files<'_> {
    fn read<'a>(&'a mut self, file: usize, span: &'a Span) -> io::Result<Cow<'a, str>> {
        let (offset, length) = match span {
            Span::Inline(text) => return Ok(Cow::Borrowed(text)),
            Span::File { offset, length } => (*offset, *length),
        };
        if self.open.len() >= OPEN && !self.open.contains_key(&file) {
            self.open.clear();
        }
        let open = match self.open.entry(file) {
            std::collections::hash_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(self.bytes.open(&self.sources[file])?)
            }
        };
        open.seek(SeekFrom::Start(offset))?;
        self.buffer.clear();
        open.take(length).read_to_end(&mut self.buffer)?;
        Ok(decode(&self.buffer))
    }
}

fn message(
    placed: &Placed,
    files: &mut Files<'_>,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Message> {
    let said = &placed.said;
    let mut message = Message {
        id: said.id.clone(),
        at: said.at,
        role: said.kind.role(),
        kind: said.kind,
        fate: said.fate,
        current: placed.current.is_some(),
        part: placed.places.iter().map(|place| place.file).min().unwrap_or(0),
        text: String::new(),
        typed: None,
        references: Vec::new(),
        attachments: Vec::new(),
        thoughts: Vec::new(),
        model: said.model.as_deref().map(str::to_owned),
        usage: said.tokens.map(|tokens| tokens.usage()),
        tool_calls: Vec::new(),
    };
    for place in &placed.places {
        let text = files.read(place.file, &place.span)?;
        if said.is_ours && own::fill(&mut message, &text) {
            continue;
        }
        // A file that changed since it was scanned may hold something else here by now.
        if let Some(Element { message: Some(record), .. }) = Element::new(&text) {
            take(&mut message, &record, agent_session);
        }
    }
    if matches!(said.kind, MessageKind::Prompt | MessageKind::Slash) && !said.is_ours {
        message.references = prompt::references(&message.text);
        let typed = said.typed.clone().filter(|typed| *typed != message.text.trim());
        message.typed = typed;
    }
    Ok(message)
}

/// Takes one record over: it wins, but what it lacks stays.
fn take(
    message: &mut Message,
    record: &Record<'_>,
    agent_session: &dyn Fn(&str) -> Option<String>,
) {
    let fields = &record.fields;
    if let Some(content) = fields.content.filter(|content| content.get() != "null") {
        message.text = prompt::text(content);
        message.attachments = attachments(content);
    }
    let thoughts = fields.thoughts.map(thoughts).unwrap_or_default();
    let thoughts = if thoughts.is_empty() { inner_thoughts(fields.content) } else { thoughts };
    // A reply written again as the model's history has its thoughts only in the content, shortened.
    if !thoughts.is_empty() && message.thoughts.is_empty() {
        message.thoughts = thoughts;
    }
    let calls = match &fields.tool_calls {
        ToolCalls::Calls(calls) => {
            calls.iter().map(|call| toolcall::recorded(call, agent_session)).collect()
        }
        _ => Vec::new(),
    };
    if !calls.is_empty() {
        message.tool_calls = calls;
    } else if message.tool_calls.is_empty() && message.kind == MessageKind::Reply {
        message.tool_calls = fields.content.map(toolcall::requested).unwrap_or_default();
    }
    if message.kind == MessageKind::ToolResult {
        message.tool_calls = fields.content.map(toolcall::answers).unwrap_or_default();
    }
}

fn thoughts(raw: Raw<'_>) -> Vec<Thought> {
    if !raw.get().starts_with('[') {
        return Vec::new();
    }
    let thought = |raw: Raw<'_>| {
        let mut out = Thought { subject: String::new(), description: String::new(), at: None };
        json::each_field(raw.get(), |key, value| match &*key {
            b"subject" => out.subject = json::string(value).unwrap_or_default().into_owned(),
            b"description" => {
                out.description = json::string(value).unwrap_or_default().into_owned();
            }
            b"timestamp" => out.at = time(value),
            _ => {}
        })
        .ok()?;
        Some(out)
    };
    elements(raw.get()).into_iter().filter_map(thought).collect()
}

/// Thoughts that are parts of the content: `**subject** description`.
fn inner_thoughts(content: Option<Raw<'_>>) -> Vec<Thought> {
    let Some(content) = content.filter(|raw| raw.get().starts_with('[')) else { return Vec::new() };
    let mut out = Vec::new();
    for part in elements(content.get()) {
        let (mut text, mut is_thought) = (None, false);
        let _ = json::each_field(part.get(), |key, value| match &*key {
            b"text" => text = json::string(value),
            b"thought" => is_thought = json::is_truthy(value),
            _ => {}
        });
        if let Some(text) = text.filter(|_| is_thought) {
            let split = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
            let (subject, description) = split.unwrap_or(("", &text));
            let (subject, description) = (subject.trim().to_owned(), description.trim().to_owned());
            out.push(Thought { subject, description, at: None });
        }
    }
    out
}

/// The parts of a content that are no text.
fn attachments(content: Raw<'_>) -> Vec<Attachment> {
    let parts = match content.get().as_bytes().first() {
        Some(b'[') => elements(content.get()),
        Some(b'{') => vec![content],
        _ => Vec::new(),
    };
    parts.into_iter().filter_map(attachment).collect()
}

fn attachment(part: Raw<'_>) -> Option<Attachment> {
    let mut inner = None;
    json::each_field(part.get(), |key, value| {
        if matches!(&*key, b"inlineData" | b"fileData") {
            inner = Some(value);
        }
    })
    .ok()?;
    let (mut mime, mut bytes, mut name) = (None, 0, None);
    json::each_field(inner?.get(), |key, value| match &*key {
        b"mimeType" => mime = json::string(value),
        // Four characters of base64 are three bytes.
        b"data" => bytes = json::js_string(value).map_or(0, |data| base64_length(&data)),
        b"displayName" | b"fileUri" => name = json::string(value),
        _ => {}
    })
    .ok()?;
    Some(Attachment {
        mime: mime.map_or_else(|| "unknown".to_owned(), std::borrow::Cow::into_owned),
        bytes,
        name: name.map(std::borrow::Cow::into_owned),
        raw: Some(part.boxed()),
    })
}

fn base64_length(data: &[u8]) -> u64 {
    let padding = data.iter().rev().take_while(|byte| **byte == b'=').count();
    ((data.len() - padding) * 3 / 4) as u64
}

/// Gives calls that were recorded without a result (in histories) the answers that follow them.
fn answer_calls(messages: &mut [Message]) {
    let mut open = OpenCalls::default();
    for at in 0..messages.len() {
        if messages[at].kind == MessageKind::ToolResult {
            for answer in std::mem::take(&mut messages[at].tool_calls) {
                if let Some((message, call)) = open.take(&answer) {
                    fill(&mut messages[message].tool_calls[call], answer);
                }
            }
            continue;
        }
        for (n, call) in messages[at].tool_calls.iter().enumerate() {
            if call.output.is_none() && call.error.is_none() {
                open.push(call, (at, n));
            }
        }
    }
}

/// Calls that wait for their answers: message, and place in it.
#[derive(Default)]
struct OpenCalls {
    by_id: HashMap<String, VecDeque<(usize, usize)>>,
    /// Those without an id.
    by_name: HashMap<String, VecDeque<(usize, usize)>>,
}

impl OpenCalls {
    fn push(&mut self, call: &ToolCall, place: (usize, usize)) {
        let (calls, key) = match call.id.as_str() {
            "" => (&mut self.by_name, &call.name.name),
            _ => (&mut self.by_id, &call.id),
        };
        calls.entry(key.clone()).or_default().push_back(place);
    }

    /// Takes the first call that an answer can belong to.
    fn take(&mut self, answer: &ToolCall) -> Option<(usize, usize)> {
        let by_id = self.by_id.get_mut(&answer.id);
        let by_name = self.by_name.get_mut(&answer.name.name);
        let first = |calls: &Option<&mut VecDeque<_>>| calls.as_ref()?.front().copied();
        match (first(&by_id), first(&by_name)) {
            (Some(id), Some(name)) if name < id => by_name?.pop_front(),
            (Some(_), _) => by_id?.pop_front(),
            (None, _) => by_name?.pop_front(),
        }
    }
}

fn fill(call: &mut ToolCall, answer: ToolCall) {
    if call.status == ToolStatus::Unfinished {
        call.status = answer.status;
    }
    call.output = answer.output;
    call.error = answer.error;
    call.exit_code = answer.exit_code;
}

/// The full text of an output that was too long for the model stands in a file of its own. A session
/// file must not choose what is read: only a file of that name in its own project's `tool-outputs`.
fn follow_outputs(assembled: &Assembled, bytes: &dyn Bytes, messages: &mut [Message]) {
    // Larger than anything a person reads: such a file is left where it is.
    const MOST: u64 = 64 * 1024 * 1024;
    // Most files of a session have these in common.
    let folders: IndexSet<&Path> =
        assembled.files.iter().flat_map(|file| file.path.ancestors().skip(1).take(3)).collect();
    let calls = messages.iter_mut().flat_map(|message| &mut message.tool_calls);
    for call in calls {
        let Some(path) = call.output.as_deref().and_then(toolcall::full_output) else { continue };
        // The recorded path is that of the machine it ran on; the file moves with its project.
        let path = path.replace('\\', "/");
        let Some((_, below)) = path.split_once("/tool-outputs/") else { continue };
        let below = Path::new("tool-outputs").join(below);
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        let text = folders
            .iter()
            .filter(|_| is_inside)
            .find_map(|folder| bytes.beside(folder, &below, MOST));
        if let Some(text) = text {
            call.output = Some(decode(&text).into_owned());
        }
    }
}
