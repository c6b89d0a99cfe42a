//! The archive of a run, brought up to date, with its sessions. Every command reads from it.
//!
//! `open` opens the archive, `sync` reads changed files into it, and `capture` keeps their bytes after the
//! answer, until which `lease` keeps it open. `lists` and `costs` are of its sessions, `prices` is the price table, `locate`
//! searches for projects, and `place` decides where the program may write.

mod capture;
mod costs;
mod lease;
mod lists;
mod locate;
mod open;
mod place;
mod prices;
mod sync;

use std::io;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::archive::{
    Archive, ArchiveError, FaultCount, Machine, SyncStats, rollup_answers,
};
use backstory_core::assemble::SessionFacts;
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::model::{Message, SessionId};
use backstory_core::pricing::Table;
use backstory_core::query;
use backstory_core::query::Reports;
use backstory_core::time::Period;
use jiff::tz::TimeZone;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;
use crate::output::number::plural;

pub(crate) use capture::capture;
pub(crate) use lease::Lease;
pub(crate) use locate::locate_projects;
use locate::located;
use open::open_archive;
pub(crate) use open::{cannot_open, open_archive_at, rebuild, wait_note};
pub(crate) use place::{cannot_write, check_place};
pub(crate) use prices::prices;
use sync::bring_up_to_date;
pub(crate) use sync::{index, project_hints, sync, sync_options};

/// The sessions of a run, and the archive that has their text.
pub(crate) struct Library {
    pub(crate) archive: Lease,
    pub(crate) all: Collection,
    pub(crate) prices: Table,
    zone: TimeZone,
    /// Faults in all files, including deleted ones.
    pub(crate) faults: FaultCount,
    /// The version of the archive that the list of sessions was read from.
    version: i64,
}

impl Library {
    /// Warns that an answer lacks texts that could not be read.
    pub(crate) fn warn_unread(&self, printer: &mut Printer) {
        let count = self.archive.unread();
        if count > 0 {
            let texts = plural(count, "captured text", "captured texts");
            printer.warn(format!(
                "{texts} cannot be read; `backstory archive check` looks for damage"
            ));
        }
    }

    /// Finds and reads changed files, with a counter on a terminal. If no known project matches `wanted`,
    /// the folders of projects known only by hash are searched for, because one of them may match.
    pub(crate) fn open(ctx: &Context, printer: &mut Printer, wanted: &[String]) -> Result<Self> {
        let found = ctx.discover();
        let archive = Lease::new(ctx, open_archive(ctx, printer)?);
        let library = Self::read(ctx, printer, archive, found, Vec::new())?;
        // The folder that the program runs in is always tried.
        let wanted: Vec<String> =
            wanted.iter().filter(|word| ctx.typed_folder(word).is_none()).cloned().collect();
        let filter = query::Filter { projects: wanted.clone(), ..query::Filter::default() };
        let fits = library.all.sessions.iter().any(|s| filter.takes_project(&s.project));
        if wanted.is_empty() || fits {
            return Ok(library);
        }
        let paths = locate_projects(ctx, &library.all);
        if paths.is_empty() { Ok(library) } else { library.with_paths(ctx, printer, paths) }
    }

    /// Opens the archive for sums only: the list of sessions is not loaded.
    pub(crate) fn open_for_sums(ctx: &Context, printer: &mut Printer) -> Result<Self> {
        let found = ctx.discover();
        let mut archive = Lease::new(ctx, open_archive(ctx, printer)?);
        bring_up_to_date(ctx, printer, &mut archive, &found, Vec::new())?;
        Self::with_sessions(ctx, archive, Collection::only(found))
    }

    /// Opens the archive for sums by time, model or kind of session. Without a persistent archive, only the
    /// facts that those sums need are read.
    pub(crate) fn open_to_count(ctx: &Context, printer: &mut Printer) -> Result<Self> {
        let keeps = ctx.archive.is_some() || ctx.no_sync;
        let excludes = !ctx.exclude.text.is_empty();
        let prices = prices(ctx)?;
        if keeps || excludes || !rollup_answers(&Period::default(), &prices) {
            return Self::open_for_sums(ctx, printer);
        }
        let found = ctx.discover();
        let mut archive = Archive::in_memory().map_err(cannot_open)?;
        let hints = project_hints(ctx);
        let progress = printer.progress(found.sources.len());
        let faults = archive
            .count_only(&found, &sync_options(ctx, Machine::This(&ctx.machine), &hints), &|_| {
                progress.tick();
            })
            .map_err(cannot_open)?;
        let all = Collection::only(found);
        let archive = Lease::new(ctx, archive);
        Ok(Self { archive, all, prices, zone: ctx.zone.clone(), faults, version: 0 })
    }

    /// Reads a single file, outside the archive.
    pub(crate) fn of_file(ctx: &Context, printer: &mut Printer, path: &Path) -> Result<Self> {
        let archive = Lease::new(ctx, Archive::in_memory().map_err(cannot_open)?);
        Self::read(ctx, printer, archive, Agents::default().discover_at(path), Vec::new())
    }

