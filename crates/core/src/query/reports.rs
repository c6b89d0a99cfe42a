//! Answers queries that need prices and a time zone.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::overview::{self, Overview};
use super::tally;
use super::usage::{self, Answer, Costs, Group, Question};
use super::verify::{self, Verified};
use crate::archive::{Archive, ArchiveError};
use crate::collection::Collection;
use crate::model::Session;
use crate::money::Usd;
use crate::pricing::{Bill, Table};

/// Answers queries about the contents of an archive, with costs from a price table and days in a
/// time zone.
///
/// ```
/// use backstory_core::agent::Agents;
/// use backstory_core::archive::Archive;
/// use backstory_core::pricing::Table;
/// use backstory_core::query::Reports;
/// use backstory_core::query::usage::{Group, Question};
/// use jiff::tz::TimeZone;
/// # let home = tempfile::tempdir()?;
/// # let home = home.path();
///
/// let found = Agents::default().discover_at(home);
/// let archive = Archive::of(&found)?;
/// let prices = Table::embedded();
/// let reports = Reports::new(&archive, &TimeZone::UTC, &prices);
/// for row in reports.usage(&Question::new(Group::Project))?.rows {
///     let cost = row.sum.bill.short().unwrap_or_default();
///     println!("{}: {} tokens, {cost}", row.key, row.sum.usage.total());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Reports<'a> {
    archive: &'a Archive,
    zone: TimeZone,
    prices: &'a Table,
    /// All sessions, if they are loaded.
    list: Option<&'a [Session]>,
}

impl<'a> Reports<'a> {
    /// Returns reports on an archive.
    pub fn new(archive: &'a Archive, zone: &TimeZone, prices: &'a Table) -> Self {
        Self { archive, zone: zone.clone(), prices, list: None }
    }

    /// Uses the list of all sessions that a caller has, so that it is not read again.
    #[must_use]
    pub fn with_list(self, all: &'a Collection) -> Self {
        Self { list: Some(&all.sessions), ..self }
    }

    /// Adds up tokens and costs.
    pub fn usage(&self, question: &Question) -> Result<Answer, ArchiveError> {
        tally::usage(self.archive, question, &self.zone, self.prices, self.list)
    }

    /// Returns the cost of the calls that a question selects.
    pub fn cost(&self, question: &Question) -> Result<Bill, ArchiveError> {
        let question = Question { group: Group::Agent, ..question.clone() };
        let answer = tally::recorded(self.archive, &question, &self.zone, self.prices)?;
        Ok(answer.total.bill)
    }

    /// Returns the cost of each prompt that led to calls which a question selects, in no order and regardless of the
    /// grouping; none for a prompt whose calls have no price.
    pub fn prompt_costs(&self, question: &Question) -> Result<Vec<Option<Usd>>, ArchiveError> {
        tally::prompt_costs(self.archive, question, &self.zone, self.prices)
    }

    /// Returns the cost of each session by itself, without that of its agents. A call that several sessions contain is
    /// part of one of them only.
    pub fn session_costs(&self) -> Result<Costs, ArchiveError> {
        usage::session_costs(self.archive, self.prices)
    }

    /// Returns the costs of a few sessions.
    pub fn costs_of<'s>(
        &self,
        sessions: impl IntoIterator<Item = &'s Session>,
    ) -> Result<Costs, ArchiveError> {
        usage::costs_of(self.archive, self.prices, sessions)
    }

    /// Returns an overview of the last `days` days, including today, in the zone of `now`; `None`
    /// if they exceed the calendar.
    pub fn overview(
        &self,
        all: &Collection,
        now: &Zoned,
        days: i64,
    ) -> Result<Option<Overview>, ArchiveError> {
        overview::overview(self.archive, all, self.prices, now, days)
    }

    /// Checks the numbers of all sessions against the totals recorded in the files.
    pub fn verify(&self, all: &Collection) -> Result<Verified, ArchiveError> {
        verify::verify(self.archive, all, self.prices)
    }
}
