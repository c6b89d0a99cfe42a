//! Marks messages that repeat those of other sessions, so that a search finds each once.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use rusqlite::Connection;

use crate::id::is_unique;

/// The most contents that are remembered. Of more, those that occur several times are looked up, which are few.
const MOST: usize = 1 << 14;

/// The contents of messages that were added or removed, so that their copies have to be marked.
#[derive(Default)]
pub(super) struct Touched {
    contents: BTreeSet<i64>,
    /// Whether there were more than are remembered.
    has_more: bool,
}

impl Touched {
    pub(super) fn is_empty(&self) -> bool {
        self.contents.is_empty() && !self.has_more
    }

    /// Touches all contents.
    pub(super) fn add_all(&mut self) {
        self.has_more = true;
        self.contents.clear();
    }

    /// Returns the contents whose copies have to be marked.
    fn take(&mut self, db: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
        if !mem::take(&mut self.has_more) {
            return Ok(mem::take(&mut self.contents));
        }
        let mut find = db.prepare(
            "SELECT content FROM texts GROUP BY content HAVING count(*) > 1
             UNION SELECT content FROM texts WHERE number IN copies",
        )?;
        find.query_map([], |row| row.get(0))?.collect()
    }
}

impl Extend<i64> for Touched {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, contents: I) {
        if !self.has_more {
            self.contents.extend(contents);
        }
        if self.contents.len() > MOST {
            self.add_all();
        }
    }
}

/// Marks the messages that only repeat the same content in another session: those of saved chats,
/// and imported messages that have kept their unique id.
pub(super) fn mark_copies(db: &Connection, touched: &mut Touched) -> rusqlite::Result<()> {
    // Sessions in the order in which they may repeat each other, with the messages of each
    // together.
    let mut find = db.prepare_cached(
        "SELECT texts.number, message, kind_of.kind = 'checkpoint', indexed_sessions.number
         FROM texts JOIN indexed_sessions ON indexed_sessions.number = texts.number >> 24
         JOIN sessions kind_of ON kind_of.id = indexed_sessions.session
         WHERE content = ?1
         ORDER BY kind_of.kind = 'checkpoint', kind_of.first IS NULL, kind_of.first, kind_of.id",
    )?;
    let mut count = db.prepare_cached("SELECT count(*) FROM texts WHERE content = ?1")?;
    let mut lone = db.prepare_cached(
        "DELETE FROM copies WHERE number = (SELECT number FROM texts WHERE content = ?1)",
    )?;
    let mut mark = db.prepare_cached("INSERT OR IGNORE INTO copies VALUES (?1)")?;
    let mut unmark = db.prepare_cached("DELETE FROM copies WHERE number = ?1")?;
    for content in touched.take(db)?.into_iter().filter(|content| *content != 0) {
        // Nearly every content occurs only once.
        if count.query_row([content], |row| row.get::<_, i64>(0))? < 2 {
            lone.execute([content])?;
            continue;
        }
        let mut copies = Copies::default();
        let mut rows = find.query([content])?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            let (message, is_saved) = (row.get_ref(1)?.as_str()?, row.get(2)?);
            if copies.repeats(message, is_saved, row.get(3)?) {
                mark.execute([number])?;
            } else {
                unmark.execute([number])?;
            }
        }
    }
    Ok(())
}

/// The messages with one content that were seen so far.
#[derive(Default)]
struct Copies {
    /// The first session that contains any of them.
    first: Option<i64>,
    /// The first session that contains each message.
    of: HashMap<String, i64>,
}

impl Copies {
    /// Returns whether a message of `session` repeats one of an earlier session.
    fn repeats(&mut self, message: &str, is_saved: bool, session: i64) -> bool {
        let first = *self.first.get_or_insert(session);
        if is_saved && first != session {
            return true;
        }
        if !is_unique(message) {
            return false;
        }
        *self.of.entry(message.to_owned()).or_insert(session) != session
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;

    #[test]
    fn of_too_many_contents_only_those_that_repeat_are_marked() {
        let archive = Archive::in_memory().unwrap();
        let mut insert = archive
            .db
            .prepare("INSERT INTO texts VALUES (?1, '', 0, ?2, NULL, '', '', NULL, '', 0)")
            .unwrap();
        for (number, content) in [(1, 7), (2, 7), (3, 8), (4, 9)] {
            insert.execute([number, content]).unwrap();
        }
        // The other message with this content was removed.
        archive.db.execute("INSERT INTO copies VALUES (4)", []).unwrap();
        let mut touched = Touched::default();
        touched.extend([7, 8]);
        assert_eq!(touched.take(&archive.db).unwrap(), [7, 8].into());
        assert!(touched.is_empty());
        for content in 0..=20_000 {
            touched.extend([content]);
        }
        assert!(!touched.is_empty() && touched.contents.is_empty());
        assert_eq!(touched.take(&archive.db).unwrap(), [7, 9].into());
        assert!(touched.is_empty());
    }
}
