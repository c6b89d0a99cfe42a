//! Times that keep the order: never earlier than the one before, and made up where there are none.

use jiff::{SignedDuration, Timestamp};

use crate::assemble::SessionFacts;
use crate::model::Message;

pub(super) enum Clock {
    /// What has no time of its own happened with what came before.
    Told { last: Option<Timestamp> },
    /// Nothing in the session has a time of its own: its beginning, and a millisecond an event.
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
            Some(first) => Self::Told { last: Some(first.min(session.started.unwrap_or(first))) },
            None if messages.is_empty() => Self::Told { last: session.started },
            None => Self::Counted { next: session.started },
        }
    }

    /// The time of the next event, of which the record says `at`.
    pub(super) fn tick(&mut self, at: Option<Timestamp>) -> Option<Timestamp> {
        match self {
            Self::Told { last } => {
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
