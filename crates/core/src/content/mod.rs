//! Reads the text of messages: the second, rich pass, for one session at a time.
//!
//! The records are read again from the positions that the scan recorded, and their agent adds their
//! content to the messages. The facts decide which messages there are; this adds text and nothing
//! else.

mod calls;
mod files;

use std::collections::HashSet;
use std::io;

use self::files::Files;
use crate::agent::{Agent, Agents, backstory};
use crate::assemble::{MessageEntry, SessionFacts};
use crate::model::{Message, MessageKind, SessionId};
use crate::read::bytes::Bytes;

/// The messages of a session to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The messages that the agent itself would load.
    Current,
    /// All messages.
    Full,
}

/// Finds the session that a tool call started, by the id that its record names.
pub type FindSession<'a> = dyn Fn(&str) -> Option<SessionId> + 'a;

/// Reads the text of messages.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    agents: Agents,
    bytes: &'a dyn Bytes,
}

impl<'a> Reader<'a> {
    /// Returns a reader of sessions of some agents, whose content comes from `bytes`.
    pub fn new(agents: Agents, bytes: &'a dyn Bytes) -> Self {
        Self { agents, bytes }
    }

    /// Reads the messages of a session.
    pub fn transcript(
        self,
        session: &SessionFacts,
        view: View,
        find: &FindSession<'_>,
    ) -> io::Result<Vec<Message>> {
        let mut wanted: Vec<&MessageEntry> = match view {
            View::Current => session.messages.iter().filter(|m| m.current.is_some()).collect(),
            View::Full => session.listed().collect(),
        };
        if view == View::Current {
            wanted.sort_by_key(|entry| entry.current);
        }
        let mut out = self.messages(session, &wanted, find)?;
        self.follow_outputs(session, &mut out);
        Ok(out)
    }

    /// Reads only the wanted messages; long tool outputs stay as cut in the session.
    pub fn messages(
        self,
        session: &SessionFacts,
        wanted: &[&MessageEntry],
        find: &FindSession<'_>,
    ) -> io::Result<Vec<Message>> {
        self.read(session, wanted, wanted, find)
    }

    /// Reads the wanted messages of the full view, with their complete content.
    pub fn excerpt(
        self,
        session: &SessionFacts,
        wanted: &[&MessageEntry],
    ) -> io::Result<Vec<Message>> {
        let listed: Vec<&MessageEntry> = session.listed().collect();
        // The result of a tool may be in another message than its call.
        if listed.iter().any(|entry| entry.facts.kind == MessageKind::ToolResult) {
            let mut all = self.transcript(session, View::Full, &|_| None)?;
            let ids: HashSet<&str> = wanted.iter().map(|entry| entry.facts.id.as_str()).collect();
            all.retain(|message| ids.contains(message.id.as_str()));
            return Ok(all);
        }
        let mut out = self.read(session, wanted, &listed, &|_| None)?;
        self.follow_outputs(session, &mut out);
        Ok(out)
    }

    /// Adds the full text of tool outputs that the agent stores in separate files.
    fn follow_outputs(self, session: &SessionFacts, messages: &mut [Message]) {
        if let Some(agent) = self.agents.get(&session.session.agent) {
            agent.follow_outputs(session, self.bytes, messages);
        }
    }

    /// Reads messages; `among` are those that may record a call which another one only repeats.
    fn read(
        self,
        session: &SessionFacts,
        wanted: &[&MessageEntry],
        among: &[&MessageEntry],
        find: &FindSession<'_>,
    ) -> io::Result<Vec<Message>> {
        let agent = self.agents.get(&session.session.agent);
        let mut files = Files::new(&session.files, self.bytes);
        let messages = wanted.iter().map(|entry| message(agent, entry, &mut files));
        let mut out: Vec<Message> = messages.collect::<io::Result<_>>()?;
        calls::answer(&mut out);
        calls::drop_repeated(wanted, among, &mut out);
        if let Some(agent) = agent {
            agent.complete(session, &mut out);
        }
        for call in out.iter_mut().flat_map(|message| &mut message.tool_calls) {
            call.agent_session = call.agent_session.as_deref().and_then(find);
        }
        Ok(out)
    }
}

fn message(
    agent: Option<&dyn Agent>,
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
        service: facts.call.as_ref().map(|call| call.service).unwrap_or_default(),
        is_imported: !entry.owned,
        tool_calls: Vec::new(),
    };
    for place in &entry.places {
        let record = files.read(place.file, &place.span)?;
        if facts.is_ours && backstory::fill(&mut message, &record) {
            continue;
        }
        if let Some(agent) = agent {
            agent.fill(&mut message, facts, &record);
        }
    }
    let is_prompt = matches!(facts.kind, MessageKind::Prompt | MessageKind::Slash);
    if is_prompt && !facts.is_ours {
        message.typed = facts.typed.clone().filter(|typed| *typed != message.text.trim());
    }
    Ok(message)
}
