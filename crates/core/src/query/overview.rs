//! What went on lately.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::collection::Collection;
use crate::model::{SessionKind, Usage};
use crate::time::Period;

/// The sum of some calls.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    pub calls: usize,
    pub sessions: usize,
    pub usage: Usage,
}

#[derive(Debug, Clone)]
pub struct Overview {
    pub period: Period,
    pub from: Date,
    pub to: Date,
    /// Every day of the period, also those without a call.
    pub days: Vec<(Date, Sum)>,
    pub total: Sum,
    /// By model, the most tokens first; `unknown` where a call names none.
    pub models: Vec<(String, Sum)>,
    /// Conversations in which anything was said in the period.
    pub conversations: usize,
}

/// The last `days` days, today included, in the zone of `now`.
pub fn overview(all: &Collection, now: &Zoned, days: i64) -> Option<Overview> {
    let zone = now.time_zone();
    let to = now.date();
    let from = to.checked_sub((days - 1).days()).ok()?;
    let start = |date: Date| date.to_zoned(zone.clone()).map(|day| day.timestamp()).ok();
    let period = Period { since: start(from), until: start(to.tomorrow().ok()?) };
    let mut by_day: BTreeMap<Date, Group> = from
        .series(1.day())
        .take_while(|day| *day <= to)
        .map(|day| (day, Group::default()))
        .collect();
    let mut by_model: BTreeMap<String, Group> = BTreeMap::new();
    let mut total = Group::default();
    let mut conversations = 0;
    for assembled in &all.sessions {
        let session = &assembled.session;
        if session.kind == SessionKind::Checkpoint {
            continue;
        }
        let mut turned = false;
        for placed in assembled.listed() {
            let at: Option<Timestamp> = placed.said.at.or(session.started);
            let Some(at) = at.filter(|at| period.contains(*at)) else { continue };
            turned |= placed.said.kind.is_turn();
            let Some(tokens) = placed.said.tokens.filter(|_| placed.owned) else { continue };
            let usage = tokens.usage();
            let model = placed.said.model.as_deref().unwrap_or("unknown");
            total.add(&session.id, usage);
            by_model.entry(model.to_owned()).or_default().add(&session.id, usage);
            if let Some(day) = by_day.get_mut(&at.to_zoned(zone.clone()).date()) {
                day.add(&session.id, usage);
            }
        }
        conversations += usize::from(turned && session.is_listed());
    }
    let mut models: Vec<(String, Sum)> =
        by_model.into_iter().map(|(model, group)| (model, group.sum())).collect();
    models.sort_by_key(|(model, sum)| (std::cmp::Reverse(sum.usage.total()), model.clone()));
    Some(Overview {
        period,
        from,
        to,
        days: by_day.into_iter().map(|(day, group)| (day, group.sum())).collect(),
        total: total.sum(),
        models,
        conversations,
    })
}

#[derive(Default)]
struct Group {
    calls: usize,
    sessions: HashSet<String>,
    usage: Usage,
}

impl Group {
    fn add(&mut self, session: &str, usage: Usage) {
        self.calls += 1;
        self.usage += usage;
        if !self.sessions.contains(session) {
            self.sessions.insert(session.to_owned());
        }
    }

    fn sum(self) -> Sum {
        Sum { calls: self.calls, sessions: self.sessions.len(), usage: self.usage }
    }
}
