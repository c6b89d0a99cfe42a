//! Summarizes recent activity.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use super::tally::recorded;
use super::usage::{Group, Question, Sum};
use crate::archive::{Archive, ArchiveError};
use crate::collection::Collection;
use crate::pricing::Table;
use crate::time::Period;

/// A summary of the last days.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The period as times.
    pub period: Period,
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// Every day of the period, including those without a call.
    pub days: Vec<(Date, Sum)>,
    /// The sum of all days.
    pub total: Sum,
    /// Sums by model, the most tokens first; `unknown` for calls that name none.
    pub models: Vec<(String, Sum)>,
    /// The number of conversations that were active in the period.
    pub conversations: usize,
}

/// Returns an overview of the last `days` days, including today, in the zone of `now`; `None` if
/// they exceed the calendar.
pub(super) fn overview(
    archive: &Archive,
    all: &Collection,
    prices: &Table,
    now: &Zoned,
    days: i64,
) -> Result<Option<Overview>, ArchiveError> {
    let Some((period, from, to)) = last_days(now, days) else { return Ok(None) };
    let zone = now.time_zone();
    let question = |group| Question { period, ..Question::new(group) };
    let by_day = recorded(archive, &question(Group::Daily), zone, prices)?;
    let by_model = recorded(archive, &question(Group::Model), zone, prices)?;
    let mut sums: HashMap<String, Sum> =
        by_day.rows.into_iter().map(|row| (row.key, row.sum)).collect();
    let dates = from.series(1.day()).take_while(|day| *day <= to);
    let went_on = |session: &&crate::model::Session| {
        session.is_listed() && session.updated.is_some_and(|at| period.contains(at))
    };
    Ok(Some(Overview {
        period,
        from,
        to,
        days: dates.map(|day| (day, sums.remove(&day.to_string()).unwrap_or_default())).collect(),
        total: by_day.total,
        models: by_model.rows.into_iter().map(|row| (row.key, row.sum)).collect(),
        conversations: all.sessions.iter().filter(went_on).count(),
    }))
}

fn last_days(now: &Zoned, days: i64) -> Option<(Period, Date, Date)> {
    let to = now.date();
    let from = to.checked_sub((days - 1).days()).ok()?;
    let start = |date: Date| date.to_zoned(now.time_zone().clone()).map(|day| day.timestamp()).ok();
    Some((Period { since: start(from), until: start(to.tomorrow().ok()?) }, from, to))
}
