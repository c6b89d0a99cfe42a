//! Reads the part of a thread that one file contains.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::draft::Draft;
use super::ids::Ids;
use super::steps::Step;
use super::tool_calls::ToolCalls;
use crate::agent::Detail;
use crate::agent::codex::format::{
    Kind, Meta, Object, Record, RolloutName, is_elsewhere, is_output,
};
use crate::facts::{Base, FirstTotal, LimitFacts, MessageFacts};
use crate::id::is_uuid;
use crate::model::{MessageKind, Service, ServiceClass};

/// The pause that ends a copy: the lines that a fork copies are written at once.
const PAUSE: SignedDuration = SignedDuration::from_millis(250);

/// The prefix of the keys of messages that only used tools.
pub(super) const TOOL_KEY: &str = "tool:";

/// Reads the lines of a file into the messages of its thread.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Thread {
    pub(super) name: Option<RolloutName>,
    /// Whether only calls are wanted.
    only_calls: bool,
    /// The prefix of the ids of its messages.
    prefix: String,
    pub(super) meta: Option<Meta>,
    /// The threads that the file copies, the nearest first.
    pub(super) ancestors: Vec<Ancestor>,
    /// Whether the lines have envelopes.
    pub(super) has_envelopes: bool,
    /// Whether the lines have positions by which other files refer to them.
    is_paginated: bool,
    /// All messages so far, in the order of the file.
    pub(super) drafts: Vec<Draft>,
    /// The indices of the messages that the agent would load.
    pub(super) history: Vec<usize>,
    pub(super) changes: Vec<Change>,
    /// The reply that the model's items belong to.
    pub(super) reply: Option<usize>,
    /// The text of the last reply.
    pub(super) last_answer: String,
    /// A call whose reply is still to come.
    pub(super) pending: Option<Step>,
    /// The current turn.
    pub(super) turn: Option<Turn>,
    /// Whether a turn has started, or a call was recorded individually.
    pub(super) has_turns: bool,
    /// The first message of the turn.
    pub(super) turn_start: usize,
    /// The model of the current turn.
    pub(super) model: Option<Arc<str>>,
    /// The conditions under which the next call is served.
    pub(super) service: Service,
    /// The running total of the token counts.
    pub(super) counts: Counts,
    /// The running totals by position, as hashes.
    pub(super) totals: Vec<(u64, u64)>,
    /// The first total of a file that continues another one.
    pub(super) first_total: Option<FirstTotal>,
    /// The turns whose calls are recorded individually.
    pub(super) recorded: BTreeSet<Box<str>>,
    /// The hashes of the ids of all recorded responses.
    pub(super) responses: BTreeSet<u64>,
    /// Whether the model has produced any output.
    pub(super) is_heard: bool,
    /// The tool calls by id, which the messages contain.
    #[serde(skip)]
    pub(super) calls: ToolCalls,
    /// The message with the last script, whose commands are recorded as events.
    pub(super) script: Option<usize>,
    /// The review in progress.
    pub(super) review: Option<Review>,
    /// The name of the thread.
    pub(super) title: Option<String>,
    /// The working directory that the context names, for files without one in their header.
    pub(super) context_cwd: Option<String>,
    /// The limits of the user's plan, which are stored among the facts of the source.
    #[serde(skip)]
    pub(super) limits: Vec<LimitFacts>,
    /// The ids of the messages.
    #[serde(skip)]
    pub(super) ids: Ids,
    pub(super) here: Here,
}

/// A thread that the file copies.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ancestor {
    pub(super) id: String,
    /// The time at which the thread began.
    #[serde(with = "crate::time::stored")]
    at: Option<Timestamp>,
}

/// A turn of the conversation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    /// The id of the turn.
    pub(super) id: Box<str>,
    /// The time at which it began, if its id contains it.
    #[serde(with = "crate::time::stored")]
    pub(super) began: Option<Timestamp>,
}

/// A review, whose messages are in another file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Review {
    /// A hash of the last text that an event called typed.
    pub(super) task: Option<u64>,
}

/// The line that is being read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Here {
    line: u64,
    pub(super) position: u64,
    #[serde(with = "crate::time::stored")]
    pub(super) at: Option<Timestamp>,
    /// Whether there has been no pause since the first line.
    pub(super) in_burst: bool,
}

/// A change of the list of messages that the agent would load.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Change {
    Append(u64, usize),
    Replace(u64, Vec<usize>),
    Cut(u64, usize),
}

