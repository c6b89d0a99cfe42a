//! Stores the activity of sessions. It is read from their text when a report first needs it, and
//! again after the session has changed.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::activity_parts::{self, ActivityPart, READ};
use super::{Archive, ArchiveError};
use crate::activity::Activity;
use crate::assemble::SessionFacts;
use crate::model::SessionId;

/// The number of sessions that are read before the result is written.
const BATCH: usize = 256;

/// The stored activity of sessions.
pub(crate) struct Activities<'a> {
    archive: &'a Archive,
    /// The numbers of all sessions.
    numbers: FxHashMap<SessionId, i64>,
    /// The activity of sessions for which none is stored.
    unstored: FxHashMap<SessionId, Activity>,
}

impl Activities<'_> {
    /// Returns a part of the activity of each session, in the order of `ids`.
    pub(crate) fn parts<T: ActivityPart>(
        &self,
        ids: &[SessionId],
    ) -> Result<impl Iterator<Item = T>, ArchiveError> {
        let places = ids.iter().enumerate().filter_map(|(n, id)| Some((*self.numbers.get(id)?, n)));
        let places: FxHashMap<i64, usize> = places.collect();
        let mut parts: Vec<T> = Vec::new();
        parts.resize_with(ids.len(), T::default);
        let kind = activity_parts::numbers(T::KIND);
        let sql = "SELECT number, body FROM activity WHERE number >= ?1 AND number < ?2";
        let mut find = self.archive.db.prepare_cached(sql)?;
        let mut rows = find.query([kind.start, kind.end])?;
        while let Some(row) = rows.next()? {
            let session = row.get::<_, i64>(0)? - kind.start;
            let Some(place) = places.get(&session) else { continue };
            let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            parts[*place] = match activity_parts::decode(body, "") {
                Ok(part) => part,
                Err(_) => self.read_again(&ids[*place])?,
            };
        }
        for (part, id) in parts.iter_mut().zip(ids) {
            if let Some(activity) = self.unstored.get(id) {
                *part = T::of(activity);
            }
        }
        Ok(parts.into_iter())
    }

    /// Returns a part of the activity of a session.
    pub(crate) fn part<T: ActivityPart>(&self, id: &SessionId) -> Result<T, ArchiveError> {
        if let Some(activity) = self.unstored.get(id) {
            return Ok(T::of(activity));
        }
        let Some(session) = self.numbers.get(id) else { return Ok(T::default()) };
        let sql = "SELECT body FROM activity WHERE number = ?1";
        let mut find = self.archive.db.prepare_cached(sql)?;
        let found = find.query_row([activity_parts::number(T::KIND, *session)], |row| {
            Ok(activity_parts::decode(row.get_ref(0)?.as_blob()?, id))
        });
        match found.optional()? {
            Some(Ok(part)) => Ok(part),
            None => Ok(T::default()),
            Some(Err(_)) => self.read_again(id),
        }
    }

    /// Reads a part of the activity of a session from its text, because what is stored cannot be decoded.
    fn read_again<T: ActivityPart>(&self, id: &SessionId) -> Result<T, ArchiveError> {
        let mut part = T::default();
        self.archive.each_assembled(std::slice::from_ref(id), |session| {
            let activity = self.archive.activity_of(&session);
            part = T::of(&activity.unwrap_or_else(|partial| partial));
            Ok(())
        })?;
        Ok(part)
    }
}

/// Removes the activity of a session.
pub(super) fn remove(db: &Connection, session: i64) -> rusqlite::Result<()> {
    let mut remove = db.prepare_cached("DELETE FROM activity WHERE number = ?1")?;
    for kind in activity_parts::KINDS {
        remove.execute([activity_parts::number(*kind, session)])?;
    }
    Ok(())
}

impl Archive {
    /// Returns the activity of sessions, after reading and storing that of the sessions for which none is stored.
    /// Texts that cannot be read are left out and counted in [`Self::unread`].
    pub(crate) fn activities(&self, ids: &[SessionId]) -> Result<Activities<'_>, ArchiveError> {
        let mut find = self.db.prepare("SELECT id, number FROM sessions")?;
        let numbers = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let numbers = numbers.collect::<Result<FxHashMap<SessionId, i64>, _>>()?;
        let read = activity_parts::numbers(READ);
        let sql = "SELECT number - ?1 FROM activity WHERE number >= ?1 AND number < ?2";
        let mut find = self.db.prepare(sql)?;
        let stored = find.query_map([read.start, read.end], |row| row.get(0))?;
        let stored = stored.collect::<Result<FxHashSet<i64>, _>>()?;
        let is_missing = |id: &&SessionId| numbers.get(*id).is_some_and(|n| !stored.contains(n));
        let missing: Vec<SessionId> = ids.iter().filter(is_missing).cloned().collect();
        let unstored = self.read_activity(&missing, &numbers)?;
        Ok(Activities { archive: self, numbers, unstored })
    }

    /// Reads and stores the activity of sessions. Returns what could not be stored.
    fn read_activity(
        &self,
        ids: &[SessionId],
        numbers: &FxHashMap<SessionId, i64>,
    ) -> Result<FxHashMap<SessionId, Activity>, ArchiveError> {
        let mut unstored = FxHashMap::default();
        for batch in ids.chunks(BATCH) {
            let before = self.data_version()?;
            let mut read = Vec::new();
            self.each_assembled(batch, |session| {
                let id = session.session.id.clone();
                match self.activity_of(&session) {
                    Ok(activity) => read.push((id, activity)),
                    Err(partial) => _ = unstored.insert(id, partial),
                }
                Ok(())
            })?;
            if !self.store_activity(&read, numbers, before)? {
                unstored.extend(read);
            }
        }
        Ok(unstored)
    }

    /// Reads the activity of a session. If its text cannot be read, the error is what is known
    /// without it.
    fn activity_of(&self, session: &SessionFacts) -> Result<Activity, Activity> {
        Activity::read(session, self.reader()).map_err(|_| {
            self.pass_over();
            Activity::without_text(session)
        })
    }

    /// Stores the activity of sessions, unless the archive cannot be written, or another process
    /// has changed it since `before`: the sessions may have changed too.
    fn store_activity(
        &self,
        read: &[(SessionId, Activity)],
        numbers: &FxHashMap<SessionId, i64>,
        before: i64,
    ) -> Result<bool, ArchiveError> {
        if self.read_only {
            return Ok(false);
        }
        let begun = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate);
        let transaction = match begun.map_err(ArchiveError::from) {
            Err(error) if error.passes() => return Ok(false),
            begun => begun?,
        };
        if self.data_version()? != before {
            return Ok(false);
        }
        let mut insert = self.db.prepare("INSERT OR REPLACE INTO activity VALUES (?1, ?2)")?;
        for (id, activity) in read {
            let Some(session) = numbers.get(id) else { continue };
            for (kind, body) in activity_parts::encode(activity, id)? {
                insert.execute(params![activity_parts::number(kind, *session), body])?;
            }
        }
        transaction.commit()?;
        Ok(true)
    }

    /// Returns a number that changes when another connection changes the archive.
    #[doc(hidden)]
    pub fn data_version(&self) -> Result<i64, ArchiveError> {
        Ok(self.db.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}
