//! Lists with fewer or more than the sessions of a run: the newest at once, or with their whole prompts.

use backstory_core::collection::Collection;
use backstory_core::model::Session;

use super::lease::Lease;
use super::locate::located;
use super::{Library, cannot_open, open_archive};
use crate::context::Context;
use crate::error::Result;
use crate::output::Printer;

impl Library {
    /// Opens the archive without a sync and with only its newest sessions, for a screen that must appear at once;
    /// [`Self::load_all`] loads the others. An archive that does not exist or has no sessions yet is brought up
    /// to date first.
    pub(crate) fn open_newest(ctx: &Context, printer: &mut Printer, count: usize) -> Result<Self> {
        if !ctx.archive.as_ref().is_some_and(|path| path.exists()) {
            return Self::open(ctx, printer, &[]);
        }
        let archive = Lease::new(ctx, open_archive(ctx, printer)?);
        let newest = Collection::newest(&archive, count).map_err(cannot_open)?;
        let library = Self::with_sessions(ctx, archive, newest)?;
        if library.all.sessions.is_empty() {
            return Self::open(ctx, printer, &[]);
        }
        Ok(library)
    }

    /// Loads all sessions.
    pub(crate) fn load_all(&mut self, ctx: &Context) -> Result<()> {
        let found = std::mem::take(&mut self.all.found);
        self.all = located(ctx, Collection::new(&self.archive, found).map_err(cannot_open)?);
        Ok(())
    }

    /// Returns sessions of the list with their whole prompts.
    pub(crate) fn with_prompts(&self, sessions: &[&Session]) -> Result<Vec<Session>> {
        let mut out: Vec<Session> = sessions.iter().map(|session| (*session).clone()).collect();
        // A few are looked up one by one.
        if out.len() * 4 > self.all.sessions.len() {
            self.archive.add_all_prompts(&mut out).map_err(cannot_open)?;
        } else {
            for session in &mut out {
                self.archive.add_prompts(session).map_err(cannot_open)?;
            }
        }
        Ok(out)
    }
}
