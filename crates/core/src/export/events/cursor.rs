//! Remembers which events of a session were written, so that a growing session can be continued.
//!
//! A session does not only grow at its end: a record can add to an older message. Each event is
//! therefore identified by its subject and not by its place.

use std::collections::{HashMap, HashSet};

use crate::model::{Event, EventBody, EventType};
use crate::time::Time;

/// The events of a session that were already written.
#[derive(Debug, Default)]
pub struct EventCursor {
    /// The type, the subject, and the number among events that are alike in both.
    known: HashSet<(EventType, String, usize)>,
    last: u64,
    at: Option<Time>,
}

impl EventCursor {
    /// Returns the new events with their numbers. Times continue from the last one.
    pub(super) fn add<'a>(
        &mut self,
        events: impl Iterator<Item = &'a Event<'a>>,
    ) -> Vec<(u64, Event<'a>)> {
        let mut alike: HashMap<(EventType, &str), usize> = HashMap::new();
        let mut new = Vec::new();
        for event in events {
            let (kind, about) = (event.body.kind(), about(&event.body));
            let number = alike.entry((kind, about)).or_default();
            *number += 1;
            if self.known.insert((kind, about.to_owned(), *number)) {
                self.last += 1;
                let later = |at: &Time| self.at.is_none_or(|before| at.0 > before.0);
                self.at = event.at.filter(later).or(self.at);
                new.push((self.last, Event { at: self.at, ..event.clone() }));
            }
        }
        new
    }
}

/// Returns the message or tool call that an event is about.
fn about<'a>(body: &'a EventBody<'a>) -> &'a str {
    match body {
        EventBody::UserPrompt { message, .. }
        | EventBody::Thought { message, .. }
        | EventBody::AssistantMessage { message, .. }
        | EventBody::ModelCall { message, .. } => message,
        EventBody::ToolUse { id, .. } | EventBody::ToolResult { id, .. } => id,
        EventBody::Error { text } => text,
        EventBody::SessionStart { .. }
        | EventBody::Rewind { .. }
        | EventBody::Compress { .. }
        | EventBody::SessionEnd { .. } => "",
    }
}
