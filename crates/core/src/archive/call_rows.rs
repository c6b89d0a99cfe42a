//! Reads calls for reports: sums of a quarter of an hour, or single calls.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::calls::SessionCalls;
use super::{Archive, ArchiveError, codec};
use crate::model::{Call, SessionKind};
use crate::pricing::Calls;
use crate::time::Period;

/// Calls of one session that share a model, a class of price and a quarter of an hour, or a single
/// call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRow<'a> {
    /// The number of its session in [`SessionKeys`].
    pub(crate) session: i64,
    pub(crate) at: Option<Timestamp>,
    pub(crate) model: Option<&'a str>,
    pub(crate) calls: Calls,
    /// The number of calls without a time of their own.
    pub(crate) undated: u64,
    pub(crate) at_least: bool,
    /// For a single call, the id and the beginning of the prompt that led to it.
    pub(crate) prompt: Option<(&'a str, &'a str)>,
    /// Whether the agent would still load it; unknown for a sum.
    pub(crate) current: bool,
}

/// The values of a session that calls are grouped by.
#[derive(Debug, Clone)]
pub(crate) struct SessionKey {
    pub(crate) id: String,
    pub(crate) kind: SessionKind,
    pub(crate) parent: Option<String>,
    pub(crate) project: String,
    pub(crate) agent: String,
    pub(crate) machine: String,
}

/// Sessions by the numbers that rows of calls refer to.
pub(crate) type SessionKeys = FxHashMap<i64, SessionKey>;

impl Archive {
    /// Returns the sessions that calls refer to.
    pub(crate) fn session_keys(&self) -> Result<SessionKeys, ArchiveError> {
        let mut find = self
            .db
            .prepare("SELECT number, id, kind, parent, project, agent, machine FROM sessions")?;
        let rows = find.query_map([], |row| {
            let key = SessionKey {
                id: row.get(1)?,
                kind: row.get(2)?,
                parent: row.get(3)?,
                project: row.get(4)?,
                agent: row.get(5)?,
                machine: row.get(6)?,
            };
            Ok((row.get(0)?, key))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Passes all single calls in a period to `each`.
    pub(crate) fn each_call(
        &self,
        period: &Period,
        mut each: impl FnMut(&CallRow<'_>),
    ) -> Result<(), ArchiveError> {
        let (since, until) = (bound(period.since), bound(period.until));
        let is_inside = |at: Option<Timestamp>| match bound(at) {
            Some(at) => {
                since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
            }
            None => period.is_everything(),
        };
        self.each_details(period, |session, details| {
            for call in details.calls.iter().filter(|call| is_inside(call.at)) {
                each(&single(session, call, &details));
            }
        })
    }

    /// Passes the contents of the sessions that may have calls in a period to `each`.
    pub(super) fn each_details(
        &self,
        period: &Period,
        mut each: impl FnMut(i64, SessionCalls),
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT number, details.body FROM sessions JOIN details ON session = number
             WHERE (?1 IS NULL OR last >= ?1) AND (?2 IS NULL OR first < ?2)",
        )?;
        let mut rows = find.query(params![bound(period.since), bound(period.until)])?;
        while let Some(row) = rows.next()? {
            let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            each(row.get(0)?, codec::decode(body, "a session")?);
        }
        Ok(())
    }

    /// Returns the calls of a session by its number.
    pub(crate) fn session_calls(&self, session: i64) -> Result<SessionCalls, ArchiveError> {
        let mut find = self.db.prepare_cached("SELECT body FROM details WHERE session = ?1")?;
        let body: Option<Vec<u8>> = find.query_row([session], |row| row.get(0)).optional()?;
        body.map_or_else(|| Ok(SessionCalls::default()), |body| codec::decode(&body, "a session"))
    }
}

fn bound(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millisecond)
}

fn single<'a>(session: i64, call: &Call, details: &'a SessionCalls) -> CallRow<'a> {
    let prompt = call.prompt.and_then(|prompt| details.prompts.get(prompt as usize));
    let model = call.model.and_then(|model| details.models.get(model as usize));
    let count = u64::from(!call.is_extra);
    CallRow {
        session,
        at: call.at,
        model: model.map(String::as_str),
        calls: Calls { count, ..Calls::one(&call.usage, call.service) },
        undated: u64::from(call.undated && !call.is_extra),
        at_least: call.at_least,
        prompt: prompt.map(|(id, text)| (id.as_str(), text.as_str())),
        current: call.current,
    }
}
