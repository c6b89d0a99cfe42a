//! Fills the text index: the words of every message, each message once.
//!
//! Only changes are read: a session's row loses its mark when one of its sources changes, and only
//! those messages of the session are read whose records have moved. Text is read in batches
//! (`indexer`), and each batch is written in one transaction.

mod copies;
mod indexer;
mod rows;
mod stamps;

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Transaction, TransactionBehavior};
use rustc_hash::FxHashMap;

use self::copies::{Touched, mark_copies};
use self::indexer::Indexer;
use self::rows::{remove, rows_of};
use self::stamps::label;
use super::{Archive, ArchiveError};
use crate::model::SessionId;
use crate::projects::ProjectHints;

/// The number of index rows a session can have, as a power of two.
pub(super) const BITS: u32 = 24;

/// The number of times that text is read again because another process changed the archive in the meantime.
/// After that, the archive is locked while text is read.
const RETRIES: usize = 3;

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
        let mut touched = Touched::default();
        // An interrupted run may not have marked copies.
        if self.note(UNMARKED)?.is_some() {
            touched.add_all();
        }
        if pending.is_empty() {
            self.mark(&mut touched)?;
            return Ok(done);
        }
        for attempt in 0..=RETRIES {
            let mut indexer = Indexer::new(self, touched, done, attempt == RETRIES)?;
            self.index_sessions(&mut pending, &mut indexer, progress)?;
            let has_dropped;
            (touched, done, has_dropped) = indexer.finish()?;
            if !has_dropped {
                break;
            }
            pending = self.unindexed()?.0;
        }
        self.mark(&mut touched)?;
        Ok(done)
    }

    /// Indexes the pending sessions.
    fn index_sessions(
        &self,
        pending: &mut BTreeSet<SessionId>,
        indexer: &mut Indexer<'_>,
        progress: &dyn Fn(),
    ) -> Result<(), ArchiveError> {
        let mut projects = self.projects(&ProjectHints::default())?;
        for id in self.in_order(pending)? {
            if !pending.contains(&id) {
                // It was assembled together with an earlier one.
                continue;
            }
            indexer.begin()?;
            for assembled in self.assembled_with(&id, &mut projects)? {
                if pending.remove(&assembled.session.id) {
                    indexer.session(&assembled)?;
                    progress();
                }
            }
        }
        Ok(())
    }

    /// Returns the ids of sessions, oldest first, with those of one group next to each other.
    fn in_order(&self, wanted: &BTreeSet<SessionId>) -> Result<Vec<SessionId>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT id FROM sessions ORDER BY max(last) OVER (PARTITION BY group_key), group_key, id",
        )?;
        let ids = find.query_map([], |row| row.get(0))?.collect::<Result<Vec<SessionId>, _>>()?;
        Ok(ids.into_iter().filter(|id| wanted.contains(id)).collect())
    }

    /// Marks copies after all messages are indexed, so that each content is processed once and not
    /// once per batch.
    fn mark(&self, touched: &mut Touched) -> Result<(), ArchiveError> {
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
    fn unindexed(&self) -> Result<(BTreeSet<SessionId>, Vec<i64>), ArchiveError> {
        if self.is_indexed()? {
            return Ok((BTreeSet::new(), Vec::new()));
        }
        let mut known: FxHashMap<SessionId, (i64, i64)> = FxHashMap::default();
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
            find.query_map([], |row| Ok((row.get::<_, SessionId>(0)?, row.get::<_, bool>(1)?)))?
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

    /// Returns whether every session is certainly indexed as it is now, without looking at each one. An indexed
    /// session has a row in the index, so there are no others if there are as many.
    fn is_indexed(&self) -> Result<bool, ArchiveError> {
        let state = self.state()?;
        if self.indexed.get() == Some(state) {
            return Ok(true);
        }
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM sessions WHERE NOT indexed)
             AND (SELECT count(*) FROM (SELECT DISTINCT id FROM sessions)) = (SELECT count(*) FROM indexed_sessions)
             AND NOT EXISTS (SELECT 1 FROM indexed_sessions WHERE label != ?1)
             AND NOT EXISTS (SELECT 1 FROM names WHERE name != '')
             AND NOT EXISTS (SELECT 1 FROM tags WHERE removed IS NULL)";
        // A label is compared one by one, but most people have none.
        let is_indexed = self.db.query_row(sql, [label(None, None)], |row| row.get(0))?;
        self.indexed.set(Some(state).filter(|_| is_indexed));
        Ok(is_indexed)
    }

    /// Removes sessions from the index.
    fn unindex(&self, numbers: &[i64]) -> Result<(), ArchiveError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut touched = Touched::default();
        for number in numbers {
            let rows = rows_of(&self.db, *number)?;
            let old: Vec<i64> = rows.values().map(|(number, ..)| *number).collect();
            remove(&self.db, &old)?;
            touched.extend(rows.values().map(|(_, _, content)| *content));
            self.db.execute("DELETE FROM indexed_sessions WHERE number = ?1", [number])?;
        }
        mark_copies(&self.db, &mut touched)?;
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

#[cfg(test)]
mod tests {
    use super::rows::{Row, insert};
    use super::*;
    use crate::search::{Fields, Where};

    /// SQLite indexes exactly our tokens.
    #[test]
    fn the_index_holds_exactly_our_tokens() {
        let archive = Archive::in_memory().unwrap();
        let text = "Fix parseHttpHeader in src/main_loop.rs! 日本語 Straße ΣΊΣΥΦΟΣ i\u{307} 1,5 'it''s' \0 \u{1b}[1mé\u{ad}e\u{1b}[0m x\u{a0}y ½ ª ﬁn Ⅷ नमस्ते שָׁלוֹם 🥛";
        let row = Row::of_session(None, None, &Fields::of_text(Where::Reply, text));
        let want: Vec<String> = row.columns[Where::Reply as usize]
            .split(' ')
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
            .collect();
        insert(&archive.db, 1 << BITS, &row).unwrap();
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

    /// A longer one would take a page more.
    #[test]
    fn a_block_of_the_index_fits_into_a_page() {
        let archive = Archive::in_memory().unwrap();
        for n in 0..100 {
            let words: Vec<String> = (0..400).map(|word| format!("w{}", word * 977 + n)).collect();
            let row = Row::of_session(None, None, &Fields::of_text(Where::Reply, &words.join(" ")));
            insert(&archive.db, (1 << BITS) + n, &row).unwrap();
        }
        archive.db.execute_batch("INSERT INTO words (words) VALUES ('optimize')").unwrap();
        let longest = "SELECT max(length(block)) FROM words_data";
        let longest: i64 = archive.db.query_row(longest, [], |row| row.get(0)).unwrap();
        // A page of 4096 bytes, less its checksum, SQLite's overhead per row, and the row's header.
        assert!((4000..=4096 - 8 - 35 - 4).contains(&longest), "{longest}");
    }
}
