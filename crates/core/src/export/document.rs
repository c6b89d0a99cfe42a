//! Defines the input of a readable export, whatever its format.

use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::tool::short;
use crate::model::{Bucket, Message, MessageKind, Session, Usage};
use crate::number::date;
use crate::pricing::{Bill, Table};
use crate::transcript;

/// One session to write, and everything needed to write it.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its messages.
    pub messages: &'a [Message],
    /// The cost of its calls.
    pub cost: Bill,
    /// The parts to include.
    pub options: &'a Options,
    /// The price table.
    pub prices: &'a Table,
    /// The time zone for times.
    pub zone: &'a TimeZone,
    /// Finds the sessions of agents that tool calls started.
    pub agents: &'a Agents<'a>,
}

/// The parts to include besides text, tools and errors.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The model's thoughts.
    pub thoughts: bool,
    /// The complete arguments and results of tools, however long they are.
    pub tool_output: bool,
    /// Notices, injected context and summaries.
    pub info: bool,
    /// Tokens and cost of each reply.
    pub tokens: bool,
}

/// Finds the session of an agent that a tool call started.
pub type Agents<'a> = dyn Fn(&str) -> io::Result<Option<Agent>> + 'a;

/// The session of an agent.
#[derive(Debug)]
pub enum Agent {
    /// To be written where it was started.
    Here(Box<(Session, Vec<Message>)>),
    /// In a separate file next to this one; its name.
    Elsewhere(String),
}

/// Whether line ends within a paragraph are kept, as people who type expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    Kept,
    Joined,
}

/// A limit on nested agents, because a damaged file may contain a cycle.
pub const DEEPEST: usize = 6;

impl Document<'_> {
    pub(super) fn at(&self, at: Timestamp) -> String {
        date(at, self.zone)
    }

    /// Returns the folder of the project.
    pub(super) fn folder(&self) -> Option<&str> {
        self.session.project.path.as_deref()
    }

    /// Formats `2026-08-14 16:30 to 17:05`; the second date only if it is another day.
    pub(super) fn span(&self) -> String {
        match (self.session.started, self.session.updated) {
            (Some(from), Some(to)) => {
                let (from, to) = (self.at(from), self.at(to));
                match to.strip_prefix(&from[..10]) {
                    _ if from == to => from,
                    Some(time) => format!("{from} to{time}"),
                    None => format!("{from} to {to}"),
                }
            }
            (Some(at), None) | (None, Some(at)) => self.at(at),
            (None, None) => "no time known".to_owned(),
        }
    }

    pub(super) fn blocks(&self) -> transcript::Options {
        let Options { thoughts, info, .. } = *self.options;
        transcript::Options { thoughts, tool_output: true, info, only: Vec::new() }
    }

    /// Formats the cost of a call, with `no price` if it has none.
    pub(super) fn cost_of(&self, message: &Message) -> Option<String> {
        let at = message.at.or(self.session.started);
        self.prices.bill_message(message, at).short()
    }

    /// Returns the agent that a call started, `depth` agents below this session.
    pub(super) fn agent(&self, id: Option<&str>, depth: usize) -> io::Result<Option<Agent>> {
        match id {
            Some(id) if depth < DEEPEST => (self.agents)(id),
            _ => Ok(None),
        }
    }
}

/// Returns the names and counts of all buckets that are not empty.
pub(super) fn buckets(usage: &Usage) -> Vec<(&'static str, u64)> {
    let mut parts = usage.by_label(|bucket| match bucket {
        Bucket::Input => "fresh input",
        Bucket::CacheWrite5m | Bucket::CacheWrite1h => "written to the cache",
        Bucket::Cached | Bucket::Output | Bucket::Thoughts | Bucket::Tool | Bucket::Other => {
            bucket.name()
        }
    });
    parts.retain(|(_, tokens)| *tokens > 0);
    parts
}

/// Returns the typed text on one line; for a shell escape, its command.
pub(super) fn typed(message: &Message, most: usize) -> String {
    let words = message.words();
    if message.kind != MessageKind::Shell {
        return short(words, most);
    }
    let command = words.split("```").nth(1).map(|code| code.strip_prefix("sh").unwrap_or(code));
    short(&format!("! {}", command.unwrap_or(words)), most)
}
