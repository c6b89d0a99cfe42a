//! Computes the current view: the messages and metadata that Gemini CLI's loader would have.
//!
//! It equals `loadConversationRecord` of 0.61, including its oddities; `conformance/` proves it
//! against the real one. The full view must not be derived from this, because removed messages are
//! lost here.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::agent::gemini::format::log::Entry;
use crate::agent::gemini::format::record::{Depth, Element, Listed, Message, Record, Set};
use crate::facts::Span;
use crate::fault::{FaultKind, Faults};
use crate::read::json::{self, JsStr, Raw};

/// The treatment of records that the loader would not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// As the loader does.
    Strict,
    /// Keeps everything that can be read, for files that the loader rejects as a whole.
    Lenient,
}

/// The keys without which the loader rejects a file.
const HEADER: [&[u8]; 2] = [b"sessionId", b"projectHash"];

/// The state after some records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    mode: Mode,
    /// If only calls are counted, there is no list, only whether the loader accepts the file and
    /// which faults it has.
    #[serde(skip)]
    depth: Depth,
    messages: IndexMap<Box<[u8]>, Live, FxBuildHasher>,
    #[serde(with = "crate::read::json::raw_map")]
    fields: IndexMap<Box<[u8]>, Box<RawValue>>,
    first_user_message: Option<String>,
    /// Whether a message came after the memory scratchpad; none if there is no scratchpad.
    scratchpad_is_stale: Option<bool>,
    pub(crate) faults: Faults,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Live {
    span: Span,
    is_user: bool,
    resumable: bool,
}

/// The result of a replay.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) fields: IndexMap<Box<[u8]>, Box<RawValue>>,
    /// Ids and positions.
    pub(crate) messages: Vec<(Box<[u8]>, Span)>,
    pub(crate) user_messages: usize,
    pub(crate) first_user_message: Option<String>,
    pub(crate) scratchpad_is_stale: Option<bool>,
    pub(crate) resumable: bool,
    pub(crate) faults: Faults,
}

impl Replay {
    pub(crate) fn new(mode: Mode, depth: Depth) -> Self {
        Self {
            mode,
            depth,
            messages: IndexMap::default(),
            fields: IndexMap::new(),
            first_user_message: None,
            scratchpad_is_stale: None,
            faults: Faults::default(),
        }
    }

    /// Returns whether the loader would accept the file so far.
    pub(crate) fn has_header(&self) -> bool {
        HEADER
            .iter()
            .all(|key| self.fields.get(*key).is_some_and(|value| json::is_truthy(Raw::of(value))))
    }

    pub(crate) fn apply(&mut self, entry: &Entry<'_>) {
        let line = Some(entry.line);
        let record = match &entry.record {
            Ok(record) => record,
            Err(malformed) => {
                self.faults.unusable += 1;
                self.faults.push(line, None, FaultKind::Malformed(malformed.clone()));
                return;
            }
        };
        if let Record::Unknown(what) = record {
            self.faults.unusable += 1;
            self.faults.push(line, None, FaultKind::Unknown(what.clone()));
            return;
        }
        self.faults.used += 1;
        if matches!(record, Record::Nameless(_)) {
            self.faults.push(line, None, FaultKind::NoId);
        }
        if let Some(repair) = entry.repair {
            self.faults.push(line, None, FaultKind::Repaired(repair));
            if self.mode == Mode::Strict {
                return;
            }
        }
        match record {
            Record::Rewind(to) => self.rewind(to),
            Record::Message(message) if message.header && self.mode == Mode::Lenient => {
                if let Ok(set) = Set::new(message.raw, self.depth) {
                    self.spread(&set);
                }
            }
            Record::Message(message) => {
                self.touch_scratchpad();
                self.store(message, entry);
            }
            Record::Set(set) => self.set(set, entry),
            Record::Header(set) => {
                self.spread(set);
                if let Listed::Messages(messages) = &set.messages {
                    self.store_list(messages, entry);
                }
            }
            // Only calls are counted, so there is no list to add the message to.
            Record::Reply(_) | Record::Nameless(_) | Record::Unknown(_) => {}
        }
    }

    fn rewind(&mut self, to: &JsStr<'_>) {
        self.touch_scratchpad();
        // An id that is not in the list clears it, as upstream does.
        let keep = self.messages.get_index_of(&**to).unwrap_or(0);
        self.messages.truncate(keep);
    }

    fn set(&mut self, set: &Set<'_>, entry: &Entry<'_>) {
        if let Some((_, pad)) = set.fields.iter().rfind(|(key, _)| **key == *b"memoryScratchpad") {
            self.scratchpad_is_stale = json::is_truthy(*pad).then_some(false);
        }
        if let Listed::Messages(messages) = &set.messages {
            self.messages.clear();
            // An exception in the middle of the list ends the record, and its other keys are lost.
            if !self.store_list(messages, entry) && self.mode == Mode::Strict {
                return;
            }
        }
        self.spread(set);
    }

    fn touch_scratchpad(&mut self) {
        if let Some(stale) = &mut self.scratchpad_is_stale {
            *stale = true;
        }
    }

    /// Stores a list of messages. Returns false if an exception cut it short.
    fn store_list(&mut self, messages: &[Element<'_>], entry: &Entry<'_>) -> bool {
        for element in messages {
            match element.listed() {
                Some(message) => {
                    if !self.store(message, entry) && self.mode == Mode::Strict {
                        return false;
                    }
                }
                None => self.faults.push(Some(entry.line), None, FaultKind::NoId),
            }
        }
        true
    }

    /// Stores a message: the last record wins, and the first place is kept. Returns false if the
    /// loader would throw.
    fn store(&mut self, message: &Message<'_>, entry: &Entry<'_>) -> bool {
        if message.resumable.is_err() {
            let id = String::from_utf8_lossy(&message.id).into_owned();
            self.faults.push(Some(entry.line), Some(id), FaultKind::LoaderDrops);
            if self.mode == Mode::Strict {
                return false;
            }
        }
        if self.depth == Depth::Calls {
            return message.resumable.is_ok();
        }
        let resumable = message.resumable == Ok(true);
        // An empty text does not count and is replaced by a later one.
        let is_first = matches!(self.first_user_message.as_deref(), None | Some("\"\""));
        if is_first
            && message.is_user()
            && resumable
            && let Some(text) = message.first_text()
        {
            self.first_user_message = Some(text);
        }
        let live =
            Live { span: entry.base.place(message.raw), is_user: message.is_user(), resumable };
        match self.messages.get_mut(&*message.id) {
            Some(known) => *known = live,
            None => {
                self.messages.insert((*message.id).into(), live);
            }
        }
        message.resumable.is_ok()
    }

    fn spread(&mut self, set: &Set<'_>) {
        for (key, value) in &set.fields {
            if self.depth == Depth::Calls && !HEADER.contains(&&**key) {
                continue;
            }
            let value = value.boxed();
            match self.fields.get_mut(&**key) {
                Some(known) => *known = value,
                None => {
                    self.fields.insert((**key).into(), value);
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Outcome {
        Outcome {
            user_messages: self.messages.values().filter(|live| live.is_user).count(),
            resumable: self.messages.values().any(|live| live.resumable),
            messages: self.messages.into_iter().map(|(id, live)| (id, live.span)).collect(),
            fields: self.fields,
            first_user_message: self.first_user_message,
            scratchpad_is_stale: self.scratchpad_is_stale,
            faults: self.faults,
        }
    }
}
