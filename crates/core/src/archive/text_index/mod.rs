//! Fills the text index: the words of every message, each message once.
//!
//! Only changes are read: a session's row loses its mark when one of its sources changes, and only
//! those messages of the session are read whose records have moved. A batch is one transaction that
//! begins before its sessions are assembled, so that no other process changes them in the meantime.

mod copies;
mod rows;
mod stamps;

use std::collections::{BTreeSet, HashMap, HashSet};

use rayon::prelude::*;
use rusqlite::{Transaction, TransactionBehavior};
use rustc_hash::FxHashMap;

use self::copies::mark_copies;
use self::rows::{Incoming, IndexedMessage, Row, columns, insert, remove, row, rows_of};
use self::stamps::{label, stamp};
use super::{Archive, ArchiveError, ledger};
use crate::assemble::{MessageEntry, SessionFacts};
use crate::model::Session;
use crate::projects::ProjectHints;
use crate::search::Fields;

/// The number of index rows a session can have, as a power of two.
pub(super) const BITS: u32 = 24;

/// The bytes of files per transaction, and read at a time. It bounds memory use.
const BATCH: u64 = 24 << 20;

/// The key of the note that exists while copies of indexed messages are not marked yet.
const UNMARKED: &str = "unmarked_copies";

/// Counts of indexed text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// The sessions indexed.
    pub sessions: u64,
    /// The messages indexed.
    pub messages: u64,
    /// Sessions that could not be read because their files are gone and were not captured.
    pub lost: u64,
}

impl Archive {
    /// Returns the number of sessions whose text is not indexed.
    pub fn left_to_index(&self) -> Result<usize, ArchiveError> {
        Ok(self.unindexed()?.0.len())
    }

    /// Brings the text index up to date. Calls `progress` for each session that is done.
    pub fn index(&mut self, progress: &dyn Fn()) -> Result<IndexStats, ArchiveError> {
        let mut done = IndexStats::default();
        let (mut pending, gone) = self.unindexed()?;
        self.unindex(&gone)?;
        let mut touched = self.unmarked()?;
        if pending.is_empty() {
            self.mark(&touched)?;
            return Ok(done);
        }
        let (names, tags) = (&self.names()?, &self.tags()?);
        let mut projects = self.projects(&ProjectHints::default())?;
        let mut rest = self.in_order(&pending)?.into_iter().peekable();
        while rest.peek().is_some() {
            let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
            let mut batch = Batch { archive: self, names, tags, touched, done: &mut done };
            let mut settle = self.db.prepare("UPDATE sessions SET indexed = 1 WHERE id = ?1")?;
            let mut size = 0;
            // Sessions that are assembled together belong in one batch.
            while size < BATCH
                && let Some(id) = rest.next()
            {
                if !pending.contains(&id) {
                    // It was assembled together with an earlier one.
                    continue;
                }
                for assembled in self.assembled_with(&id, &mut projects)? {
                    if !pending.remove(&assembled.session.id) {
                        continue;
                    }
                    progress();
                    size += assembled.files.iter().map(|file| file.size.max(1)).sum::<u64>();
                    batch.session(&assembled)?;
                    settle.execute([&assembled.session.id])?;
                }
            }
            touched = batch.touched;
            drop(settle);
            ledger::set_note(&self.db, UNMARKED, &[])?;
            transaction.commit()?;
        }
        self.mark(&touched)?;
        Ok(done)
    }

