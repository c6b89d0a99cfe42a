//! Assigns times in order: never earlier than the previous one, and made up if there are none.

use jiff::{SignedDuration, Timestamp};

use crate::assemble::SessionFacts;
use crate::model::Message;

pub(super) enum Clock {
    /// An event without a time of its own gets that of the previous one.
    Recorded { last: Option<Timestamp> },
    /// No event of the session has a time of its own: the start of the session, plus one
    /// millisecond per event.
    Counted { next: Option<Timestamp> },
}

impl Clock {
    pub(super) fn new(assembled: &SessionFacts, messages: &[Message]) -> Self {
        let session = &assembled.session;
        let at = |message: &Message| {
            let tools = message.tool_calls.iter().filter_map(|call| call.at);
            message.at.into_iter().chain(tools).min()
        };
        let first = messages.iter().filter_map(at).min().filter(|_| !assembled.is_history);
        match first {
            // The recorded start can be that of a file that repeats an older one.
            Some(first) => {
                Self::Recorded { last: Some(first.min(session.started.unwrap_or(first))) }
            }
            None if messages.is_empty() => Self::Recorded { last: session.started },
            None => Self::Counted { next: session.started },
        }
    }

    /// Returns the time of the next event, whose recorded time is `at`.
    pub(super) fn tick(&mut self, at: Option<Timestamp>) -> Option<Timestamp> {
        match self {
            Self::Recorded { last } => {
                *last = (*last).max(at);
                *last
            }
            Self::Counted { next } => {
                let now = *next;
                *next = now.and_then(|now| now.checked_add(SignedDuration::from_millis(1)).ok());
                now
            }
        }
    }
}
