//! What a page is about: a period, an agent, a project. The address names all three on every page, so that
//! links, the Back button and downloads agree.

use std::collections::BTreeSet;

use backstory_core::collection::Collection;
use backstory_core::model::SessionId;
use backstory_core::query::Filter;
use backstory_core::time::{self, Period};
use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use crate::query::Query;
use crate::reply::Problem;

/// The periods to choose from: the value in the address, its name, and its days.
pub(crate) const PERIODS: [(&str, &str, Option<i64>); 6] = [
    ("today", "today", Some(1)),
    ("7d", "last 7 days", Some(7)),
    ("30d", "last 30 days", Some(30)),
    ("90d", "last 90 days", Some(90)),
    ("1y", "last 365 days", Some(365)),
    ("all", "all time", None),
];

/// The period without a choice.
const USUAL: &str = "30d";

/// The names that carry over from page to page.
const CARRIED: [&str; 5] = ["period", "agent", "project", "since", "until"];

#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// The chosen period; none if the address names two dates.
    pub(crate) choice: Option<&'static str>,
    /// The name of the period for people.
    pub(crate) label: String,
    pub(crate) period: Period,
    /// The first and the last day, if the period has any.
    pub(crate) days: Option<(Date, Date)>,
    pub(crate) agent: Option<String>,
    pub(crate) project: Option<String>,
    /// The values to carry over.
    pub(crate) query: Query,
}

impl Scope {
    pub(crate) fn of(query: &Query, now: &Zoned) -> Result<Self, Problem> {
        let agent = query.get("agent").map(str::to_owned);
        let project = query.get("project").map(str::to_owned);
        let carried = query.only(&CARRIED);
        let (since, until) = (query.get("since"), query.get("until"));
        if since.is_some() || until.is_some() {
            let when = |word: Option<&str>| {
                let Some(word) = word else { return Ok(None) };
                let found = time::parse_period(word, now).map(Some);
                found.ok_or_else(|| {
                    Problem::invalid(format!("`{word}` is not a time."))
                        .hint(format!("Write {}.", time::FORMS))
                })
            };
            let period = Period {
                since: when(since)?.map(|(start, _)| start),
                until: when(until)?.map(|(_, end)| end),
            };
            let label = match (since, until) {
                (Some(since), Some(until)) if since == until => since.to_owned(),
                (Some(since), Some(until)) => format!("{since} to {until}"),
                (Some(since), None) => format!("since {since}"),
                (_, until) => format!("until {}", until.unwrap_or_default()),
            };
            let day = |at: jiff::Timestamp| at.to_zoned(now.time_zone().clone()).date();
            let last = period.until.map_or(now.date(), |until| day(until - 1.millisecond()));
            let days = period.since.map(|since| (day(since), last.max(day(since))));
            return Ok(Self { choice: None, label, period, days, agent, project, query: carried });
        }
        let wanted = query.get("period").unwrap_or(USUAL);
        let known = PERIODS.iter().find(|(name, ..)| *name == wanted);
        let Some((name, label, length)) = known else {
            return Err(Problem::invalid(format!("`{wanted}` is not a period."))
                .hint("Choose one of the list, or name dates with `since` and `until`."));
        };
        let today = now.date();
        let days =
            length.and_then(|length| Some((today.checked_sub((length - 1).days()).ok()?, today)));
        let period = days.map(|(from, to)| of_days(from, to, now)).unwrap_or_default();
        Ok(Self {
            choice: Some(name),
            label: (*label).to_owned(),
            period,
            days,
            agent,
            project,
            query: carried,
        })
    }

    /// Returns the period of the same length right before this one, and its days.
    pub(crate) fn before(&self, now: &Zoned) -> Option<(Period, Date, Date)> {
        let (from, to) = self.days?;
        let length = (to - from).get_days() + 1;
        let last = from.yesterday().ok()?;
        let first = last.checked_sub((length - 1).days()).ok()?;
        Some((of_days(first, last, now), first, last))
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter {
            projects: self.project.iter().cloned().collect(),
            agents: self.agent.iter().cloned().collect(),
            period: self.period,
            ..Filter::default()
        }
    }

