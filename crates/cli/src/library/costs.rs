//! The costs of sessions.

use backstory_core::collection::Collection;
use backstory_core::model::Session;
use backstory_core::query::usage::Costs;

use super::{Library, cannot_open};
use crate::context::Context;
use crate::error::Result;

/// The number of times that the list is read again for other processes that change the archive.
const TRIES: usize = 5;

impl Library {
    /// Returns the cost of each session.
    pub(crate) fn costs(&self) -> Result<Costs> {
        self.reports().session_costs().map_err(cannot_open)
    }

    /// Returns the costs of some sessions of the list. If they are many, all are read at once.
    pub(crate) fn costs_of(&self, sessions: &[&Session]) -> Result<Costs> {
        if sessions.len() * 4 > self.all.sessions.len() {
            return self.costs();
        }
        self.reports().costs_of(sessions.iter().copied()).map_err(cannot_open)
    }

    /// Returns the costs of the sessions that `choose` takes from the list, as of the moment of the list. If another
    /// process has changed the archive in between, both are read again.
    pub(crate) fn costs_of_list(
        &mut self,
        ctx: &Context,
        choose: impl Fn(&Collection) -> Vec<&Session>,
    ) -> Result<Costs> {
        let mut costs = self.costs_of(&choose(&self.all))?;
        for _ in 0..TRIES {
            let version = self.archive.data_version().map_err(cannot_open)?;
            if version == self.version {
                break;
            }
            self.version = version;
            self.load_all(ctx)?;
            costs = self.costs_of(&choose(&self.all))?;
        }
        Ok(costs)
    }
}
