//! Hits with their text, which is read from the files or the archive again.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use backstory_core::archive::{self, Match, TextRow};
use backstory_core::model::{Message, MessageKind, Session};
use backstory_core::search::{Bit, Extent, FieldMatch, Fields, Finder, Query, Where, snippet};
use jiff::Timestamp;

use crate::error::Result;
use crate::library::{Library, cannot_open};

/// A matching message, as it is shown.
pub(in crate::commands) struct Hit<'a> {
    pub(in crate::commands) session: &'a Session,
    /// `None` for text about the session as a whole.
    pub(in crate::commands) message: Option<String>,
    pub(in crate::commands) at: Option<Timestamp>,
    pub(in crate::commands) role: String,
    pub(in crate::commands) kind: String,
    pub(in crate::commands) fate: String,
    pub(in crate::commands) field: Where,
    pub(in crate::commands) snippet: Vec<Bit>,
    pub(in crate::commands) score: f64,
    /// Whether some of its text is not indexed.
    pub(in crate::commands) capped: bool,
    pub(in crate::commands) context: Vec<Message>,
}

/// Reads hits.
pub(super) struct Read<'a> {
    pub(super) library: &'a Library,
    pub(super) query: &'a Query,
    pub(super) finder: &'a Finder<'a>,
    /// The number of messages to read before and after each hit.
    pub(super) context: usize,
    /// The number of hits whose text could not be read.
    pub(super) unread: Cell<u64>,
}

impl<'a> Read<'a> {
    /// Reads the text of the hits that the index found.
    pub(super) fn matches(&self, chosen: &[Match<'a>]) -> Result<Vec<Hit<'a>>> {
        let mut rows: Vec<Option<TextRow>> = Vec::new();
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for hit in chosen {
            rows.push(self.library.archive.text_row(hit.row).map_err(cannot_open)?);
        }
        for (hit, row) in chosen.iter().zip(&rows) {
            if let Some(message) = row.as_ref().and_then(|row| row.message.as_deref()) {
                wanted.entry(&hit.session.id).or_default().push(message);
            }
        }
        // A hit whose text can no longer be read is still listed, without the text.
        let read = self.library.archive.read_around(&wanted, self.context).map_err(cannot_open)?;
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

    fn hit(
        &self,
        hit: &Match<'a>,
        row: TextRow,
        messages: &[Message],
        place: Option<usize>,
    ) -> Hit<'a> {
        let message = place.map(|place| &messages[place]);
        let fields = match (message, &row.message) {
            (Some(message), _) => Fields::of(message, Extent::Capped),
            (None, None) => Fields::of_session(hit.session),
            (None, Some(_)) => Fields::default(),
        };
        let found = self.finder.find(&fields, &self.query.filters.fields()).unwrap_or_default();
        let (field, snippet) = best(&fields, &found);
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

    fn neighbours(&self, messages: &[Message], place: usize) -> Vec<Message> {
        let range =
            place.saturating_sub(self.context)..(place + self.context + 1).min(messages.len());
        range.filter(|at| *at != place).map(|at| messages[at].clone()).collect()
    }

    /// Searches all matching sessions without the index, the newest first.
    pub(super) fn scan(&self, takes: &dyn Fn(&Session) -> bool) -> Result<Vec<Hit<'a>>> {
        let sessions: Vec<&Session> =
            self.library.all.sessions.iter().filter(|session| takes(session)).collect();
        let mut out: Vec<Hit<'a>> = Vec::new();
        let mut each = |hit: archive::Hit<'a, '_>| {
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
        let archive = &self.library.archive;
        archive
            .scan(&sessions, &self.query.filters, self.finder, &mut each)
            .map_err(cannot_open)?;
        out.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        Ok(out)
    }
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
