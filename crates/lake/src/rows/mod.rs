//! The rows of an archive, as the policy lets them leave: one unit at a time, and each unit with a stamp, so that
//! writers pass over what has not changed.

mod calls;
mod faults;
mod prices;
mod session;
mod texts;

use std::collections::{BTreeMap, HashMap};

use backstory_core::archive::Archive;
use backstory_core::model::SessionId;
use backstory_core::project::Project;
use backstory_core::{ArchiveError, Session};
use jiff::{Timestamp, ToSpan};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::policy::Policy;
use crate::project::Identities;
use crate::tables::{FaultRow, PriceRow, Row, SessionRow, TABLES, Table};
use crate::value::{Text, Value};

/// The version of the rows. When their meaning changes, everything is written again.
const VERSION: u8 = 3;

/// Everything of an archive that may leave.
pub(crate) struct Outgoing<'a> {
    archive: &'a Archive,
    policy: &'a Policy,
    filter: Filter<'a>,
    machine: Text,
    units: Vec<Unit>,
}

/// Rows that change together: those of a session, the faults of a file, or the prices.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Its name, unique among the units of a machine; it may leave.
    pub(crate) name: Text,
    /// A hash that changes with its rows.
    pub(crate) stamp: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Session(Box<Found>),
    Faults(Vec<FaultRow>),
    Prices(Vec<PriceRow>),
}

/// A session, and its row.
#[derive(Debug)]
struct Found {
    id: SessionId,
    row: SessionRow,
}

/// The rows of a unit, by table.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rows(BTreeMap<&'static str, Vec<Vec<Value>>>);

impl Rows {
    /// Returns the rows of a table; the values are in the order of its columns.
    pub(crate) fn of(&self, table: &Table) -> &[Vec<Value>] {
        self.0.get(table.name).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the tables that have rows.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&'static Table, &[Vec<Value>])> {
        let some = |table: &'static Table| (table, self.of(table));
        TABLES.iter().map(some).filter(|(_, rows)| !rows.is_empty())
    }

    /// Adds those rows of another unit that are wanted.
    pub(crate) fn extend(&mut self, rows: &Self, is_wanted: impl Fn(&Table, &[Value]) -> bool) {
        for table in TABLES {
            let more = rows.of(table).iter().filter(|row| is_wanted(table, row)).cloned();
            self.0.entry(table.name).or_default().extend(more);
        }
    }

    fn push_all<R: Row + Clone>(&mut self, filter: &Filter<'_>, rows: &[R]) {
        for row in rows {
            self.push(filter, row.clone());
        }
    }

    fn push<R: Row>(&mut self, filter: &Filter<'_>, row: R) {
        self.0.entry(R::TABLE.name).or_default().push(filter.row(row));
    }
}

impl<'a> Outgoing<'a> {
    /// Decides what leaves: sessions of this machine, of projects and of the time that the policy allows.
    pub(crate) fn of(archive: &'a Archive, policy: &'a Policy, now: Timestamp) -> Result<Self> {
        let machine: Text = archive
            .machine()
            .ok_or_else(|| {
                Error::Policy("the archive has no machine yet: run a sync first".into())
            })?
            .into();
        let filter = Filter::new(policy, &machine)?;
        let mut out = Self { archive, policy, filter, machine, units: Vec::new() };
        out.find(now)?;
        Ok(out)
    }