    /// Returns the ids of sessions, oldest first, with those of one group next to each other.
    fn in_order(&self, wanted: &BTreeSet<String>) -> Result<Vec<String>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT id FROM sessions ORDER BY max(last) OVER (PARTITION BY group_key), group_key, id",
        )?;
        let ids = find.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(ids.into_iter().filter(|id| wanted.contains(id)).collect())
    }

    /// Returns the contents whose copies an interrupted run may not have marked.
    fn unmarked(&self) -> Result<BTreeSet<i64>, ArchiveError> {
        if self.note(UNMARKED)?.is_none() {
            return Ok(BTreeSet::new());
        }
        let mut find = self.db.prepare(
            "SELECT content FROM texts GROUP BY content HAVING count(*) > 1
             UNION SELECT content FROM texts WHERE number IN copies",
        )?;
        Ok(find.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Marks copies after all messages are indexed, so that each content is processed once and not
    /// once per batch.
    fn mark(&self, touched: &BTreeSet<i64>) -> Result<(), ArchiveError> {
        if touched.is_empty() && self.note(UNMARKED)?.is_none() {
            return Ok(());
        }
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        mark_copies(&self.db, touched)?;
        self.db.execute("DELETE FROM notes WHERE key = ?1", [UNMARKED])?;
        transaction.commit()?;
        Ok(())
    }

    /// Removes the whole index, so that the next run rebuilds it.
    pub fn drop_index(&self) -> Result<(), ArchiveError> {
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        self.db.execute_batch(
            "INSERT INTO words (words) VALUES ('delete-all'); DELETE FROM texts; DELETE FROM copies;
             DELETE FROM indexed_sessions; UPDATE sessions SET indexed = 0;",
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the sessions whose text is not indexed, and the index numbers of sessions that no
    /// longer exist.
    fn unindexed(&self) -> Result<(BTreeSet<String>, Vec<i64>), ArchiveError> {
        let mut known: FxHashMap<String, (i64, i64)> = FxHashMap::default();
        let mut find = self.db.prepare("SELECT session, number, label FROM indexed_sessions")?;
        for row in find.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))? {
            let (session, about) = row?;
            known.insert(session, about);
        }
        let (names, tags) = (self.names()?, self.tags()?);
        // Most sessions have neither a name nor a tag.
        let none = label(None, None);
        let mut pending = BTreeSet::new();
        let mut find = self.db.prepare("SELECT id, indexed FROM sessions")?;
        let mut seen: HashSet<i64> = HashSet::new();
        for row in
            find.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?
        {
            let (id, is_indexed) = row?;
            let label = match (names.get(&id), tags.get(&id)) {
                (None, None) => none,
                (name, tags) => label(name, tags),
            };
            match known.get(&id) {
                Some((number, known)) => {
                    seen.insert(*number);
                    if !is_indexed || *known != label {
                        pending.insert(id);
                    }
                }
                None => _ = pending.insert(id),
            }
        }
        let gone =
            known.into_values().map(|(number, _)| number).filter(|n| !seen.contains(n)).collect();
        Ok((pending, gone))
    }

    /// Removes sessions from the index.
    fn unindex(&self, numbers: &[i64]) -> Result<(), ArchiveError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut touched = BTreeSet::new();
        for number in numbers {
            let rows = rows_of(&self.db, *number)?;
            let old: Vec<i64> = rows.values().map(|(number, ..)| *number).collect();
            remove(&self.db, &old)?;
            touched.extend(rows.values().map(|(_, _, content)| *content));
            self.db.execute("DELETE FROM indexed_sessions WHERE number = ?1", [number])?;
        }
        mark_copies(&self.db, &touched)?;
        transaction.commit()?;
        Ok(())
    }

    /// Removes the words of forgotten sessions from the index, not only their rows.
    pub(super) fn purge_index(&self) -> Result<(), ArchiveError> {
        let (_, gone) = self.unindexed()?;
        self.unindex(&gone)?;
        // An interrupted run may have removed the rows but not yet the words.
        self.db.execute_batch("INSERT INTO words (words) VALUES ('optimize')")?;
        Ok(())
    }
}

/// The state of one transaction.
struct Batch<'a> {
    archive: &'a Archive,
    names: &'a HashMap<String, String>,
    tags: &'a HashMap<String, Vec<String>>,
    /// The contents of messages that were added or removed.
    touched: BTreeSet<i64>,
    done: &'a mut IndexStats,
}

