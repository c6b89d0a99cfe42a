//! Reads calls for reports: sums of a quarter of an hour, or single calls.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::calls::SessionCalls;
use super::{Archive, ArchiveError, codec};
use crate::model::{Call, SessionId, SessionKind};
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
    pub(crate) id: SessionId,
    pub(crate) kind: SessionKind,
    pub(crate) parent: Option<SessionId>,
    pub(crate) project: Arc<str>,
    pub(crate) agent: Arc<str>,
    pub(crate) machine: Arc<str>,
}

/// Sessions by the numbers that rows of calls refer to.
pub(crate) type SessionKeys = FxHashMap<i64, SessionKey>;

impl Archive {
    /// Returns the sessions that calls refer to. They are read again only after a change.
    pub(crate) fn session_keys(&self) -> Result<Arc<SessionKeys>, ArchiveError> {
        let state = self.state()?;
        if let Some((read_at, keys)) = &*self.keys.borrow()
            && *read_at == state
        {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(self.read_session_keys()?);
        *self.keys.borrow_mut() = Some((state, Arc::clone(&keys)));
        Ok(keys)
    }

    fn read_session_keys(&self) -> Result<SessionKeys, ArchiveError> {
        let mut find = self
            .db
            .prepare("SELECT number, id, kind, parent, project, agent, machine FROM sessions")?;
        let mut rows = find.query([])?;
        let mut out = SessionKeys::default();
        let mut last: [Arc<str>; 3] = std::array::from_fn(|_| Arc::from(""));
        while let Some(row) = rows.next()? {
            // Sessions of a project mostly follow one another.
            for (n, last) in (4..).zip(&mut last) {
                let text = row.get_ref(n)?.as_str().map_err(rusqlite::Error::from)?;
                if **last != *text {
                    *last = text.into();
                }
            }
            let [project, agent, machine] = last.clone();
            let (id, kind, parent) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let key = SessionKey { id, kind, parent, project, agent, machine };
            out.insert(row.get(0)?, key);
        }
        Ok(out)
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
        self.each_details(period, |session, body| {
            let stored: StoredCalls<'_> = codec::decode(body, "a session")?;
            for call in stored.calls.iter().filter(|call| is_inside(call.at)) {
                each(&single(session, call, &stored));
            }
            Ok(())
        })
    }

    /// Passes the stored [`SessionCalls`] of the sessions that may have calls in a period to `each`.
    pub(super) fn each_details(
        &self,
        period: &Period,
        mut each: impl FnMut(i64, &[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT number, details.body FROM sessions JOIN details ON session = number
             WHERE (?1 IS NULL OR last >= ?1) AND (?2 IS NULL OR first < ?2)",
        )?;
        let mut rows = find.query(params![bound(period.since), bound(period.until)])?;
        while let Some(row) = rows.next()? {
            let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            each(row.get(0)?, &calls(body)?)?;
        }
        Ok(())
    }

    /// Returns the calls of a session by its number.
    pub(crate) fn session_calls(&self, session: i64) -> Result<SessionCalls, ArchiveError> {
        let mut find = self.db.prepare_cached("SELECT body FROM details WHERE session = ?1")?;
        let body: Option<Vec<u8>> = find.query_row([session], |row| row.get(0)).optional()?;
        body.map_or_else(
            || Ok(SessionCalls::default()),
            |body| codec::decode(&calls(&body)?, "a session"),
        )
    }
}

/// Returns the encoded [`SessionCalls`] of a row.
fn calls(body: &[u8]) -> Result<Cow<'_, [u8]>, ArchiveError> {
    codec::expand(body, codec::MOST_BYTES, "a session")
}

fn bound(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millisecond)
}

/// The calls of a session as reports need them: the beginning of [`SessionCalls`], without copies of its texts.
#[derive(Deserialize)]
struct StoredCalls<'a> {
    #[serde(borrow)]
    models: Vec<&'a str>,
    #[serde(borrow)]
    prompts: Vec<(&'a str, &'a str)>,
    #[serde(borrow)]
    calls: Vec<Call<&'a str>>,
}

fn single<'a>(session: i64, call: &Call<&str>, stored: &StoredCalls<'a>) -> CallRow<'a> {
    let prompt = call.prompt.and_then(|prompt| stored.prompts.get(prompt as usize));
    let model = call.model.and_then(|model| stored.models.get(model as usize));
    let count = u64::from(!call.is_extra);
    CallRow {
        session,
        at: call.at,
        model: model.copied(),
        calls: Calls { count, ..Calls::one(&call.usage, call.service) },
        undated: u64::from(call.undated && !call.is_extra),
        at_least: call.at_least,
        prompt: prompt.copied(),
        current: call.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Service, Usage};

    #[test]
    fn reports_read_the_calls_that_were_stored() {
        let call = |message: &str, prompt| Call {
            message: message.into(),
            prompt,
            at: Timestamp::from_millisecond(1_700_000_000_000).ok(),
            undated: true,
            model: Some(0),
            usage: Usage { input: 300, output: 7, ..Usage::default() },
            service: Service::default(),
            at_least: true,
            current: false,
            is_extra: false,
        };
        let all = SessionCalls {
            models: vec!["a model".to_owned()],
            prompts: vec![("p".into(), "what was typed".to_owned())],
            calls: vec![call("m1", Some(0)), call("m2", None)],
            tools: Vec::new(),
        };
        let body = codec::encode(&all, "").unwrap();
        let stored: StoredCalls<'_> = codec::decode(&body, "").unwrap();
        assert_eq!(stored.models, all.models);
        assert_eq!(stored.prompts, [("p", "what was typed")]);
        assert_eq!(
            codec::encode(&stored.calls, "").unwrap(),
            codec::encode(&all.calls, "").unwrap()
        );
    }
}
