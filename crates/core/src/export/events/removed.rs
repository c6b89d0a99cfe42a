//! Determines when messages were removed from a conversation, from the fates that the log records.

use std::mem;

use crate::model::{EventBody, Fate, Message, MessageKind};

pub(super) struct Removed {
    /// The last message that was compressed away, if no summary or mark follows it.
    last_compressed: Option<usize>,
    compressed: usize,
    /// Whether they include more than an older summary.
    has_said: bool,
    rewound: usize,
}

impl Removed {
    pub(super) fn new(messages: &[Message]) -> Self {
        let last_compressed = messages.iter().rposition(|m| m.fate == Fate::Compressed);
        let last_compressed = last_compressed.filter(|n| !messages[n + 1..].iter().any(is_mark));
        Self { last_compressed, compressed: 0, has_said: false, rewound: 0 }
    }

    /// Returns the event before this message: a rewind ends with the first message that continues,
    /// a compression with its summary.
    pub(super) fn before<'a>(&mut self, message: &Message) -> Option<EventBody<'a>> {
        if is_mark(message) {
            // Messages that it spared may have been rewound later, together with those that
            // followed.
            return if self.has_said { self.compress() } else { None };
        }
        if message.fate == Fate::Rewound { None } else { self.rewind() }
    }

    /// Counts the `n`th message. Returns the event after it, if no later message produces it.
    pub(super) fn after<'a>(&mut self, n: usize, message: &Message) -> Option<EventBody<'a>> {
        match message.fate {
            Fate::Rewound => self.rewound += 1,
            Fate::Compressed => {
                self.compressed += 1;
                self.has_said |= message.kind != MessageKind::CompressSummary;
            }
            Fate::Kept | Fate::Failed | Fate::Interrupted | Fate::Superseded => {}
        }
        if self.last_compressed == Some(n) { self.compress() } else { None }
    }

    /// Returns the rewind that no message followed.
    pub(super) fn rewind<'a>(&mut self) -> Option<EventBody<'a>> {
        let messages = mem::take(&mut self.rewound);
        (messages > 0).then_some(EventBody::Rewind { messages })
    }

    fn compress<'a>(&mut self) -> Option<EventBody<'a>> {
        self.has_said = false;
        let messages = mem::take(&mut self.compressed);
        (messages > 0).then_some(EventBody::Compress { messages })
    }
}

fn is_mark(message: &Message) -> bool {
    matches!(message.kind, MessageKind::CompressSummary | MessageKind::Compress)
}
