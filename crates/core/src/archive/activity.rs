//! Stores the activity of sessions. It is read from their text when a report first needs it, and
//! again after the session has changed.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Archive, ArchiveError, codec};
use crate::activity::{Activity, FailedCall, Run, TypedText};
use crate::assemble::SessionFacts;

/// The number of sessions that are read before the result is written.
const BATCH: usize = 256;

/// The most bytes of text that the activity of one session may have.
const MOST_BYTES: usize = 1 << 30;

/// A part of the activity of a session. Each has a column of its own, because a report needs only one.
pub(crate) trait ActivityPart: DeserializeOwned {
    /// The name of the column.
    const COLUMN: &str;

    /// Returns the part of an activity.
    fn of(activity: Activity) -> Self;
}

impl ActivityPart for Vec<TypedText> {
    const COLUMN: &str = "prompts";

    fn of(activity: Activity) -> Self {
        activity.prompts
    }
}

impl ActivityPart for Vec<Run> {
    const COLUMN: &str = "runs";

    fn of(activity: Activity) -> Self {
        activity.runs
    }
}

impl ActivityPart for Vec<FailedCall> {
    const COLUMN: &str = "failures";

    fn of(activity: Activity) -> Self {
        activity.failures
    }
}

impl Archive {
    /// Passes a part of the activity of sessions to `each`, in the order of `ids`. Texts that cannot
    /// be read are left out and counted in [`Self::unread`].
    pub(crate) fn each_activity<T: ActivityPart>(
        &self,
        ids: &[String],
        mut each: impl FnMut(&str, T),
    ) -> Result<(), ArchiveError> {
        let mut unstored = self.read_activity(ids)?;
        let mut find = self.db.prepare(&format!(
            "SELECT {} FROM activity JOIN sessions ON number = session WHERE id = ?1",
            T::COLUMN
        ))?;
        for id in ids {
            if let Some(activity) = unstored.remove(id) {
                each(id, T::of(activity));
                continue;
            }
            let stored = find.query_row([id], |row| {
                let body = row.get_ref(0)?.as_blob()?;
                Ok((!body.is_empty()).then(|| unpack(body, id)))
            });
            match stored.optional()?.flatten() {
                Some(Ok(part)) => each(id, part),
                Some(Err(_)) => self.each_assembled(std::slice::from_ref(id), |session| {
                    each(id, T::of(self.activity(&session).unwrap_or_else(|partial| partial)));
                    Ok(())
                })?,
                None => {}
            }
        }
        Ok(())
    }

    /// Reads and stores the activity of the sessions for which none is stored. Returns what could
    /// not be stored.
    fn read_activity(&self, ids: &[String]) -> Result<HashMap<String, Activity>, ArchiveError> {
        let mut unstored = HashMap::new();
        let mut find = self.db.prepare(
            "SELECT id, number FROM sessions WHERE number NOT IN (SELECT session FROM activity)",
        )?;
        let numbers = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let numbers = numbers.collect::<Result<HashMap<String, i64>, _>>()?;
        let missing: Vec<String> =
            ids.iter().filter(|id| numbers.contains_key(*id)).cloned().collect();
        for batch in missing.chunks(BATCH) {
            let before = self.data_version()?;
            let mut read = Vec::new();
            self.each_assembled(batch, |session| {
                let id = session.session.id.clone();
                match self.activity(&session) {
                    Ok(activity) => read.push((id, activity)),
                    Err(partial) => _ = unstored.insert(id, partial),
                }
                Ok(())
            })?;
            if !self.store_activity(&read, &numbers, before)? {
                unstored.extend(read);
            }
        }
        Ok(unstored)
    }

    /// Reads the activity of a session. If its text cannot be read, the error is what is known
    /// without it.
    fn activity(&self, session: &SessionFacts) -> Result<Activity, Activity> {
        Activity::read(session, self.reader()).map_err(|_| {
            self.pass_over();
            Activity::without_text(session)
        })
    }

    /// Stores the activity of sessions, unless the archive cannot be written, or another process
    /// has changed it since `before`: the sessions may have changed too.
    fn store_activity(
        &self,
        read: &[(String, Activity)],
        numbers: &HashMap<String, i64>,
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
        let mut insert = self.db.prepare(
            "INSERT OR REPLACE INTO activity (session, failures, runs, prompts) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for (id, Activity { prompts, runs, failures }) in read {
            let number = numbers.get(id);
            insert.execute(params![
                number,
                pack(failures, id)?,
                pack(runs, id)?,
                pack(prompts, id)?
            ])?;
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

/// Encodes a list. An empty one has no bytes.
fn pack(list: &[impl Serialize], id: &str) -> Result<Vec<u8>, ArchiveError> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    codec::compress(&codec::encode(&list, id)?, id)
}

fn unpack<T: DeserializeOwned>(body: &[u8], id: &str) -> Result<T, ArchiveError> {
    codec::decompress(body, MOST_BYTES, id).and_then(|body| codec::decode(&body, id))
}
