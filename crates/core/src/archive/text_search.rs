//! Queries the text index.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{OptionalExtension, Row, params};
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap, FxHashSet as HashSet};

use super::text_index::BITS;
use super::{Archive, ArchiveError};
use crate::assemble::MessageEntry;
use crate::model::{Message, MessageId, Session, SessionId};
use crate::search::{
    Extent, FieldMatch, Fields, Filters, Finder, MessageTraits, MissingTerm, Node, Query, Term,
    Where, variants,
};

/// The order of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Best matches first; among equals, the newest.
    Relevance,
    /// Newest first.
    Date,
}

/// A message that matches.
#[derive(Debug, Clone, Copy)]
pub struct Match<'a> {
    /// The session of the message.
    pub session: &'a Session,
    /// Its row in the index.
    pub row: i64,
    /// Higher is better; 0 if the query contains no words.
    pub score: f64,
}

/// A match with the time of its message, where it is known.
type Ranked<'a> = (Match<'a>, Option<Timestamp>);

/// A message that matches, found without the index.
#[derive(Debug)]
pub struct Hit<'a, 'm> {
    /// The session of the message.
    pub session: &'a Session,
    /// All messages of the session.
    pub messages: &'m [Message],
    /// The place of the matching message.
    pub at: usize,
    /// The matches within the message.
    pub found: Vec<FieldMatch>,
}

/// The stored traits of a message in the index.
#[derive(Debug, Clone)]
pub struct TextRow {
    /// The message id; none for text about the session as a whole.
    pub message: Option<MessageId>,
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The key of its kind.
    pub kind: String,
    /// The key of its fate.
    pub fate: String,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The names of the tools it called.
    pub tools: String,
    /// Whether the middle of an output was left out of the index.
    pub capped: bool,
}

impl TextRow {
    /// Returns the traits that filters apply to.
    pub fn about(&self) -> MessageTraits<'_> {
        MessageTraits {
            at: self.at,
            kind: Cow::Borrowed(&self.kind),
            fate: Cow::Borrowed(&self.fate),
            model: self.model.as_deref().map(Cow::Borrowed),
            tools: Cow::Borrowed(&self.tools),
        }
    }
}

/// The number of hits that are ranked against each other.
const WEIGHED: usize = 3000;

/// The number of best hits among which ties are broken.
const TIES: usize = 200;

const COLUMNS: &str = "message, at, kind, fate, model, tools, capped";

