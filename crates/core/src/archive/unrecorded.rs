//! Compares what agents report about whole sessions with the calls that files record.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params_from_iter};

use super::{Archive, ArchiveError, sums};
use crate::model::usage::COLUMNS;
use crate::model::{Bucket, SessionId, Usage};
use crate::time::Period;

/// The tokens of a session beyond those of its recorded calls.
#[derive(Debug, Clone)]
pub(crate) struct Surplus {
    /// The time of the last recorded call, in milliseconds since 1970.
    pub(crate) last: Option<i64>,
    /// The tokens.
    pub(crate) usage: Usage,
}

/// Stores the tokens that an agent reports for a session.
pub(super) fn put(db: &Connection, session: i64, reported: &Usage) -> rusqlite::Result<()> {
    let numbers = Bucket::ALL.map(|bucket| reported.get(bucket).cast_signed());
    db.prepare_cached("INSERT INTO reported VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params_from_iter(std::iter::once(session).chain(numbers)))?;
    Ok(())
}

impl Archive {
    /// Returns the tokens of calls that no file records, by session, as far as agents report them.
    pub(crate) fn unrecorded(&self) -> Result<HashMap<SessionId, Surplus>, ArchiveError> {
        let sql =
            format!("SELECT id, last, {COLUMNS} FROM reported JOIN sessions ON number = session");
        let mut find = self.db.prepare(&sql)?;
        let rows = find.query_map([], |row| {
            Ok((row.get(0)?, Surplus { last: row.get(1)?, usage: usage(row, 2)? }))
        })?;
        let mut out = rows.collect::<Result<HashMap<SessionId, Surplus>, _>>()?;
        if out.is_empty() {
            return Ok(out);
        }
        for (main, usage) in self.reported_calls()? {
            if let Some(surplus) = out.get_mut(&main) {
                surplus.usage = surplus.usage.beyond(&usage);
            }
        }
        out.retain(|_, surplus| surplus.usage.total() > 0);
        Ok(out)
    }

    /// Returns the tokens of the recorded calls of the sessions that agents report on, with those of their agents.
    fn reported_calls(&self) -> Result<HashMap<SessionId, Usage>, ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT rollup.session, rollup.body, coalesce(parent, id) AS main FROM sessions JOIN rollup ON session = number
             WHERE main IN (SELECT id FROM reported JOIN sessions ON number = session)",
        )?;
        let mut rows = find.query([])?;
        let mut out: HashMap<SessionId, Usage> = HashMap::new();
        while let Some(row) = rows.next()? {
            let sum = out.entry(row.get(2)?).or_default();
            let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            sums::read(row.get(0)?, body, &Period::default(), &mut |call| {
                *sum += call.calls.usage;
            })?;
        }
        Ok(out)
    }
}

/// Returns the usage in the columns from `first` on.
fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    let mut at = first;
    Usage::try_from_buckets(|_| {
        at += 1;
        row.get::<_, i64>(at - 1).map(i64::cast_unsigned)
    })
}
