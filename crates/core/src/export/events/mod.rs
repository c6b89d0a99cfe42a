//! Writes a session as a stream of events, one JSON object per line: `backstory.event/1`.
//!
//! Events are made from the full view. It includes rewound and compressed messages, each with an
//! event for its removal. Calls and tool calls that were imported from another session are events
//! of that session.

mod clock;
mod cursor;
mod removed;

use std::collections::HashSet;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use self::clock::Clock;
#[doc(hidden)]
pub use self::cursor::EventCursor;
use self::removed::Removed;
use super::write_line;
use crate::assemble::SessionFacts;
use crate::model::{
    Event, EventBody, EventType, Message, MessageKind, Session, ToolCall, ToolStatus, UsageRow,
};
use crate::pricing::Table;
use crate::time::{Period, Time};

/// Selects events.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The types to include.
    pub types: Vec<EventType>,
    /// The period to include.
    pub period: Period,
}

impl Default for Choice {
    fn default() -> Self {
        Self { types: EventType::USUAL.to_vec(), period: Period::default() }
    }
}

/// Writes the selected events of a session. `messages` are those of its full view.
///
/// Numbers count the selected types from 1, without gaps, and do not depend on the period. Returns
/// the number of events written.
pub fn write(
    assembled: &SessionFacts,
    messages: &[Message],
    prices: &Table,
    choice: &Choice,
    out: &mut (impl Write + ?Sized),
) -> io::Result<u64> {
    write_new(assembled, messages, prices, choice, &mut EventCursor::default(), out)
}

/// Writes the events of a growing session that are not in `cursor`, and adds them to it. A growing
/// session gets at most one `session_end`, the first one seen.
#[doc(hidden)]
pub fn write_new(
    assembled: &SessionFacts,
    messages: &[Message],
    prices: &Table,
    choice: &Choice,
    cursor: &mut EventCursor,
    out: &mut (impl Write + ?Sized),
) -> io::Result<u64> {
    #[derive(Serialize)]
    struct Row<'a> {
        schema: &'static str,
        seq: u64,
        agent: &'a str,
        session: &'a str,
        source: Option<&'a str>,
        project: &'a str,
        #[serde(flatten)]
        event: &'a Event<'a>,
    }
    let session = &assembled.session;
    let mut written = 0;
    let all = events(assembled, messages, prices);
    let wanted = all.iter().filter(|event| choice.types.contains(&event.body.kind()));
    for (seq, event) in cursor.add(wanted) {
        let is_inside = match event.at {
            Some(Time(at)) => choice.period.contains(at),
            None => choice.period.is_everything(),
        };
        if !is_inside {
            continue;
        }
        let row = Row {
            schema: "backstory.event/1",
            seq,
            agent: session.agent.as_str(),
            session: &session.id,
            source: event.source,
            project: session.project.key(),
            event: &event,
        };
        write_line(&row, out)?;
        written += 1;
    }
    Ok(written)
}

/// Returns everything that happened in a session, in order.
pub fn events<'a>(
    assembled: &'a SessionFacts,
    messages: &'a [Message],
    prices: &'a Table,
) -> Vec<Event<'a>> {
    let session = &assembled.session;
    let stem = |part: usize| assembled.files.get(part)?.path.file_stem()?.to_str();
    let first = messages.first().map_or(0, |first| first.part);
    let mut stream = Stream {
        session,
        prices,
        source: stem(first),
        seen: HashSet::new(),
        clock: Clock::new(assembled, messages),
        events: Vec::new(),
    };
    let (started, updated) = (session.started.map(Time), session.updated.map(Time));
    stream.push(session.started, EventBody::SessionStart { started, title: session.title().0 });
    let mut removed = Removed::new(messages);
    for (n, message) in messages.iter().enumerate() {
        stream.source = stem(message.part);
        if let Some(body) = removed.before(message) {
            stream.push(message.at, body);
        }
        stream.message(message);
        if let Some(body) = removed.after(n, message) {
            stream.push(None, body);
        }
    }
    if let Some(body) = removed.rewind() {
        stream.push(None, body);
    }
    stream.push(session.updated, EventBody::SessionEnd { updated });
    stream.events
}

/// The events so far, and the state needed to make more of them.
struct Stream<'a> {
    session: &'a Session,
    prices: &'a Table,
    /// The stem of the current file.
    source: Option<&'a str>,
    /// The tool calls that already have events.
    seen: HashSet<String>,
    clock: Clock,
    events: Vec<Event<'a>>,
}

impl<'a> Stream<'a> {
    fn push(&mut self, at: Option<Timestamp>, body: EventBody<'a>) {
        let at = self.clock.tick(at).map(Time);
        self.events.push(Event { at, source: self.source, body });
    }

    fn message(&mut self, said: &'a Message) {
        let message = said.id.as_str();
        match said.kind {
            // A fork repeats the prompts of its session.
            MessageKind::Prompt | MessageKind::Slash if !said.is_imported => {
                self.push(said.at, EventBody::UserPrompt { message, text: said.words() });
            }
            MessageKind::Error => self.push(said.at, EventBody::Error { text: &said.text }),
            _ => {}
        }
        for thought in &said.thoughts {
            let (subject, text) = (thought.subject.as_str(), thought.description.as_str());
            self.push(thought.at.or(said.at), EventBody::Thought { message, subject, text });
        }
        let model = said.model.as_deref();
        if said.kind == MessageKind::Reply && !said.text.is_empty() {
            self.push(said.at, EventBody::AssistantMessage { message, text: &said.text, model });
        }
        if said.is_imported {
            return;
        }
        if let Some(usage) = &said.usage {
            let at = said.at.or(self.session.started);
            let cost_usd = self.prices.bill_message(said, at).usd.map(|usd| usd.to_string());
            let usage = UsageRow::new(usage);
            self.push(said.at, EventBody::ModelCall { message, model, usage, cost_usd });
        }
        self.tools(said);
    }

    /// Adds all uses first, because the model requested them at once, and then the results in order
    /// of completion.
    fn tools(&mut self, said: &'a Message) {
        let mut done: Vec<(String, &ToolCall)> = Vec::new();
        for (n, call) in said.tool_calls.iter().enumerate() {
            // Histories have no ids, but a use and its result must still be matched.
            let id = match call.id.as_str() {
                "" => format!("{}#{}", said.id, n + 1),
                id => id.to_owned(),
            };
            if !self.seen.insert(id.clone()) {
                continue;
            }
            let name = &call.name;
            let body = EventBody::ToolUse {
                id: id.clone(),
                name: &name.name,
                label: &name.label,
                canonical: name.canonical,
                category: name.category,
                server: name.server.as_deref(),
                args: call.args.as_deref(),
            };
            self.push(said.at, body);
            if call.status != ToolStatus::Unfinished {
                done.push((id, call));
            }
        }
        done.sort_by_key(|(_, call)| (call.at.is_none(), call.at));
        for (id, call) in done {
            let body = EventBody::ToolResult {
                id,
                name: &call.name.name,
                status: call.status.name(),
                output: call.output.as_deref(),
                error: call.error.as_deref(),
                exit_code: call.exit_code,
            };
            self.push(call.at, body);
        }
    }
}
