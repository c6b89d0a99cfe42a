//! Stores the user's own names and tags for sessions.
//!
//! A cleared name or a removed tag leaves a row behind, so that merging an older archive does not
//! bring it back.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::params;

use super::{Archive, ArchiveError};
use crate::model::SessionId;

impl Archive {
    /// Names a session; `None` clears the name.
    pub fn set_name(
        &mut self,
        session: &str,
        name: Option<&str>,
        now: Timestamp,
    ) -> Result<(), ArchiveError> {
        let _lock = self.write_lock()?;
        self.db.execute(
            "INSERT OR REPLACE INTO names VALUES (?1, ?2, ?3)",
            params![session, name.unwrap_or_default(), now.as_millisecond()],
        )?;
        Ok(())
    }

    /// Adds a tag to a session.
    pub fn add_tag(
        &mut self,
        session: &str,
        tag: &str,
        now: Timestamp,
    ) -> Result<(), ArchiveError> {
        let _lock = self.write_lock()?;
        self.db.execute(
            "INSERT INTO tags VALUES (?1, ?2, ?3, NULL) ON CONFLICT DO UPDATE
             SET at = excluded.at, removed = NULL WHERE removed IS NOT NULL",
            params![session, tag, now.as_millisecond()],
        )?;
        Ok(())
    }

    /// Removes a tag from a session. Returns false if the session did not have the tag.
    pub fn remove_tag(
        &mut self,
        session: &str,
        tag: &str,
        now: Timestamp,
    ) -> Result<bool, ArchiveError> {
        let _lock = self.write_lock()?;
        let sql =
            "UPDATE tags SET removed = ?3 WHERE session = ?1 AND tag = ?2 AND removed IS NULL";
        Ok(self.db.execute(sql, params![session, tag, now.as_millisecond()])? > 0)
    }

    pub(super) fn names(&self) -> Result<HashMap<SessionId, String>, ArchiveError> {
        let mut find = self.db.prepare("SELECT session, name FROM names WHERE name != ''")?;
        let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(super) fn tags(&self) -> Result<HashMap<SessionId, Vec<String>>, ArchiveError> {
        let sql = "SELECT session, tag FROM tags WHERE removed IS NULL ORDER BY tag";
        let mut find = self.db.prepare(sql)?;
        let mut out: HashMap<SessionId, Vec<String>> = HashMap::new();
        for row in find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (session, tag): (SessionId, String) = row?;
            out.entry(session).or_default().push(tag);
        }
        Ok(out)
    }
}
