//! Stores the reports about limits of the user's plan.

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::{Archive, ArchiveError};
use crate::facts::LimitFacts;
use crate::model::AgentId;

/// A report about a limit, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The agent that received it.
    pub agent: AgentId,
    /// The label of the machine that it ran on.
    pub machine: String,
    /// The report.
    pub facts: LimitFacts,
}

/// Replaces the reports of a source.
pub(super) fn put(db: &Connection, source: i64, limits: &[LimitFacts]) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM limits WHERE source = ?1")?.execute([source])?;
    let mut insert =
        db.prepare_cached("INSERT INTO limits VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let millisecond = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    for limit in limits {
        insert.execute(params![
            source,
            millisecond(limit.at),
            millisecond(limit.seen),
            limit.plan,
            limit.name,
            limit.window.map(u64::cast_signed),
            limit.used,
            millisecond(limit.resets)
        ])?;
    }
    Ok(())
}

impl Archive {
    /// Returns all reports about limits in the order of their times. Copies of a file do not repeat them.
    pub fn limits(&self) -> Result<Vec<Limit>, ArchiveError> {
        let labels = self.machine_labels()?;
        let mut find = self.db.prepare(
            "SELECT DISTINCT agent, machine, at, seen, plan, name, minutes, used, resets \
             FROM limits JOIN sources ON number = source \
             ORDER BY seen, at, agent, machine, plan, name, minutes, used, resets",
        )?;
        let mut rows = find.query([])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let machine: String = row.get(1)?;
            let label = labels.get(&machine).unwrap_or(&machine).clone();
            let agent = AgentId::new(&row.get::<_, String>(0)?);
            out.push(Limit { agent, machine: label, facts: facts(row)? });
        }
        Ok(out)
    }
}

fn facts(row: &Row<'_>) -> rusqlite::Result<LimitFacts> {
    let time = |n: usize| {
        let at: Option<i64> = row.get(n)?;
        Ok::<_, rusqlite::Error>(at.and_then(|at| Timestamp::from_millisecond(at).ok()))
    };
    let text =
        |n: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(n)?.map(Into::into));
    Ok(LimitFacts {
        at: time(2)?,
        seen: time(3)?,
        plan: text(4)?,
        name: text(5)?,
        window: row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned),
        used: row.get(7)?,
        resets: time(8)?,
    })
}
