//! Splits a file into sessions.
//!
//! Two starts within one minute share a file, and each header with a different id begins a new
//! session.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::facts::time;
use super::full::History;
use crate::agent::gemini::format::log::Entry;
use crate::agent::gemini::format::record::{Depth, Element, Listed, Message, Record, Set};
use crate::facts::{Base, MessageFacts, Span};
use crate::id::is_uuid;
use crate::read::json;

/// The part of a file that belongs to one session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Segment {
    /// None if no record names it.
    pub session_id: Option<String>,
    /// The hash of its project.
    pub project_hash: Option<String>,
    /// `main` or `subagent`, since 0.31.
    pub kind: Option<String>,
    /// From the first header.
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    /// The recorded time of the last update.
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The recorded summary.
    pub summary: Option<String>,
    /// Other folders that the session worked in.
    pub directories: Vec<String>,
    /// The messages, which are stored among the facts of the source.
    #[serde(skip)]
    pub said: Vec<MessageFacts>,
}

/// Collects the segments of a file, record by record.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Segments {
    done: Vec<Segment>,
    open: Segment,
    history: History,
}

impl Segments {
    pub(crate) fn new(depth: Depth) -> Self {
        Self { history: History::new(depth), ..Self::default() }
    }

    pub(crate) fn apply(&mut self, entry: &mut Entry<'_>) {
        let base = &entry.base;
        match &mut entry.record {
            Ok(Record::Rewind(to)) => self.history.rewind(to),
            Ok(Record::Message(message)) if message.header => {
                if let Ok(set) = Set::new(message.raw, Depth::Whole) {
                    self.header(&set);
                }
            }
            Ok(Record::Message(message)) => {
                let place = base.place(message.raw);
                self.history.store(message, place);
            }
            Ok(Record::Nameless(message)) => {
                let place = base.place(message.raw);
                self.history.store_at(entry.line, 0, message, place);
            }
            Ok(Record::Reply(reply)) => self.history.count(reply),
            Ok(Record::Set(set)) => {
                self.open.take(set);
                if let Listed::Messages(messages) = &mut set.messages {
                    self.history.replace(listed(messages, base));
                }
            }
            Ok(Record::Header(set)) => {
                self.header(set);
                if let Listed::Messages(messages) = &mut set.messages {
                    for (n, element) in messages.iter_mut().enumerate() {
                        if let Some(message) = &mut element.message {
                            let place = base.place(message.raw);
                            self.history.store_at(entry.line, n, message, place);
                        }
                    }
                }
            }
            Ok(Record::Unknown(_)) | Err(_) => {}
        }
    }

    /// Applies a header. It continues the open session if the id is the same and unique.
    fn header(&mut self, set: &Set<'_>) {
        let id = set.get("sessionId").and_then(json::string);
        let known = self.open.session_id.as_deref();
        let continues = known.is_none() || (known == id.as_deref() && known.is_some_and(is_uuid));
        if !continues {
            self.close();
        }
        self.open.take(set);
    }

    fn close(&mut self) {
        let mut segment = std::mem::take(&mut self.open);
        let next = History::new(self.history.depth());
        segment.said = std::mem::replace(&mut self.history, next).finish();
        self.done.push(segment);
    }

    /// Restores the messages of each session from an earlier scan. Returns false if they do not
    /// match.
    pub(crate) fn restore(&mut self, parts: Vec<Vec<MessageFacts>>) -> bool {
        let is_same = parts.len() == self.done.len() + 1;
        let mut parts = parts.into_iter();
        for (segment, messages) in self.done.iter_mut().zip(&mut parts) {
            segment.said = messages;
        }
        is_same && parts.next().is_some_and(|messages| self.history.restore(messages))
    }

    pub(crate) fn finish(mut self) -> Vec<Segment> {
        self.close();
        self.done
    }
}

/// Returns the messages of a list that have an id, with their positions.
fn listed<'e, 'a: 'e>(
    messages: &'e mut [Element<'a>],
    base: &Base<'_>,
) -> impl Iterator<Item = (&'e mut Message<'a>, Span)> {
    messages.iter_mut().filter_map(|element| {
        let message = element.message.as_mut().filter(|message| message.has_id)?;
        let place = base.place(message.raw);
        Some((message, place))
    })
}

impl Segment {
    /// Merges metadata; values that it lacks are kept.
    fn take(&mut self, set: &Set<'_>) {
        let text = |key: &str| set.get(key).and_then(json::string);
        let owned =
            |key: &str| text(key).filter(|text| !text.is_empty()).map(std::borrow::Cow::into_owned);
        self.session_id = self.session_id.take().or_else(|| owned("sessionId"));
        self.project_hash = self.project_hash.take().or_else(|| owned("projectHash"));
        self.started = self.started.or_else(|| time(set.get("startTime")?));
        let updated = set.get("lastUpdated").and_then(time);
        self.updated = self.updated.max(updated);
        if let Some(kind) = owned("kind") {
            self.kind = Some(kind);
        }
        if let Some(summary) = owned("summary") {
            self.summary = Some(summary);
        }
        if let Some(list) = set.get("directories").filter(|raw| raw.get().starts_with('[')) {
            let paths = json::elements(list.get()).into_iter().filter_map(json::string);
            self.directories = paths.map(std::borrow::Cow::into_owned).collect();
        }
    }

    /// Returns the segment of a complete document, whose messages are the agent's current ones.
    pub(crate) fn of_document<'a>(
        set: &Set<'_>,
        messages: impl Iterator<Item = (Element<'a>, Span)>,
        depth: Depth,
    ) -> Self {
        let mut segment = Self::default();
        segment.take(set);
        let mut history = History::new(depth);
        for (n, (mut element, span)) in messages.enumerate() {
            if let Some(message) = &mut element.message {
                history.store_at(1, n, message, span);
            }
        }
        segment.said = history.finish();
        segment
    }
}
