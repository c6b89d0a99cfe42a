//! Stores the calls of a session in sums: by quarter of an hour, model, service and prompt size, which is
//! enough for most reports.

use std::collections::BTreeSet;
use std::hash::Hash;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap as HashMap;
use serde::{Deserialize, Serialize};

use super::call_rows::CallRow;
use super::calls::SessionCalls;
use super::{Archive, ArchiveError, codec};
use crate::model::{Call, Service, Usage};
use crate::pricing::{Calls, Table};
use crate::time::Period;

/// The duration whose calls share one sum. Offsets of time zones are multiples of it.
pub(crate) const SLOT: i64 = 15 * 60 * 1000;

/// The prompt sizes at which the price of a call may change. A price table with other limits is
/// applied call by call.
const TIER_LIMITS: [u64; 4] = [100_000, 128_000, 200_000, 272_000];

/// The sums of a session. They share a row, because reports read all of them.
#[derive(Debug, Serialize, Deserialize)]
struct Sums<'a> {
    /// The models that calls name.
    #[serde(borrow)]
    models: Vec<&'a str>,
    sums: Vec<Sum>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sum {
    /// Milliseconds since 1970, UTC; `None` if not even the file has a time.
    at: Option<i64>,
    /// The index of the model.
    model: Option<u32>,
    service: Service,
    /// The largest prompt among the calls; all are of one class of price.
    prompt: u64,
    calls: u64,
    /// How many of them had anything cached, or no time of their own.
    caching: u64,
    undated: u64,
    at_least: bool,
    usage: Usage,
}

/// Stores the sums of a session; `id` names it in the error.
pub(super) fn put(
    db: &Connection,
    session: i64,
    detail: &SessionCalls,
    id: &str,
) -> Result<(), ArchiveError> {
    let sums: Vec<Sum> = add_up(detail, |_| Some(())).into_iter().map(|((), sum)| sum).collect();
    if sums.is_empty() {
        return Ok(());
    }
    let (first, last) = span(&sums);
    let models = detail.models.iter().map(String::as_str).collect();
    let body = codec::encode(&Sums { models, sums }, id)?;
    db.prepare_cached("INSERT INTO rollup VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session, first, last, body])?;
    Ok(())
}

/// Returns the first and the last quarter of an hour with calls.
pub(super) fn span<'a>(
    sums: impl IntoIterator<Item = &'a Sum, IntoIter: Clone>,
) -> (Option<i64>, Option<i64>) {
    let times = sums.into_iter().filter_map(|sum| sum.at);
    (times.clone().min(), times.max())
}

/// Adds up the calls that have a key, by key, quarter of an hour, model, service and prompt size.
pub(super) fn add_up<K: Copy + Ord + Hash>(
    detail: &SessionCalls,
    key: impl Fn(&Call) -> Option<K>,
) -> Vec<(K, Sum)> {
    let mut sums = HashMap::default();
    for call in &detail.calls {
        let Some(key) = key(call) else { continue };
        let prompt = call.usage.prompt();
        let at = call.at.map(|at| at.as_millisecond().div_euclid(SLOT) * SLOT);
        let class = TIER_LIMITS.iter().filter(|limit| prompt > **limit).count();
        let service = Service { searches: 0, ..call.service };
        let sum: &mut Sum = sums
            .entry((key, at, call.model, service, class))
            .or_insert_with(|| Sum { at, model: call.model, service, ..Sum::default() });
        sum.service.searches = sum.service.searches.saturating_add(call.service.searches);
        sum.prompt = sum.prompt.max(prompt);
        sum.calls += u64::from(!call.is_extra);
        sum.caching += u64::from(call.usage.cached > 0);
        sum.undated += u64::from(call.undated && !call.is_extra);
        sum.at_least |= call.at_least;
        sum.usage += call.usage;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(key, _)| *key);
    sums.into_iter().map(|((key, ..), sum)| (key, sum)).collect()
}

impl Archive {
    /// Passes the sums of all calls in a period to `each`. The period must not split a quarter of
    /// an hour.
    pub(crate) fn each_sum(
        &self,
        period: &Period,
        mut each: impl FnMut(&CallRow<'_>),
    ) -> Result<(), ArchiveError> {
        self.each_rollup("rollup", period, |session, body| read(session, body, period, &mut each))
    }

    /// Passes the number and the stored sums of each session that may have calls in a period to `each`.
    pub(super) fn each_rollup(
        &self,
        table: &str,
        period: &Period,
        mut each: impl FnMut(i64, &[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare(&format!(
            "SELECT session, body FROM {table}
             WHERE (?1 IS NULL OR last >= ?1) AND (?2 IS NULL OR first < ?2)",
        ))?;
        let bound = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
        let mut rows = find.query(params![bound(period.since), bound(period.until)])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        }
        Ok(())
    }

    /// Passes the sums of all calls of a session to `each`.
    pub(crate) fn each_sum_of(
        &self,
        id: &str,
        mut each: impl FnMut(&CallRow<'_>),
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare_cached(
            "SELECT session, rollup.body FROM sessions JOIN rollup ON session = number WHERE id = ?1",
        )?;
        let mut rows = find.query([id])?;
        while let Some(row) = rows.next()? {
            let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            read(row.get(0)?, body, &Period::default(), &mut each)?;
        }
        Ok(())
    }

    /// Returns the models that calls name, sorted, with none for calls that name none. Saved chats
    /// and restore points are left out, because they repeat calls.
    pub(crate) fn called_models(&self) -> Result<Vec<Option<String>>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT rollup.body FROM rollup JOIN sessions ON number = session WHERE kind != 'checkpoint'",
        )?;
        let mut rows = find.query([])?;
        let mut out: BTreeSet<Option<String>> = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let body = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            let Sums { models, sums } = codec::decode(body, "a session")?;
            let named =
                |sum: &Sum| models.get(sum.model? as usize).map(|model| (*model).to_owned());
            out.extend(sums.iter().map(named));
        }
        Ok(out.into_iter().collect())
    }
}

/// Passes the stored sums of a session to `each`, as far as they are in a period.
pub(super) fn read(
    session: i64,
    body: &[u8],
    period: &Period,
    each: &mut impl FnMut(&CallRow<'_>),
) -> Result<(), ArchiveError> {
    let Sums { models, sums } = codec::decode(body, "a session")?;
    for sum in sums {
        let row = sum.row(session, &models);
        if period.includes(row.at) {
            each(&row);
        }
    }
    Ok(())
}

impl Sum {
    pub(super) fn row<'a>(&self, session: i64, models: &[&'a str]) -> CallRow<'a> {
        CallRow {
            session,
            at: self.at.and_then(|at| Timestamp::from_millisecond(at).ok()),
            model: self.model.and_then(|model| models.get(model as usize).copied()),
            calls: Calls {
                usage: self.usage,
                service: self.service,
                prompt: self.prompt,
                count: self.calls,
                caching: self.caching,
            },
            undated: self.undated,
            at_least: self.at_least,
            prompt: None,
            current: true,
        }
    }
}

/// Returns whether sums can answer a query, so that single calls need not be read: the period does
/// not split a quarter of an hour, and no price changes inside a class.
pub fn rollup_answers(period: &Period, prices: &Table) -> bool {
    let whole = |at: Option<Timestamp>| {
        at.is_none_or(|at| {
            at.as_millisecond().rem_euclid(SLOT) == 0 && at.subsec_nanosecond() % 1_000_000 == 0
        })
    };
    let known =
        prices.rows().filter_map(|row| row.tier).all(|tier| TIER_LIMITS.contains(&tier.above));
    whole(period.since) && whole(period.until) && known
}
