//! The messages of a session around one place.

use std::io;
use std::ops::Range;

use axum::http::StatusCode;
use backstory_core::export::html::{Place, write_messages};
use backstory_core::export::{Agent, Document, Options};
use backstory_core::model::{Message, MessageKind};
use backstory_core::pricing::Bill;
use backstory_core::transcript::{self, blocks};
use maud::{Markup, PreEscaped, html};

use super::{Reading, messages};
use crate::app::Ask;
use crate::reply::Problem;
use crate::words::session_path;

/// The messages of a page, and those before the place that it is about.
const PAGE: usize = 120;
const BEFORE: usize = 20;

/// The maximum number of messages of a subagent that are shown where it was started.
const NESTED: usize = 120;

/// The messages to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// All that happened.
    Full,
    /// What the agent itself would load.
    Current,
    /// Each prompt with the last answer to it.
    Focused,
}

impl View {
    pub(super) const ALL: [Self; 3] = [Self::Focused, Self::Current, Self::Full];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Current => "current",
            Self::Focused => "focused",
        }
    }

    pub(super) fn named(name: &str) -> Result<Self, Problem> {
        let known = Self::ALL.into_iter().find(|view| view.name() == name);
        known.ok_or_else(|| {
            Problem::invalid(format!("`{name}` is not a view."))
                .hint("Choose `focused`, `current` or `full`.")
        })
    }

    /// Returns the places of the messages to show.
    fn places(self, messages: &[Message]) -> Vec<usize> {
        let options =
            transcript::Options { thoughts: true, tool_output: true, info: true, only: Vec::new() };
        let shown = |message: &Message| !blocks(std::slice::from_ref(message), &options).is_empty();
        let all = messages.iter().enumerate().filter(|(_, message)| shown(message));
        match self {
            Self::Full => all.map(|(place, _)| place).collect(),
            Self::Current => {
                all.filter(|(_, message)| message.current).map(|(place, _)| place).collect()
            }
            Self::Focused => focused(all),
        }
    }
}

/// Returns the places of prompts, errors, and of the last answer before the next prompt.
fn focused<'a>(messages: impl Iterator<Item = (usize, &'a Message)>) -> Vec<usize> {
    let mut out = Vec::new();
    let mut answer = None;
    for (place, message) in messages {
        match message.kind {
            kind if kind.is_typed() => {
                out.extend(answer.take());
                out.push(place);
            }
            MessageKind::Reply if !message.text.trim().is_empty() => answer = Some(place),
            MessageKind::Error | MessageKind::Compress => {
                out.extend(answer.take());
                out.push(place);
            }
            _ => {}
        }
    }
    out.extend(answer);
    out
}

/// The messages of a session that a view shows.
pub(super) struct Story<'a> {
    ask: &'a Ask<'a>,
    reading: &'a Reading<'a>,
    places: Vec<usize>,
}

impl<'a> Story<'a> {
    pub(super) fn new(ask: &'a Ask<'a>, reading: &'a Reading<'a>) -> Self {
        Self { ask, reading, places: reading.view.places(&reading.messages) }
    }

    /// Returns the messages around a place, or the first ones.
    pub(super) fn around(&self, at: Option<usize>) -> Range<usize> {
        let middle = at.map_or(0, |at| self.places.partition_point(|place| *place < at));
        let start = middle.saturating_sub(BEFORE);
        start..(start + PAGE).min(self.places.len())
    }

    /// Returns the messages from a place on.
    pub(super) fn after(&self, from: usize) -> Range<usize> {
        let start = self.places.partition_point(|place| *place < from);
        start..(start + PAGE).min(self.places.len())
    }

    /// Returns the messages before a place.
    pub(super) fn before(&self, to: usize) -> Range<usize> {
        let end = self.places.partition_point(|place| *place < to);
        end.saturating_sub(PAGE)..end
    }

    /// Writes some messages, with links to those before and after them.
    pub(super) fn write(&self, window: Range<usize>) -> Result<Markup, Problem> {
        let places: Vec<Place> =
            self.places[window.clone()].iter().map(|place| Place(*place)).collect();
        let shown: Vec<Message> =
            places.iter().map(|place| self.reading.messages[place.0].clone()).collect();
        let mut out = Vec::new();
        self.document(&shown, |document| write_messages(document, &places, &mut out))
            .map_err(|error| cannot(&error))?;
        let body = String::from_utf8_lossy(&out).into_owned();
        let link = |at: usize, name: &str| self.reading.link(name, &at.to_string());
        let earlier = self.places.get(window.start).copied().filter(|_| window.start > 0);
        let later = self.places.get(window.end).copied();
        Ok(html! {
            @if let Some(to) = earlier { p.part data-earlier=(to) { a href=(link(self.places[window.start.saturating_sub(PAGE)], "at")) { (window.start) " earlier messages" } } }
            @if places.is_empty() { p.none { "This view has no messages." } } @else { (PreEscaped(body)) }
            @if let Some(from) = later { p.part data-later=(from) { a href=(link(from, "at")) { (self.places.len() - window.end) " more messages" } } }
        })
    }

    /// Calls `write` with the document of some messages.
    fn document(
        &self,
        shown: &[Message],
        write: impl FnOnce(&Document<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let options = Options { thoughts: true, tool_output: false, info: true, tokens: true };
        let agents = |id: &str| Ok(self.agent(id));
        let site = &self.ask.app.site;
        write(&Document {
            session: self.reading.session,
            messages: shown,
            cost: Bill::default(),
            options: &options,
            prices: &site.prices,
            zone: &site.zone,
            agents: &agents,
        })
    }

    /// Returns the session of a subagent: to be shown in place if it is short, else as a link.
    fn agent(&self, id: &str) -> Option<Agent> {
        let session = self.ask.all().get(id)?;
        if session.messages_full > NESTED {
            return Some(Agent::Elsewhere(session_path(session)));
        }
        let messages =
            messages(self.ask, session).map_err(|problem| io::Error::other(problem.what));
        // One that cannot be read is still linked to.
        Some(match messages {
            Ok(messages) => Agent::Here(Box::new((session.clone(), messages))),
            Err(_) => Agent::Elsewhere(session_path(session)),
        })
    }
}

pub(super) fn cannot(error: &io::Error) -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("The session cannot be written: {error}"),
    )
}
