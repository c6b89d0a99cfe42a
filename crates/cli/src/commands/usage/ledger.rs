//! What is asked: the facts of all sessions in an archive.

use backstory_core::archive::{Archive, Facts, Wanted};
use backstory_core::collection::Collection;
use backstory_core::pricing::Table as Prices;
use backstory_core::query::usage::{Answer, Question, usage};

use crate::commands::cannot_count;
use crate::context::Context;
use crate::error::Result;

/// The counted facts, ready to be asked.
pub(crate) struct Ledger<'a> {
    archive: Archive,
    pub(crate) facts: Facts,
    pub(super) prices: &'a Prices,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(
        ctx: &Context,
        all: &Collection,
        prices: &'a Prices,
        wanted: Wanted,
    ) -> Result<Self> {
        let facts = Facts::of(all, wanted);
        let archive = Archive::in_memory(all, &facts, &ctx.machine).map_err(cannot_count)?;
        archive.prepare(&ctx.zone, prices).map_err(cannot_count)?;
        Ok(Self { archive, facts, prices })
    }

    pub(crate) fn ask(&self, question: &Question) -> Result<Answer> {
        usage(&self.archive, question, self.prices).map_err(cannot_count)
    }

    pub(crate) fn archive(&self) -> &Archive {
        &self.archive
    }
}