impl Thread {
    /// Begins to read a file with the given name.
    pub(crate) fn new(name: Option<RolloutName>, detail: Detail) -> Self {
        let id = name.as_ref().map_or("", |name| name.rollout.as_str());
        let prefix = id.get(id.len().saturating_sub(8)..).unwrap_or_default().to_owned();
        let here = Here { in_burst: true, ..Here::default() };
        Self { name, only_calls: detail == Detail::Calls, prefix, here, ..Self::default() }
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, record: &Record<'_>, line: u64, base: Base<'_>) {
        self.move_to(record.at, record.ordinal, line);
        match record.kind {
            Kind::Item if self.only_calls => {
                let role = record.body.text("role").unwrap_or_default();
                let is_output = is_output(record.inner().as_bytes(), role.as_bytes());
                self.heard(is_output);
            }
            Kind::Event if self.only_calls => match &*record.inner() {
                "token_count" => self.count(record.body.count()),
                "task_started" => self.start_turn(record.body.owned("turn_id")),
                "thread_settings_applied" => {
                    self.settings(&record.body.object("thread_settings"));
                }
                _ => {}
            },
            Kind::Compacted | Kind::Delivery if self.only_calls => {}
            Kind::Meta => self.header(Meta::read(&record.body)),
            Kind::Item => self.item(&record.body, base),
            Kind::Event => self.event(record, base),
            Kind::TurnContext => self.context(record.body.text("model").as_deref()),
            Kind::Compacted => self.compact(&record.body, base),
            Kind::Delivery => {
                self.delivered(&record.body.text("content").unwrap_or_default(), base);
            }
            Kind::Usage => self.usage(&record.body),
            Kind::Other => {}
        }
    }

    /// Passes over a line that has nothing to do with a call.
    pub(crate) fn pass(
        &mut self,
        at: Option<Timestamp>,
        ordinal: Option<u64>,
        line: u64,
        is_output: bool,
    ) {
        self.move_to(at, ordinal, line);
        self.heard(is_output);
    }

    /// Notes whether the line is output of the model, in the thread itself.
    pub(super) fn heard(&mut self, is_output: bool) {
        self.is_heard |= is_output && !self.is_inherited();
    }

    fn move_to(&mut self, at: Option<Timestamp>, ordinal: Option<u64>, line: u64) {
        let before = self.here.at;
        let is_soon =
            || at.zip(before).is_none_or(|(at, before)| at.duration_since(before) < PAUSE);
        self.here = Here {
            line,
            position: ordinal.unwrap_or(line),
            at: at.or(before),
            in_burst: self.here.in_burst && is_soon(),
        };
        self.is_paginated |= ordinal.is_some();
        self.has_envelopes |= at.is_some();
    }

    /// Returns whether only calls are wanted.
    pub(crate) fn has_only_calls(&self) -> bool {
        self.only_calls
    }

    /// Adds a header: the file's own, or that of a thread that it copies.
    fn header(&mut self, meta: Meta) {
        let named = self.name.as_ref().map(|name| name.thread.as_str());
        let own = named.or_else(|| self.meta.as_ref()?.id.as_deref());
        // The first line is the header of the file itself, whatever its name. It may be damaged.
        let is_first = self.meta.is_none() && self.here.line <= 1;
        match &meta.id {
            Some(id) if !is_first && own.is_some_and(|own| own != id) => {
                self.ancestors.push(Ancestor { id: id.clone(), at: meta.at });
                self.context_cwd = self.context_cwd.take().or(meta.cwd);
            }
            _ if self.meta.is_none() => {
                self.service.is_elsewhere = meta.is_elsewhere;
                self.meta = Some(meta);
            }
            _ => {}
        }
    }

    /// Begins a turn, or the part of one, with the given model.
    pub(crate) fn context(&mut self, model: Option<&str>) {
        self.flush();
        self.reply = None;
        if let Some(model) = model.filter(|model| !model.is_empty())
            && self.model.as_deref() != Some(model)
        {
            self.model = Some(model.into());
        }
    }

    /// Applies the settings of the thread. A class that they do not name is the standard one.
    pub(super) fn settings(&mut self, settings: &Object<'_>) {
        let class = settings.text("service_tier").unwrap_or_default();
        // The program's own name for the priority service.
        let is_fast = &*class == "fast";
        self.service.class =
            if is_fast { ServiceClass::Priority } else { ServiceClass::named(&class) };
        self.service.is_elsewhere = is_elsewhere(settings, "model_provider_id");
    }

