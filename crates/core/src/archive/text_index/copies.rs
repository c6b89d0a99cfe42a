//! Marks messages that repeat those of other sessions, so that a search finds each once.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use crate::id::is_unique;

/// Marks the messages that only repeat the same content in another session: those of saved chats,
/// and imported messages that have kept their unique id.
pub(super) fn mark_copies(db: &Connection, touched: &BTreeSet<i64>) -> rusqlite::Result<()> {
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
    for content in touched.iter().filter(|content| **content != 0) {
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
