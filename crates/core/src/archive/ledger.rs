//! Writes sessions as rows when their sources change.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::calls::SessionCalls;
use super::doubts::Doubts;
use super::tool_sums::tool_sums;
use super::{Archive, ArchiveError, codec, unrecorded};
use crate::assemble::SessionFacts;
use crate::model::{Service, Usage};
use crate::pricing::Table;
use crate::time::Period;

/// The duration whose calls share one row. Offsets of time zones are multiples of it.
pub(crate) const SLOT: i64 = 15 * 60 * 1000;

/// The prompt sizes at which the price of a call may change. A price table with other limits is
/// applied call by call.
const LIMITS: [u64; 4] = [100_000, 128_000, 200_000, 272_000];

/// Removes the sessions of a group.
pub(super) fn remove(db: &Connection, group: &str) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT number FROM sessions WHERE group_key = ?1")?;
    let numbers: Vec<i64> = find.query_map([group], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for number in numbers {
        for sql in [
            "DELETE FROM rollup WHERE session = ?1",
            "DELETE FROM details WHERE session = ?1",
            "DELETE FROM summaries WHERE session = ?1",
            "DELETE FROM activity WHERE session = ?1",
            "DELETE FROM reported WHERE session = ?1",
            "DELETE FROM sessions WHERE number = ?1",
        ] {
            db.prepare_cached(sql)?.execute([number])?;
        }
    }
    Ok(())
}

pub(super) fn insert(db: &Connection, mut assembled: SessionFacts) -> Result<(), ArchiveError> {
    let mut doubts = Doubts::of(&assembled);
    let messages = std::mem::take(&mut assembled.messages);
    let detail = SessionCalls::of(&assembled.session, messages);
    doubts.add_calls(&assembled, &detail);
    let archived = assembled.own_files().next().and_then(|source| source.archived.as_ref());
    let machine = archived.map_or("", |archived| &archived.machine);
    let id = &assembled.session.id;
    let body = codec::encode(&assembled.session, id)?;
    let number = insert_session(db, &assembled, &detail, machine, &body)?;
    let tools = codec::encode(&tool_sums(&detail.tools), id)?;
    db.prepare_cached("INSERT INTO summaries VALUES (?1, ?2, ?3)")?.execute(params![
        number,
        tools,
        doubts.encode(id)?
    ])?;
    db.prepare_cached("INSERT INTO details VALUES (?1, ?2)")?
        .execute(params![number, codec::encode(&detail, id)?])?;
    Ok(roll_up(db, number, &detail)?)
}

/// Inserts only the rows that sums need.
pub(super) fn insert_sums(
    db: &Connection,
    mut assembled: SessionFacts,
    machine: &str,
) -> rusqlite::Result<()> {
    let messages = std::mem::take(&mut assembled.messages);
    let detail = SessionCalls::of(&assembled.session, messages);
    let number = insert_session(db, &assembled, &detail, machine, &[])?;
    roll_up(db, number, &detail)
}

fn insert_session(
    db: &Connection,
    assembled: &SessionFacts,
    detail: &SessionCalls,
    machine: &str,
    body: &[u8],
) -> rusqlite::Result<i64> {
    let s = &assembled.session;
    let times = || detail.calls.iter().filter_map(|call| call.at).map(Timestamp::as_millisecond);
    db.prepare_cached(
        "INSERT INTO sessions (id, group_key, agent, machine, kind, parent, project, first, last, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        s.id,
        assembled.group,
        s.agent.as_str(),
        machine,
        s.kind.name(),
        s.parent,
        s.project.key(),
        times().min(),
        times().max(),
        body,
    ])?;
    let number = db.last_insert_rowid();
    if let Some(reported) = &assembled.reported {
        unrecorded::put(db, number, reported)?;
    }
    Ok(number)
}

#[derive(Default)]
struct Sum {
    prompt: u64,
    calls: i64,
    caching: i64,
    undated: i64,
    at_least: bool,
    searches: i64,
    usage: Usage,
}

fn roll_up(db: &Connection, session: i64, detail: &SessionCalls) -> rusqlite::Result<()> {
    let mut sums: HashMap<(Option<i64>, Option<u32>, Service, usize), Sum> = HashMap::new();
    for call in &detail.calls {
        let prompt = call.usage.prompt();
        let slot = call.at.map(|at| at.as_millisecond().div_euclid(SLOT) * SLOT);
        let class = LIMITS.iter().filter(|limit| prompt > **limit).count();
        let service = Service { searches: 0, ..call.service };
        let sum = sums.entry((slot, call.model, service, class)).or_default();
        sum.prompt = sum.prompt.max(prompt);
        sum.calls += i64::from(!call.is_extra);
        sum.caching += i64::from(call.usage.cached > 0);
        sum.undated += i64::from(call.undated && !call.is_extra);
        sum.at_least |= call.at_least;
        sum.searches += i64::from(call.service.searches);
        sum.usage += call.usage;
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO rollup VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?;
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(key, _)| *key);
    for ((at, model, service, _), sum) in sums {
        let usage = &sum.usage;
        insert.execute(params![
            session,
            at,
            model.and_then(|model| detail.models.get(model as usize)),
            service.class.name(),
            service.us_only,
            service.is_elsewhere,
            sum.searches,
            whole(sum.prompt),
            sum.calls,
            sum.caching,
            sum.undated,
            sum.at_least,
            whole(usage.input),
            whole(usage.cached),
            whole(usage.cache_write_5m),
            whole(usage.cache_write_1h),
            whole(usage.output),
            whole(usage.thoughts),
            whole(usage.tool),
            whole(usage.other)
        ])?;
    }
    Ok(())
}

/// Converts a count. SQLite's integers are signed, but no count comes near the limit.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns whether sums can answer a query, so that single calls need not be read: the period does
/// not split a quarter of an hour, and no price changes inside a class.
pub fn rollup_answers(period: &Period, prices: &Table) -> bool {
    let whole = |at: Option<Timestamp>| {
        at.is_none_or(|at| {
            at.as_millisecond().rem_euclid(SLOT) == 0 && at.subsec_nanosecond() % 1_000_000 == 0
        })
    };
    let known = prices.rows().filter_map(|row| row.tier).all(|tier| LIMITS.contains(&tier.above));
    whole(period.since) && whole(period.until) && known
}

impl Archive {
    pub(super) fn note(&self, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
        note(&self.db, key)
    }
}

pub(super) fn note(db: &Connection, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT value FROM notes WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

pub(super) fn remove_note(db: &Connection, key: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM notes WHERE key = ?1")?.execute([key])?;
    Ok(())
}

pub(super) fn set_note(db: &Connection, key: &str, value: &[u8]) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO notes VALUES (?1, ?2)")?
        .execute(params![key, value])?;
    Ok(())
}