    /// Returns the ids of the sessions that calls are counted of; none for all.
    pub(crate) fn sessions(&self, all: &Collection) -> Option<BTreeSet<SessionId>> {
        let filter = self.filter();
        filter.narrows().then(|| {
            let wanted = all.sessions.iter().filter(|session| filter.takes_owner(session));
            wanted.map(|session| session.id.clone()).collect()
        })
    }

    /// Returns the ids of the sessions whose tool calls are counted: no checkpoints, which are copies.
    pub(crate) fn counted(&self, all: &Collection) -> Vec<SessionId> {
        let filter = self.filter();
        let takes = |session: &&backstory_core::Session| {
            session.kind != backstory_core::model::SessionKind::Checkpoint
                && filter.takes_owner(session)
        };
        all.sessions.iter().filter(takes).map(|session| session.id.clone()).collect()
    }

    /// Returns the same scope as options of the command line.
    pub(crate) fn arguments(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            out.extend(value.map(|value| (name.to_owned(), value)));
        };
        let given = |name| self.query.get(name).map(str::to_owned);
        let (from, to) = self.days.map(|(from, to)| (from.to_string(), to.to_string())).unzip();
        let is_chosen = self.choice.is_some();
        add("since", if is_chosen { from } else { given("since") });
        add("until", if is_chosen { to } else { given("until") });
        add("agent", self.agent.clone());
        add("project", self.project.clone());
        out
    }

    /// Returns an address with this scope.
    pub(crate) fn link(&self, path: &str) -> String {
        self.query.address(path)
    }

    /// Returns an address with this scope and one more value.
    pub(crate) fn link_with(&self, path: &str, name: &str, value: &str) -> String {
        self.query.with(name, Some(value)).address(path)
    }

    /// Returns an address for one or more of its days.
    pub(crate) fn link_days(&self, path: &str, from: &str, to: &str) -> String {
        let query =
            self.query.with("period", None).with("since", Some(from)).with("until", Some(to));
        query.address(path)
    }
}

/// Returns the time from the start of a day to the end of another.
fn of_days(from: Date, to: Date, now: &Zoned) -> Period {
    let start = |day: Date| day.to_zoned(now.time_zone().clone()).ok().map(|day| day.timestamp());
    Period { since: start(from), until: to.tomorrow().ok().and_then(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-08-14T16:30:00Z".parse::<jiff::Timestamp>().unwrap().to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn scope(query: &str) -> Result<Scope, Problem> {
        Scope::of(&Query::parse(query), &now())
    }

    #[test]
    fn a_period_has_whole_days_and_one_before_it() {
        let week = scope("period=7d&agent=claude&x=y").unwrap();
        let show = |period: Period| format!("{} {}", period.since.unwrap(), period.until.unwrap());
        assert_eq!(show(week.period), "2026-08-08T00:00:00Z 2026-08-15T00:00:00Z");
        let (before, first, last) = week.before(&now()).unwrap();
        assert_eq!(show(before), "2026-08-01T00:00:00Z 2026-08-08T00:00:00Z");
        assert_eq!(
            (first.to_string(), last.to_string()),
            ("2026-08-01".into(), "2026-08-07".into())
        );
        assert_eq!(week.link("/usage"), "/usage?period=7d&agent=claude");
        assert_eq!(week.arguments().len(), 3);
        assert!(scope("period=all").unwrap().before(&now()).is_none());
    }

    #[test]
    fn dates_of_the_address_are_a_period() {
        let day = scope("since=2026-08-01&until=2026-08-01").unwrap();
        assert_eq!(day.label, "2026-08-01");
        assert_eq!(day.before(&now()).unwrap().1.to_string(), "2026-07-31");
        assert_eq!(
            day.link_days("/sessions", "2026-07-01", "2026-07-02"),
            "/sessions?since=2026-07-01&until=2026-07-02"
        );
        assert!(scope("since=2026-08-10").unwrap().days.unwrap().1 == now().date());
        assert!(scope("until=2026-08-10").unwrap().days.is_none());
    }

    #[test]
    fn a_period_that_is_none_is_refused() {
        assert!(scope("period=lots").is_err());
        assert!(scope("since=nonsense").is_err());
    }
}