    /// Returns the id of the thread.
    pub(super) fn id(&self) -> &str {
        let named = self.name.as_ref().map(|name| name.thread.as_str());
        let meta = self.meta.as_ref().and_then(|meta| meta.id.as_deref());
        named.or(meta).unwrap_or_default()
    }

    /// Returns the time of the line. Copied lines have the time of the fork, so they are dated by their turn
    /// or by the thread they come from.
    pub(super) fn time(&self, is_inherited: bool) -> Option<Timestamp> {
        if !is_inherited {
            return self.here.at;
        }
        let began = self.turn.as_ref().and_then(|turn| turn.began);
        began.or_else(|| self.ancestors.first().and_then(|one| one.at)).or(self.here.at)
    }

    /// Begins a message at the current line; `mark` is a hash of its content.
    pub(super) fn begin(&mut self, kind: MessageKind, mark: u64) -> usize {
        self.begin_at(kind, mark, self.here.at)
    }

    /// Begins a message that a line of the given time has announced.
    pub(super) fn begin_at(
        &mut self,
        kind: MessageKind,
        mark: u64,
        written: Option<Timestamp>,
    ) -> usize {
        let mark = mark ^ written.map_or(0, Timestamp::as_millisecond).cast_unsigned();
        let id = self.ids.next(&self.prefix, mark);
        let Here { line, position, .. } = self.here;
        let is_inherited = self.is_inherited();
        let mut facts = MessageFacts::new(id, kind, self.time(is_inherited));
        facts.is_inherited = is_inherited;
        self.drafts.push(Draft::new(facts, mark, position, line));
        self.drafts.len() - 1
    }

    /// Returns the time at which the current line was written.
    pub(crate) fn written(&self) -> Option<Timestamp> {
        self.here.at
    }

    /// Adds the location of `part` to a message.
    pub(super) fn place(&mut self, at: usize, base: Base<'_>, part: &str) {
        self.drafts[at].facts.spans.push(base.place(part));
    }

    /// Appends a message to the list that the agent loads.
    pub(super) fn load(&mut self, at: usize) {
        if !std::mem::replace(&mut self.drafts[at].is_loaded, true) {
            self.history.push(at);
            self.changes.push(Change::Append(self.here.position, at));
        }
    }

    /// Replaces the list that the agent loads.
    pub(super) fn reload(&mut self, list: Vec<usize>) {
        for at in &self.history {
            self.drafts[*at].is_loaded = false;
        }
        for at in &list {
            self.drafts[*at].is_loaded = true;
        }
        self.changes.push(Change::Replace(self.here.position, list.clone()));
        self.history = list;
    }

    /// Removes the messages from index `from` on from the list that the agent loads.
    pub(super) fn cut(&mut self, from: usize) {
        let gone = self.history.split_off(from);
        for at in &gone {
            self.drafts[*at].is_loaded = false;
        }
        self.changes.push(Change::Cut(self.here.position, gone.len()));
    }

    /// Returns the position of the current line in the history.
    pub(super) fn position(&self) -> u64 {
        self.here.position
    }

    /// Returns the number of the current line.
    pub(super) fn line(&self) -> u64 {
        self.here.line
    }

    /// Takes the limits of the user's plan that the file reports.
    pub(crate) fn take_limits(&mut self) -> Vec<LimitFacts> {
        std::mem::take(&mut self.limits)
    }

    /// Returns whether the file has neither a header nor a message or call.
    pub(crate) fn is_empty(&self) -> bool {
        let has_header = self.meta.is_some() || !self.ancestors.is_empty();
        !has_header && self.drafts.is_empty() && self.pending.is_none()
    }

    /// Returns whether other files can refer to this one.
    pub(super) fn has_lineage(&self) -> bool {
        self.is_paginated && self.name.is_some()
    }
}

/// Returns the time in a UUID of version 7.
pub(super) fn time_in_id(id: &str) -> Option<Timestamp> {
    if !is_uuid(id) || id.as_bytes().get(14) != Some(&b'7') {
        return None;
    }
    let digits = format!("{}{}", &id[..8], &id[9..13]);
    Timestamp::from_millisecond(i64::from_str_radix(&digits, 16).ok()?).ok()
}
