//! Reads the text of hits again, from the files or the archive, with the words that match.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::archive::{self, Archive, ArchiveError, Match, TextRow};
use crate::argument::argument;
use crate::model::{Message, MessageId, MessageKind, Session, ToolCall};
use crate::search::{Bit, Extent, FieldMatch, Fields, Finder, Query, Where, snippet};

/// A matching message, as it is shown.
#[derive(Debug)]
pub struct Hit<'a> {
    /// The session.
    pub session: &'a Session,
    /// The id of the message; `None` for text about the session as a whole.
    pub message: Option<MessageId>,
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The name of its role.
    pub role: String,
    /// The name of its kind.
    pub kind: String,
    /// The name of its fate.
    pub fate: String,
    /// The part of the message that matches best.
    pub field: Where,
    /// The text around the match; empty if it cannot be read any more.
    pub snippet: Vec<Bit>,
    /// The rank, higher for better matches.
    pub score: f64,
    /// Whether some of its text is not indexed.
    pub capped: bool,
    /// The messages before and after it.
    pub context: Vec<Message>,
}

/// Reads hits.
pub struct HitReader<'a> {
    archive: &'a Archive,
    query: &'a Query,
    finder: &'a Finder<'a>,
    context: usize,
    unread: Cell<u64>,
}

impl<'a> HitReader<'a> {
    /// Returns a reader that also reads `context` messages before and after each hit.
    pub fn new(
        archive: &'a Archive,
        query: &'a Query,
        finder: &'a Finder<'a>,
        context: usize,
    ) -> Self {
        Self { archive, query, finder, context, unread: Cell::new(0) }
    }

    /// Returns the number of hits whose text could not be read.
    pub fn unread(&self) -> u64 {
        self.unread.get()
    }

    /// Reads the text of the hits that the index found.
    pub fn matches<'s>(&self, chosen: &[Match<'s>]) -> Result<Vec<Hit<'s>>, ArchiveError> {
        let mut rows: Vec<Option<TextRow>> = Vec::new();
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for hit in chosen {
            rows.push(self.archive.text_row(hit.row)?);
        }
        for (hit, row) in chosen.iter().zip(&rows) {
            if let Some(message) = row.as_ref().and_then(|row| row.message.as_deref()) {
                wanted.entry(&hit.session.id).or_default().push(message);
            }
        }
        // A hit whose text can no longer be read is still listed, without the text.
        let read = self.archive.read_around(&wanted, self.context)?;
        let mut places: HashMap<(&str, &str), usize> = HashMap::new();
        for (session, messages) in &read {
            for (place, message) in messages.iter().enumerate() {
                places.entry((session, &message.id)).or_insert(place);
            }
        }
        let mut out = Vec::new();
        for (hit, row) in chosen.iter().zip(rows) {
            let Some(row) = row else { continue };
            let session = hit.session.id.as_str();
            let messages = read.get(session).map_or(&[][..], Vec::as_slice);
            let place = row.message.as_deref().and_then(|id| places.get(&(session, id)).copied());
            if row.message.is_some() && place.is_none() {
                self.unread.update(|count| count + 1);
            }
            out.push(self.hit(hit, row, messages, place));
        }
        Ok(out)
    }

    fn hit<'s>(
        &self,
        hit: &Match<'s>,
        row: TextRow,
        messages: &[Message],
        place: Option<usize>,
    ) -> Hit<'s> {
        let message = place.map(|place| &messages[place]);
        let fields = match (message, &row.message) {
            (Some(message), _) => Fields::of(message, Extent::Capped),
            (None, None) => Fields::of_session(hit.session),
            (None, Some(_)) => Fields::default(),
        };
        let found = self.finder.find(&fields, &self.query.filters.fields()).unwrap_or_default();
        let (field, snippet) = match message.filter(|_| found.is_empty()) {
            Some(message) => self.plain(message, &fields),
            None => best(&fields, &found),
        };
        let role = MessageKind::ALL
            .into_iter()
            .find(|kind| kind.name() == row.kind)
            .map(MessageKind::role);
        Hit {
            session: hit.session,
            message: row.message,
            at: row.at,
            role: role.map_or("system", |role| role.name()).to_owned(),
            kind: row.kind,
            fate: row.fate,
            field,
            snippet,
            score: hit.score,
            capped: row.capped,
            context: place.map(|place| self.neighbours(messages, place)).unwrap_or_default(),
        }
    }

    /// Returns what to show of a message that matches conditions only: the tool call that was asked for, or else
    /// what was said or done.
    fn plain(&self, message: &Message, fields: &Fields<'_>) -> (Where, Vec<Bit>) {
        let is_asked = |call: &&ToolCall| self.query.filters.asks_for_tool(&call.name.name);
        let asked = message.tool_calls.iter().find(is_asked);
        let silent = message.tool_calls.first().filter(|_| message.words().trim().is_empty());
        match asked.or(silent) {
            Some(call) => {
                let text = headline(call, argument(call).as_deref());
                (Where::Tool, snippet(&text, &[]))
            }
            None => best(fields, &[]),
        }
    }

    fn neighbours(&self, messages: &[Message], place: usize) -> Vec<Message> {
        let range =
            place.saturating_sub(self.context)..(place + self.context + 1).min(messages.len());
        range.filter(|at| *at != place).map(|at| messages[at].clone()).collect()
    }

    /// Searches sessions without the index, the newest hit first.
    pub fn scan<'s>(&self, sessions: &[&'s Session]) -> Result<Vec<Hit<'s>>, ArchiveError> {
        let mut out: Vec<Hit<'s>> = Vec::new();
        let mut each = |hit: archive::Hit<'s, '_>| {
            let message = &hit.messages[hit.at];
            let (field, snippet) = best(&Fields::of(message, Extent::All), &hit.found);
            out.push(Hit {
                session: hit.session,
                message: Some(message.id.clone()),
                at: message.at,
                role: message.role.name().to_owned(),
                kind: message.kind.name().to_owned(),
                fate: message.fate.name().to_owned(),
                field,
                snippet,
                score: 0.0,
                capped: false,
                context: self.neighbours(hit.messages, hit.at),
            });
        };
        self.archive.scan(sessions, &self.query.filters, self.finder, &mut each)?;
        out.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        Ok(out)
    }
}

/// Returns a tool call in one line: its name and what it was called with.
pub fn headline(call: &ToolCall, argument: Option<&str>) -> String {
    let label = &call.name.label;
    argument.map_or_else(|| label.clone(), |argument| format!("{label}  {argument}"))
}

/// Returns the field with the most matched terms; ties go to the more important field.
fn best(fields: &Fields<'_>, found: &[FieldMatch]) -> (Where, Vec<Bit>) {
    let best = found
        .iter()
        .rev()
        .max_by(|a, b| a.terms.cmp(&b.terms).then(a.field.weight().total_cmp(&b.field.weight())));
    match (best, fields.pieces.first()) {
        (Some(found), _) => (found.field, snippet(&fields.pieces[found.piece].text, &found.marks)),
        (None, Some(piece)) => (piece.field, snippet(&piece.text, &[])),
        (None, None) => (Where::Reply, Vec::new()),
    }
}