impl Batch<'_> {
    fn session(&mut self, assembled: &SessionFacts) -> Result<(), ArchiveError> {
        let db = &self.archive.db;
        let id = &assembled.session.id;
        db.prepare_cached(
            "INSERT OR IGNORE INTO indexed_sessions (session, label) VALUES (?1, 0)",
        )?
        .execute([id])?;
        let session: i64 = db
            .prepare_cached("SELECT number FROM indexed_sessions WHERE session = ?1")?
            .query_row([id], |row| row.get(0))?;
        let mut known = rows_of(db, session)?;
        let mut next =
            known.values().map(|(number, ..)| number + 1).max().unwrap_or(session << BITS);
        let mut wanted: Vec<(&MessageEntry, i64, i64)> = Vec::new();
        for placed in assembled.listed() {
            let stamp = stamp(assembled, placed);
            match known.remove(&placed.facts.id) {
                Some((_, known, _)) if known == stamp => {}
                before => {
                    if let Some((number, _, content)) = before {
                        remove(db, &[number])?;
                        self.touched.insert(content);
                    }
                    let number = before.map_or(next, |(number, ..)| number);
                    next += i64::from(before.is_none());
                    wanted.push((placed, number, stamp));
                }
            }
        }
        let label = known.remove("");
        let old: Vec<i64> = known.values().map(|(number, ..)| *number).collect();
        remove(db, &old)?;
        self.touched.extend(known.values().map(|(_, _, content)| *content));
        match self.messages(assembled, &wanted) {
            Err(ArchiveError::Read(..)) => self.done.lost += 1,
            other => other?,
        }
        // Last, because it has the highest number: FTS5 buffers rows as long as they arrive in
        // order.
        let label = self.label(&assembled.session, session, label, &mut next)?;
        db.prepare_cached("UPDATE indexed_sessions SET label = ?2 WHERE number = ?1")?
            .execute([session, label])?;
        self.done.sessions += 1;
        Ok(())
    }

    /// Indexes the text about the session as a whole. Returns the hash of the user's name and tags
    /// for it.
    fn label(
        &mut self,
        session: &Session,
        number: i64,
        before: Option<(i64, i64, i64)>,
        next: &mut i64,
    ) -> Result<i64, ArchiveError> {
        let db = &self.archive.db;
        let mut session = session.clone();
        session.name = self.names.get(&session.id).cloned();
        session.tags = self.tags.get(&session.id).cloned().unwrap_or_default();
        if let Some((number, ..)) = before {
            remove(db, &[number])?;
        }
        let fields = Fields::of_session(&session);
        if !fields.pieces.is_empty() {
            debug_assert_eq!(*next >> BITS, number);
            let at = session.updated.or(session.started).map(jiff::Timestamp::as_millisecond);
            let row = Row {
                number: before.map_or(*next, |(number, ..)| number),
                content: 0,
                capped: false,
                tools: String::new(),
                columns: columns(&fields),
            };
            *next += 1;
            insert(
                db,
                &row,
                &IndexedMessage {
                    message: "",
                    stamp: 0,
                    at,
                    kind: "session",
                    fate: "kept",
                    model: None,
                },
            )?;
        }
        Ok(label(session.name.as_ref(), Some(&session.tags)))
    }

    /// Reads messages and writes their words, a limited number at a time.
    fn messages(
        &mut self,
        assembled: &SessionFacts,
        wanted: &[(&MessageEntry, i64, i64)],
    ) -> Result<(), ArchiveError> {
        let mut rest = wanted;
        while !rest.is_empty() {
            let mut size = 0;
            let length = |(placed, ..): &(&MessageEntry, i64, i64)| -> u64 {
                placed.places.iter().map(|place| place.span.length()).sum()
            };
            let fits = |one: &&(&MessageEntry, i64, i64)| {
                let first = size == 0;
                size += length(one).max(1);
                first || size <= BATCH
            };
            let count = rest.iter().take_while(fits).count();
            let (now, later) = rest.split_at(count);
            rest = later;
            let placed: Vec<&MessageEntry> = now.iter().map(|(placed, ..)| *placed).collect();
            let read = self
                .archive
                .reader()
                .excerpt(assembled, &placed)
                .map_err(|error| ArchiveError::Read(assembled.session.id.clone(), error))?;
            let mut numbers: HashMap<&str, (i64, i64)> = now
                .iter()
                .map(|(placed, number, stamp)| (placed.facts.id.as_str(), (*number, *stamp)))
                .collect();
            let incoming: Vec<Incoming> = read
                .into_iter()
                .filter_map(|message| {
                    let (number, stamp) = numbers.remove(message.id.as_str())?;
                    Some(Incoming { number, message, stamp })
                })
                .collect();
            self.write(&incoming)?;
        }
        Ok(())
    }

    fn write(&mut self, incoming: &[Incoming]) -> Result<(), ArchiveError> {
        let rows: Vec<Row> = incoming.par_iter().with_min_len(16).map(row).collect();
        for (Incoming { message, stamp, .. }, row) in incoming.iter().zip(&rows) {
            self.touched.insert(row.content);
            self.done.messages += 1;
            let about = IndexedMessage {
                message: &message.id,
                stamp: *stamp,
                at: message.at.map(jiff::Timestamp::as_millisecond),
                kind: message.kind.name(),
                fate: message.fate.name(),
                model: message.model.as_deref(),
            };
            insert(&self.archive.db, row, &about)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Where;

    /// SQLite indexes exactly our tokens.
    #[test]
    fn the_index_holds_exactly_our_tokens() {
        let archive = Archive::in_memory().unwrap();
        let text = "Fix parseHttpHeader in src/main_loop.rs! 日本語 Straße ΣΊΣΥΦΟΣ i\u{307} 1,5 'it''s' \0 \u{1b}[1mé\u{ad}e\u{1b}[0m x\u{a0}y ½ ª ﬁn Ⅷ नमस्ते שָׁלוֹם 🥛";
        let columns = columns(&Fields::of_text(Where::Reply, text));
        let want: Vec<String> = columns[Where::Reply as usize]
            .split(' ')
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
            .collect();
        let row =
            Row { number: 1 << BITS, content: 0, capped: false, tools: String::new(), columns };
        insert(
            &archive.db,
            &row,
            &IndexedMessage {
                message: "m",
                stamp: 0,
                at: None,
                kind: "reply",
                fate: "kept",
                model: None,
            },
        )
        .unwrap();
        archive
            .db
            .execute_batch("CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, words, instance)")
            .unwrap();
        let mut seen = archive
            .db
            .prepare("SELECT term FROM seen WHERE col = 'reply' ORDER BY offset")
            .unwrap();
        let got: Vec<String> =
            seen.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(got, want);
        assert!(got.len() > 25, "{got:?}");
    }
}