    /// Reads the sessions again with more candidate paths for projects.
    pub(crate) fn with_paths(
        self,
        ctx: &Context,
        printer: &mut Printer,
        paths: Vec<PathBuf>,
    ) -> Result<Self> {
        Self::read(ctx, printer, self.archive, self.all.found, paths)
    }

    fn read(
        ctx: &Context,
        printer: &mut Printer,
        mut archive: Lease,
        found: Discovery,
        paths: Vec<PathBuf>,
    ) -> Result<Self> {
        bring_up_to_date(ctx, printer, &mut archive, &found, paths)?;
        Self::of_lease(ctx, archive, found)
    }

    /// Loads the sessions that the archive contains, without a sync.
    pub(crate) fn of_archive(ctx: &Context, archive: Archive, found: Discovery) -> Result<Self> {
        Self::of_lease(ctx, Lease::new(ctx, archive), found)
    }

    fn of_lease(ctx: &Context, archive: Lease, found: Discovery) -> Result<Self> {
        let version = archive.data_version().map_err(cannot_open)?;
        let all = Collection::new(&archive, found).map_err(cannot_open)?;
        Ok(Self { version, ..Self::with_sessions(ctx, archive, all)? })
    }

    fn with_sessions(ctx: &Context, archive: Lease, all: Collection) -> Result<Self> {
        let all = located(ctx, all);
        let prices = prices(ctx)?;
        let faults = archive.faults().map_err(cannot_open)?;
        Ok(Self { archive, all, prices, zone: ctx.zone.clone(), faults, version: 0 })
    }

    /// Reads the files that changed since the last read.
    pub(crate) fn refresh(
        &mut self,
        ctx: &Context,
        found: Discovery,
        progress: &(dyn Fn(u64) + Sync),
    ) -> std::result::Result<SyncStats, ArchiveError> {
        // Another run may have rebuilt the archive, which replaces the file.
        if let Some(path) = self.archive.path().filter(|_| self.archive.is_replaced()) {
            *self.archive = Archive::open(path)?;
        }
        let hints = project_hints(ctx);
        let synced = self.archive.sync(
            &found,
            &sync_options(ctx, Machine::This(&ctx.machine), &hints),
            progress,
        )?;
        self.faults = self.archive.faults()?;
        self.all = located(ctx, Collection::new(&self.archive, found)?);
        Ok(synced)
    }

    /// Brings the text index up to date.
    pub(crate) fn index(&mut self, ctx: &Context, printer: &mut Printer) -> Result<()> {
        if self.archive.is_read_only() || ctx.no_sync {
            return Ok(());
        }
        index(printer, &mut self.archive)?;
        Ok(())
    }

    /// Prepares the archive for queries about costs and days.
    pub(crate) fn reports(&self) -> Reports<'_> {
        Reports::new(&self.archive, &self.zone, &self.prices)
    }

    /// Adds the facts that only the list of all sessions has: name, tags, state, subagents.
    fn complete(&self, assembled: &mut SessionFacts) {
        if let Some(listed) = self.all.get(&assembled.session.id) {
            let session = &mut assembled.session;
            let prompts = (session.first_prompt.take(), session.last_prompt.take());
            *session = listed.clone();
            (session.first_prompt, session.last_prompt) = prompts;
        }
    }

    /// Calls `each` with one session after the other, with all its messages.
    pub(crate) fn each(
        &self,
        ids: &[SessionId],
        mut each: impl FnMut(SessionFacts) -> io::Result<()>,
    ) -> io::Result<()> {
        let read = |mut assembled: SessionFacts| {
            self.complete(&mut assembled);
            let id = assembled.session.id.clone();
            each(assembled).map_err(|error| ArchiveError::Read(id.into(), error))
        };
        self.archive.each_assembled(ids, read).map_err(|error| match error {
            ArchiveError::Read(_, error) => error,
            other => io::Error::other(other),
        })
    }

    /// Reads the messages of a session with their full text.
    pub(crate) fn messages(
        &self,
        ctx: &Context,
        assembled: &SessionFacts,
        view: View,
    ) -> Result<Vec<Message>> {
        let agents = |agent: &str| self.all.agent_session(agent);
        let read = self.archive.reader().transcript(assembled, view, &agents);
        let mut messages = read.map_err(|error| {
            let file = assembled.files.first().map(|file| ctx.show(&file.path)).unwrap_or_default();
            Failure::new(format!("cannot read session `{}`", assembled.session.id))
                .because(error)
                .hint(format!("was `{file}` deleted just now?"))
        })?;
        self.all.tie_agents(&assembled.session, &mut messages);
        Ok(messages)
    }

    /// Returns a session with all its messages; `id` must come from the collection.
    pub(crate) fn assembled(&self, id: &str) -> Result<SessionFacts> {
        let mut found = self.archive.assembled(id).map_err(cannot_open)?;
        if let Some(assembled) = &mut found {
            self.complete(assembled);
        }
        found.ok_or_else(|| Failure::nothing(format!("session `{id}` no longer exists")))
    }
}