    /// Returns the id of the machine.
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns all units, sorted by name. A unit that was written before and is not among them must be removed.
    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    fn find(&mut self, now: Timestamp) -> Result<()> {
        let oldest = self
            .policy
            .retention_days
            .and_then(|days| now.checked_sub((i64::from(days) * 24).hours()).ok());
        let stamps: HashMap<SessionId, i64> = self.archive.session_stamps()?.into_iter().collect();
        let all = self.archive.sessions()?;
        let parents: HashMap<&str, &Session> = all.iter().map(|s| (s.id.as_str(), s)).collect();
        let mut identities = Identities::new(&self.policy.key);
        let policy = self.policy;
        let mut allowed = |project: &Project| {
            let identity = identities.of(project);
            policy.allows(&identity.project, project.path.as_deref()).then_some(identity)
        };
        let (mut leaving, mut staying) = (Vec::new(), Vec::new());
        for session in &all {
            let Some(stamp) = stamps.get(&session.id) else { continue };
            let is_old = oldest.is_some() && session.updated.or(session.started) < oldest;
            let Some(identity) = allowed(&session.project).filter(|_| !is_old) else {
                staying.push(session);
                continue;
            };
            leaving.push(session);
            // The branch of a project that stays here does not leave with another project.
            let parent = session.parent.as_deref().and_then(|id| parents.get(id).copied());
            let parent = parent.filter(|parent| allowed(&parent.project).is_some());
            let row = session::row(session, parent, identity, self.policy, &self.filter);
            let name = row.session.clone();
            let stamp = self.stamp(std::slice::from_ref(&row), *stamp);
            let found = Box::new(Found { id: session.id.clone(), row });
            self.units.push(Unit { name, stamp, content: Content::Session(found) });
        }
        for (name, rows) in faults::rows(self.archive, &leaving, &staying, self.policy)? {
            let stamp = self.stamp(&rows, 0);
            self.units.push(Unit { name, stamp, content: Content::Faults(rows) });
        }
        let prices = prices::rows(&leaving, self.policy, &self.filter);
        if !prices.is_empty() {
            let stamp = self.stamp(&prices, 0);
            self.units.push(Unit {
                name: "prices".into(),
                stamp,
                content: Content::Prices(prices),
            });
        }
        self.units.sort_by(|a, b| a.name.cmp(&b.name));
        self.units.dedup_by(|a, b| a.name == b.name);
        Ok(())
    }

    /// Returns a hash of rows and of everything else that decides what leaves.
    fn stamp<R: Row + Clone>(&self, rows: &[R], content: i64) -> String {
        let mut hash = Sha256::new();
        hash.update([VERSION]);
        hash.update(&self.policy.digest);
        hash.update(content.to_le_bytes());
        for row in rows {
            hash.update(format!("{:?}", row.clone().values()));
        }
        let mut hash = format!("{:x}", hash.finalize());
        hash.truncate(32);
        hash
    }

    /// Passes the rows of units to `each`, one unit at a time.
    pub(crate) fn each(
        &self,
        units: &[&Unit],
        mut each: impl FnMut(&Unit, Rows) -> Result<()>,
    ) -> Result<()> {
        let mut sessions: HashMap<&str, &Unit> = HashMap::new();
        let mut ids = Vec::new();
        for unit in units {
            let mut rows = Rows::default();
            match &unit.content {
                Content::Session(found) => {
                    sessions.insert(&found.id, unit);
                    ids.push(found.id.clone());
                    continue;
                }
                Content::Faults(faults) => rows.push_all(&self.filter, faults),
                Content::Prices(prices) => rows.push_all(&self.filter, prices),
            }
            each(unit, rows)?;
        }
        let mut failure = None;
        let read = self.archive.each_assembled(&ids, |assembled| {
            let id = assembled.session.id.clone();
            let Some(unit) = sessions.get(id.as_str()) else { return Ok(()) };
            let Content::Session(found) = &unit.content else { return Ok(()) };
            let mut rows = Rows::default();
            rows.push(&self.filter, found.row.clone());
            if self.policy.text {
                texts::add(&mut rows, self.archive, &self.filter, &assembled, &found.row)?;
            }
            calls::add(&mut rows, &self.filter, assembled, &found.row, self);
            each(unit, rows).map_err(|error| {
                failure = Some(error);
                // Any error ends the reading; the one above is reported.
                ArchiveError::Stored(id.into())
            })
        });
        failure.map_or(Ok(read?), Err)
    }
}
