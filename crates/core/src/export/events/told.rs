//! What was told of a session already, so that one that grows is told on.
//!
//! A session does not only grow at its end: a record can add to an older message. So each event is known by
//! what it is about, and not by its place.

use std::collections::{HashMap, HashSet};

use crate::model::{Event, EventType, Happening};
use crate::time::Time;

#[derive(Debug, Default)]
pub struct Told {
    /// Type, what it is about, and which of several that are alike in both.
    known: HashSet<(EventType, String, usize)>,
    last: u64,
    at: Option<Time>,
}

impl Told {
    /// The events that are new, with their numbers. Times go on where they were.
    pub(super) fn add<'a>(
        &mut self,
        events: impl Iterator<Item = &'a Event<'a>>,
    ) -> Vec<(u64, Event<'a>)> {
        let mut alike: HashMap<(EventType, &str), usize> = HashMap::new();
        let mut new = Vec::new();
        for event in events {
            let (kind, about) = (event.what.kind(), about(&event.what));
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

/// The message or tool call that an event is about.
fn about<'a>(what: &'a Happening<'a>) -> &'a str {
    match what {
        Happening::UserPrompt { message, .. }
        | Happening::Thought { message, .. }
        | Happening::AssistantMessage { message, .. }
        | Happening::ModelCall { message, .. } => message,
        Happening::ToolUse { id, .. } | Happening::ToolResult { id, .. } => id,
        Happening::Error { text } => text,
        Happening::SessionStart { .. }
        | Happening::Rewind { .. }
        | Happening::Compress { .. }
        | Happening::SessionEnd { .. } => "",
    }
}
