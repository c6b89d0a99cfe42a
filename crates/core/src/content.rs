//! Reads the text of messages: the second, rich pass, done for one session at a time.
//!
//! The records are read again from where the scan found them, and their agent adds what they say to the
//! messages. The facts decide which messages there are; this adds text and nothing else.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};

use crate::agent::backstory;
use crate::assemble::{MessageEntry, SessionFacts};
use crate::discover::Source;
use crate::facts::Span;
use crate::model::{Message, MessageKind, ToolCall, ToolStatus};
use crate::read::bytes::{Bytes, ReadSeek};
use crate::read::decode;

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
    session: &SessionFacts,
    view: View,
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    let mut wanted: Vec<&MessageEntry> = match view {
        View::Current => session.messages.iter().filter(|m| m.current.is_some()).collect(),
        View::Full => session.listed().collect(),
    };
    if view == View::Current {
        wanted.sort_by_key(|entry| entry.current);
    }
    let mut out = some_messages(session, &wanted, bytes, agent_session)?;
    follow_outputs(session, bytes, &mut out);
    Ok(out)
}

/// Reads only the messages that are wanted; long tool outputs are left as they are in the session.
pub fn some_messages(
    session: &SessionFacts,
    wanted: &[&MessageEntry],
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    read(session, wanted, wanted, bytes, agent_session)
}

/// Reads the messages of the full view that are wanted, with all they say in it.
pub fn excerpt(
    session: &SessionFacts,
    wanted: &[&MessageEntry],
    bytes: &dyn Bytes,
) -> io::Result<Vec<Message>> {
    let listed: Vec<&MessageEntry> = session.listed().collect();
    // The result of a tool may be in another message than its call.
    if listed.iter().any(|entry| entry.facts.kind == MessageKind::ToolResult) {
        let mut all = transcript(session, View::Full, bytes, &|_| None)?;
        let ids: HashSet<&str> = wanted.iter().map(|entry| entry.facts.id.as_str()).collect();
        all.retain(|message| ids.contains(message.id.as_str()));
        return Ok(all);
    }
    let mut out = read(session, wanted, &listed, bytes, &|_| None)?;
    follow_outputs(session, bytes, &mut out);
    Ok(out)
}

/// Adds the full text of tool outputs that the agent keeps in files of their own.
fn follow_outputs(session: &SessionFacts, bytes: &dyn Bytes, messages: &mut [Message]) {
    if let Some(agent) = session.reader {
        agent.follow_outputs(session, bytes, messages);
    }
}

/// Reads messages; `among` are those that may record a call which another only repeats.
fn read(
    session: &SessionFacts,
    wanted: &[&MessageEntry],
    among: &[&MessageEntry],
    bytes: &dyn Bytes,
    agent_session: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<Message>> {
    let mut files =
        Files { sources: &session.files, bytes, open: HashMap::new(), buffer: Vec::new() };
    let messages = wanted.iter().map(|entry| message(session, entry, &mut files));
    let mut out: Vec<Message> = messages.collect::<io::Result<_>>()?;
    answer_calls(&mut out);
    repeat_no_calls(wanted, among, &mut out);
    if let Some(agent) = session.reader {
        agent.complete(session, &mut out);
    }
    for call in out.iter_mut().flat_map(|message| &mut message.tool_calls) {
        call.agent_session = call.agent_session.as_deref().and_then(agent_session);
    }
    Ok(out)
}

fn message(
    session: &SessionFacts,
    entry: &MessageEntry,
    files: &mut Files<'_>,
) -> io::Result<Message> {
    let facts = &entry.facts;
    let mut message = Message {
        id: facts.id.clone(),
        at: facts.at,
        role: facts.kind.role(),
        kind: facts.kind,
        fate: facts.fate,
        current: entry.current.is_some(),
        part: entry.places.iter().map(|place| place.file).min().unwrap_or(0),
        text: String::new(),
        typed: None,
        references: Vec::new(),
        attachments: Vec::new(),
        thoughts: Vec::new(),
        model: facts.model.as_deref().map(str::to_owned),
        usage: facts.call.as_ref().map(|call| call.usage),
        tool_calls: Vec::new(),
    };
    for place in &entry.places {
        let record = files.read(place.file, &place.span)?;
        if facts.is_ours && backstory::fill(&mut message, &record) {
            continue;
        }
        if let Some(agent) = session.reader {
            agent.fill(&mut message, facts, &record);
        }
    }
    let is_prompt = matches!(facts.kind, MessageKind::Prompt | MessageKind::Slash);
    if is_prompt && !facts.is_ours {
        message.typed = facts.typed.clone().filter(|typed| *typed != message.text.trim());
    }
    Ok(message)
}

/// A call that one message records is only repeated where the content of another requests it: after
/// a cancel the model's history joins the two.
fn repeat_no_calls(wanted: &[&MessageEntry], among: &[&MessageEntry], messages: &mut [Message]) {
    let recorded: HashSet<String> = among
        .iter()
        .flat_map(|entry| &entry.facts.tools)
        .filter_map(|tool| tool.id.as_deref().map(str::to_owned))
        .collect();
    for (entry, message) in wanted.iter().zip(messages) {
        if entry.facts.tools.is_empty() {
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