impl Archive {
    /// Returns all matching messages, in order. `all` are the sessions by id; `takes` selects among
    /// them.
    pub fn matches<'a>(
        &self,
        query: &Query,
        all: &'a [Session],
        order: Order,
        takes: &dyn Fn(&Session) -> bool,
    ) -> Result<Vec<Match<'a>>, ArchiveError> {
        let sessions = self.numbered(all, takes)?;
        let copies = self.copies()?;
        let by_date = order == Order::Date || query.words.is_none();
        let asks = by_date || query.filters.asks_messages();
        let fields = query.filters.fields();
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let expression = query.words.as_ref().map(|words| words.expression(&names(&fields)));
        if let Some(expression) = expression.as_deref().filter(|_| !asks) {
            let mut out = self.ranked(expression, &sessions, copies)?;
            self.break_ties(&mut out)?;
            return Ok(out.into_iter().map(|(hit, _)| hit).collect());
        }
        let sql = match &expression {
            Some(_) => format!(
                "SELECT words.rowid, {COLUMNS} FROM words JOIN texts ON texts.number = words.rowid
                 WHERE words MATCH ?1"
            ),
            None => format!("SELECT number, {COLUMNS} FROM texts WHERE ?1 IS NULL"),
        };
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query([&expression])?;
        let mut out: Vec<Ranked<'_>> = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            let Some(session) = sessions.get(&(number >> BITS)) else { continue };
            if copies.contains(&number) {
                continue;
            }
            let about = traits(row, 1)?;
            if query.filters.takes(&about, session) {
                out.push((Match { session, row: number, score: 0.0 }, about.at));
            }
        }
        match (order, &expression) {
            (Order::Relevance, Some(expression)) => {
                self.rank(expression, &mut out)?;
                self.break_ties(&mut out)?;
            }
            _ => out.sort_by_key(|(hit, at)| (Reverse(*at), hit.row)),
        }
        Ok(out.into_iter().map(|(hit, _)| hit).collect())
    }

    /// Returns all messages of some sessions that match, sorted as [`Self::rank`] does. It asks the index only once:
    /// while a row is read, its score can be computed as well, which takes too long for all of them.
    fn ranked<'a>(
        &self,
        expression: &str,
        sessions: &HashMap<i64, &'a Session>,
        copies: HashSet<i64>,
    ) -> Result<Vec<Ranked<'a>>, ArchiveError> {
        let chosen: HashSet<i64> = sessions.keys().copied().collect();
        let is_chosen = move |row: i64| chosen.contains(&(row >> BITS)) && !copies.contains(&row);
        let left = Cell::new(WEIGHED);
        // 0 for a message that is left out, 1 for one without a score.
        let weigh = move |ctx: &Context<'_>| {
            let (is_chosen, weighed) = (is_chosen(ctx.get(0)?), left.get() > 0);
            left.update(|left| left - usize::from(is_chosen && weighed));
            Ok(i64::from(is_chosen) + i64::from(is_chosen && weighed))
        };
        self.db.create_scalar_function("weigh", 1, FunctionFlags::SQLITE_DIRECTONLY, weigh)?;
        let mut find = self.db.prepare(&format!(
            "SELECT rowid, CASE weigh(rowid) WHEN 2 THEN {} WHEN 1 THEN 0.0 END FROM words
             WHERE words MATCH ?1 ORDER BY rowid DESC",
            score()
        ))?;
        let mut rows = find.query([expression])?;
        let mut out: Vec<Ranked<'_>> = Vec::new();
        while let Some(row) = rows.next()? {
            let (number, score): (i64, Option<f64>) = (row.get(0)?, row.get(1)?);
            if let (Some(session), Some(score)) = (sessions.get(&(number >> BITS)), score) {
                out.push((Match { session, row: number, score }, None));
            }
        }
        let weighed = out.len().min(WEIGHED);
        out[..weighed].sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        Ok(out)
    }

    /// Sorts the best matches first. Rows are numbered roughly by age. For a word that occurs in
    /// very many messages, only the newest are ranked; the rest follow.
    fn rank(&self, expression: &str, hits: &mut [Ranked<'_>]) -> Result<(), ArchiveError> {
        hits.sort_unstable_by_key(|(hit, _)| Reverse(hit.row));
        let weighed = hits.len().min(WEIGHED);
        let Some((oldest, _)) = weighed.checked_sub(1).map(|last| hits[last]) else {
            return Ok(());
        };
        let mut find = self.db.prepare_cached(&format!(
            "SELECT rowid, {} FROM words WHERE words MATCH ?1 AND rowid >= ?2",
            score()
        ))?;
        let scores =
            find.query_map(params![expression, oldest.row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let scores: HashMap<i64, f64> = scores.collect::<Result<_, _>>()?;
        for (hit, _) in &mut hits[..weighed] {
            hit.score = scores.get(&hit.row).copied().unwrap_or_default();
        }
        hits[..weighed].sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        Ok(())
    }

    fn break_ties(&self, hits: &mut [Ranked<'_>]) -> Result<(), ArchiveError> {
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs();
        let mut from = 0;
        while from < hits.len().min(TIES) {
            let score = hits[from].0.score;
            let count = hits[from..]
                .iter()
                .take(TIES)
                .take_while(|(hit, _)| same(score, hit.score))
                .count();
            let tied = &mut hits[from..from + count];
            if count > 1 {
                for (hit, at) in tied.iter_mut() {
                    *at = self.text_row(hit.row)?.and_then(|row| row.at);
                }
                tied.sort_by_key(|(hit, at)| (Reverse(*at), hit.row));
            }
            from += count;
        }
        Ok(())
    }

    /// Returns the selected sessions by their numbers in the index.
    fn numbered<'a>(
        &self,
        all: &'a [Session],
        takes: &dyn Fn(&Session) -> bool,
    ) -> Result<HashMap<i64, &'a Session>, ArchiveError> {
        let sql = "SELECT number, session FROM indexed_sessions ORDER BY session";
        let mut find = self.db.prepare_cached(sql)?;
        let mut rows = find.query([])?;
        let mut out = HashMap::with_capacity_and_hasher(all.len(), FxBuildHasher);
        // Both are in the order of ids.
        let mut rest = all.iter().peekable();
        while let Some(row) = rows.next()? {
            let id = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            while rest.next_if(|session| session.id.as_str() < id).is_some() {}
            if let Some(session) = rest.peek().filter(|session| session.id == id && takes(session))
            {
                out.insert(row.get(0)?, *session);
            }
        }
        Ok(out)
    }

    fn copies(&self) -> Result<HashSet<i64>, ArchiveError> {
        let mut find = self.db.prepare("SELECT number FROM copies")?;
        Ok(find.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Returns the stored traits of a message that the index found.
    pub fn text_row(&self, number: i64) -> Result<Option<TextRow>, ArchiveError> {
        let mut find =
            self.db.prepare_cached(&format!("SELECT {COLUMNS} FROM texts WHERE number = ?1"))?;
        Ok(find.query_row([number], |row| text_row(row, 0)).optional()?)
    }

    /// Returns the terms of a query that occur nowhere in the index, each with a spelling that does. After one without
    /// such a spelling none is looked for, because the query as a whole has no correction.
    pub fn missing_terms(&self, query: &Query) -> Result<Vec<MissingTerm>, ArchiveError> {
        let mut out: Vec<MissingTerm> = Vec::new();
        for term in query.terms() {
            if self.has_term(term)? {
                continue;
            }
            let is_correctable = out.iter().all(|missing| missing.near.is_some());
            let near = if is_correctable { self.near(term)? } else { None };
            out.push(MissingTerm { text: term.text.clone(), near });
        }
        Ok(out)
    }

    fn has_term(&self, term: &Term) -> Result<bool, ArchiveError> {
        let expression = Node::Term(term.clone()).expression(&names(&Where::ALL));
        Ok(self
            .db
            .prepare_cached("SELECT 1 FROM words WHERE words MATCH ?1")?
            .exists(params![expression])?)
    }

    /// Returns a missing term with each unknown word replaced by the most frequent similar one.
    fn near(&self, term: &Term) -> Result<Option<String>, ArchiveError> {
        // The words of the index with the number of messages that contain each; nothing is stored.
        self.db.execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, words, row)",
        )?;
        let mut find = self.db.prepare_cached("SELECT doc FROM temp.vocabulary WHERE term = ?1")?;
        let mut count = |token: &str| find.query_row([token], |row| row.get(0)).optional();
        let mut out: Vec<String> = Vec::new();
        let mut is_corrected = false;
        for token in term.phrases.first().into_iter().flatten() {
            if count(token)?.is_some_and(|messages: i64| messages > 0) {
                out.push(token.clone());
                continue;
            }
            let mut best = (0, None);
            for variant in variants(token) {
                let messages = count(&variant)?.unwrap_or_default();
                if messages > best.0 {
                    best = (messages, Some(variant));
                }
            }
            let (_, Some(near)) = best else { return Ok(None) };
            is_corrected = true;
            out.push(near);
        }
        Ok(is_corrected.then(|| out.join(" ")))
    }

    /// Reads every message of the given sessions completely, without the index, and passes those
    /// that match to `each`. Sessions that cannot be read are counted in [`Self::unread`].
    pub fn scan<'a>(
        &self,
        sessions: &[&'a Session],
        filters: &Filters,
        finder: &Finder<'_>,
        each: &mut dyn FnMut(Hit<'a, '_>),
    ) -> Result<(), ArchiveError> {
        let by_id: HashMap<&str, &Session> =
            sessions.iter().map(|session| (session.id.as_str(), *session)).collect();
        let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
        let fields = filters.fields();
        self.each_assembled(&ids, |assembled| {
            let Some(session) = by_id.get(assembled.session.id.as_str()) else { return Ok(()) };
            let listed: Vec<&MessageEntry> = assembled.listed().collect();
            let Ok(messages) = self.reader().excerpt(&assembled, &listed) else {
                self.pass_over();
                return Ok(());
            };
            let copies = self.copies_of(&session.id)?;
            for (at, message) in messages.iter().enumerate() {
                let tools: Vec<&str> =
                    message.tool_calls.iter().map(|call| call.name.name.as_str()).collect();
                let about = MessageTraits {
                    at: message.at,
                    kind: message.kind.name().into(),
                    fate: message.fate.name().into(),
                    model: message.model.as_deref().map(Cow::Borrowed),
                    tools: tools.join(" ").into(),
                };
                if copies.contains(&message.id) || !filters.takes(&about, session) {
                    continue;
                }
                if let Some(found) = finder.find(&Fields::of(message, Extent::All), &fields) {
                    each(Hit { session, messages: &messages, at, found });
                }
            }
            Ok(())
        })
    }

    /// Returns the messages of a session that only repeat another one.
    pub fn copies_of(&self, session: &str) -> Result<HashSet<MessageId>, ArchiveError> {
        let mut find = self.db.prepare_cached(&format!(
            "SELECT message FROM indexed_sessions JOIN copies
             ON copies.number >= indexed_sessions.number << {BITS} AND copies.number < (indexed_sessions.number + 1) << {BITS}
             JOIN texts ON texts.number = copies.number WHERE session = ?1"
        ))?;
        Ok(find.query_map([session], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Reads the wanted messages of sessions and `around` neighbours on either side, in order.
    /// Messages that can no longer be read are left out.
    pub fn read_around(
        &self,
        wanted: &BTreeMap<&str, Vec<&str>>,
        around: usize,
    ) -> Result<BTreeMap<SessionId, Vec<Message>>, ArchiveError> {
        let mut out = BTreeMap::new();
        let ids: Vec<SessionId> = wanted.keys().map(|id| SessionId::from(*id)).collect();
        self.each_assembled(&ids, |assembled| {
            let id = &assembled.session.id;
            let wanted = wanted.get(id.as_str()).into_iter().flatten();
            let wanted: HashSet<&str> = wanted.copied().collect();
            let listed: Vec<&MessageEntry> = assembled.listed().collect();
            // Marks the neighbours of wanted messages, once in each direction.
            let mut near = vec![false; listed.len()];
            for reverse in [false, true] {
                let mut left = 0;
                for n in 0..listed.len() {
                    let at = if reverse { listed.len() - 1 - n } else { n };
                    if wanted.contains(listed[at].facts.id.as_str()) {
                        left = around + 1;
                    }
                    near[at] |= left > 0;
                    left = left.saturating_sub(1);
                }
            }
            let places = listed.iter().zip(near).filter(|(_, near)| *near);
            let places: Vec<&MessageEntry> = places.map(|(placed, _)| *placed).collect();
            if let Ok(messages) = self.reader().excerpt(&assembled, &places) {
                out.insert(id.clone(), messages);
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// Returns the columns of fields; an empty string for all of them.
/// Returns the SQL of the score of a message: higher is better.
fn score() -> String {
    let weights = Where::ALL.iter().map(|field| field.weight().to_string());
    format!("-bm25(words, {})", weights.collect::<Vec<_>>().join(", "))
}

fn names(fields: &[Where]) -> String {
    if fields.len() == Where::ALL.len() {
        return String::new();
    }
    fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(" ")
}

fn text_row(row: &Row<'_>, from: usize) -> rusqlite::Result<TextRow> {
    let message: MessageId = row.get(from)?;
    let about = traits(row, from)?;
    Ok(TextRow {
        message: Some(message).filter(|id| !id.is_empty()),
        at: about.at,
        kind: about.kind.into_owned(),
        fate: about.fate.into_owned(),
        model: about.model.map(Cow::into_owned),
        tools: about.tools.into_owned(),
        capped: row.get(from + 6)?,
    })
}

/// Returns what filters need of a row.
fn traits<'r>(row: &'r Row<'_>, from: usize) -> rusqlite::Result<MessageTraits<'r>> {
    let at: Option<i64> = row.get(from + 1)?;
    let text = |place: usize| Ok::<_, rusqlite::Error>(row.get_ref(from + place)?.as_str()?);
    Ok(MessageTraits {
        at: at.and_then(|at| Timestamp::from_millisecond(at).ok()),
        kind: text(2)?.into(),
        fate: text(3)?.into(),
        model: row.get_ref(from + 4)?.as_str_or_null()?.map(Cow::Borrowed),
        tools: text(5)?.into(),
    })
}
