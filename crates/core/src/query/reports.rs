//! Answers queries that need prices and a time zone.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::overview::{self, Overview};
use super::tally;
use super::usage::{self, Answer, Costs, Question};
use super::verify::{self, Verified};
use crate::archive::{Archive, ArchiveError};
use crate::collection::Collection;
use crate::pricing::Table;

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
///     println!("{}: {} tokens, {:?}", row.key, row.sum.usage.total(), row.sum.bill.usd);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Reports<'a> {
    archive: &'a Archive,
    zone: TimeZone,
    prices: &'a Table,
}

impl<'a> Reports<'a> {
    /// Returns reports on an archive.
    pub fn new(archive: &'a Archive, zone: &TimeZone, prices: &'a Table) -> Self {
        Self { archive, zone: zone.clone(), prices }
    }

    /// Adds up tokens and costs.
    pub fn usage(&self, question: &Question) -> Result<Answer, ArchiveError> {
        tally::usage(self.archive, question, &self.zone, self.prices)
    }

    /// Returns the cost of each session.
    pub fn session_costs(&self) -> Result<Costs, ArchiveError> {
        usage::session_costs(self.archive, self.prices)
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
