//! The costs of sessions.

use backstory_core::collection::Collection;
use backstory_core::query::usage::Costs;

use super::locate::located;
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

    /// Returns the cost of each session as of the moment of the list. If another process has changed the archive
    /// in between, both are read again.
    pub(crate) fn costs_of_list(&mut self, ctx: &Context) -> Result<Costs> {
        let mut costs = self.costs()?;
        for _ in 0..TRIES {
            let version = self.archive.data_version().map_err(cannot_open)?;
            if version == self.version {
                break;
            }
            self.version = version;
            let found = std::mem::take(&mut self.all.found);
            self.all = located(ctx, Collection::new(&self.archive, found).map_err(cannot_open)?);
            costs = self.costs()?;
        }
        Ok(costs)
    }
}
