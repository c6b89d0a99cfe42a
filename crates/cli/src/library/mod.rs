//! The archive of a run, brought up to date, with its sessions. Every command reads from it.

mod costs;
mod keep;
mod lease;
mod lists;
mod locate;
mod place;
mod prices;

use std::io;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::archive::{
    Archive, ArchiveError, FaultCount, Imported, IndexStats, Machine, Rebuild, SyncOptions,
    SyncStats, rollup_answers,
};
use backstory_core::assemble::SessionFacts;
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::model::{Message, SessionId};
use backstory_core::pricing::Table;
use backstory_core::projects::{ProjectHints, worktrees};
use backstory_core::query;
use backstory_core::query::Reports;
use backstory_core::time::Period;

use jiff::tz::TimeZone;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;
use crate::output::number::plural;

pub(crate) use keep::keep;
pub(crate) use lease::Lease;
pub(crate) use locate::locate_projects;
use locate::located;
pub(crate) use place::{cannot_write, check_place};
pub(crate) use prices::prices;

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
        bring_up(ctx, printer, &mut archive, &found, Vec::new())?;
        Self::around(ctx, archive, Collection::only(found))
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
        let candidates = candidates(ctx);
        let progress = printer.progress(found.sources.len());
        let faults = archive
            .count_only(
                &found,
                &sync_options(ctx, Machine::This(&ctx.machine), &candidates),
                &|_| {
                    progress.tick();
                },
            )
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
        bring_up(ctx, printer, &mut archive, &found, paths)?;
        Self::of_lease(ctx, archive, found)
    }

    /// Loads the sessions that the archive contains, without a sync.
    pub(crate) fn of_archive(ctx: &Context, archive: Archive, found: Discovery) -> Result<Self> {
        Self::of_lease(ctx, Lease::new(ctx, archive), found)
    }

    fn of_lease(ctx: &Context, archive: Lease, found: Discovery) -> Result<Self> {
        let version = archive.data_version().map_err(cannot_open)?;
        let all = Collection::new(&archive, found).map_err(cannot_open)?;
        Ok(Self { version, ..Self::around(ctx, archive, all)? })
    }

    fn around(ctx: &Context, archive: Lease, all: Collection) -> Result<Self> {
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
        let candidates = candidates(ctx);
        let synced = self.archive.sync(
            &found,
            &sync_options(ctx, Machine::This(&ctx.machine), &candidates),
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

/// Brings the archive up to date unless it is read-only or `--no-sync` was given.
fn bring_up(
    ctx: &Context,
    printer: &mut Printer,
    archive: &mut Archive,
    found: &Discovery,
    paths: Vec<PathBuf>,
) -> Result<()> {
    if archive.is_read_only() {
        printer.note("The archive cannot be written; this answer may be out of date.");
    } else if !ctx.no_sync {
        sync(ctx, printer, archive, found, Machine::This(&ctx.machine), paths)?;
    }
    Ok(())
}

/// Opens the archive of this run. If it cannot be opened, for example because the home is read-only, the
/// command still answers, from an archive in memory.
fn open_archive(ctx: &Context, printer: &mut Printer) -> Result<Archive> {
    if let Some(path) = &ctx.archive {
        check_new(ctx, path)?;
        if ctx.no_sync && !path.exists() {
            return Err(Failure::new(format!("there is no archive `{}`", ctx.show(path)))
                .hint("with `--no-sync` nothing else is read; leave the flag out"));
        }
        if !ctx.must_write
            && Archive::is_busy(path)
            && let Ok(archive) = Archive::open_to_read(path)
        {
            printer.note(
                "Another backstory is writing to the archive; this answer may be out of date.",
            );
            return Ok(archive);
        }
        match open_waiting(ctx, printer, path) {
            Ok(archive) => return finish_forgetting(ctx, printer, archive),
            Err(ArchiveError::Open { why, .. }) if !ctx.no_sync => printer.warn(format!(
                "nothing is archived, because `{}` cannot be opened ({why})",
                ctx.show(path)
            )),
            Err(_) => return open_archive_at(ctx, printer, path),
        }
    }
    Archive::in_memory().map_err(cannot_open)
}

/// Opens an archive file for writing; one written by an older version is rebuilt first.
pub(crate) fn open_archive_at(
    ctx: &Context,
    printer: &mut Printer,
    path: &Path,
) -> Result<Archive> {
    drop(ctx.take_idle());
    check_new(ctx, path)?;
    let archive = match open_waiting(ctx, printer, path) {
        Err(ArchiveError::Outdated(_)) => {
            rebuild_outdated(ctx, printer, path)?;
            Archive::open(path).map_err(cannot_open)
        }
        other => other.map_err(cannot_open),
    };
    finish_forgetting(ctx, printer, archive?)
}

/// Refuses to create an archive inside the agent's own folders.
fn check_new(ctx: &Context, path: &Path) -> Result<()> {
    if path.exists() { Ok(()) } else { check_place(ctx, path) }
}

fn open_waiting(
    ctx: &Context,
    printer: &mut Printer,
    path: &Path,
) -> std::result::Result<Archive, ArchiveError> {
    wait_note(printer, path);
    let is_new = !path.exists();
    let archive = Archive::open(path)?;
    if is_new && !ctx.is_demo() {
        printer.note(format!(
            "Created `{}`, which keeps a private copy of every session, so that it can be read and \
             restored after the agent deletes it.",
            ctx.show(path)
        ));
    }
    Ok(archive)
}

/// Explains a pause: another process is using the archive.
pub(crate) fn wait_note(printer: &mut Printer, path: &Path) {
    if Archive::is_busy(path) {
        printer.note("Waiting for another backstory to finish its work on the archive.");
    }
}

/// Completes an interrupted `forget`, so that none of its text remains in the file.
fn finish_forgetting(
    ctx: &Context,
    printer: &mut Printer,
    mut archive: Archive,
) -> Result<Archive> {
    if archive.is_read_only() || ctx.no_sync || !archive.is_unclean().map_err(cannot_open)? {
        return Ok(archive);
    }
    match archive.finish_forgetting() {
        Ok(()) => printer.note("An interrupted `forget` was completed."),
        Err(error) => printer.warn(error.to_string()),
    }
    Ok(archive)
}

fn rebuild_outdated(ctx: &Context, printer: &mut Printer, path: &Path) -> Result<()> {
    wait_note(printer, path);
    let rebuild = Rebuild::begin(path).map_err(cannot_open)?;
    // Another command may have completed it while this one waited.
    if !rebuild.is_needed() {
        return Ok(());
    }
    printer.note("The archive was written by an older version of backstory and is being rebuilt.");
    run_rebuild(ctx, printer, &rebuild)?;
    Ok(())
}

/// Rebuilds the archive from its captured content; names, tags and tombstones are carried over.
pub(crate) fn rebuild(ctx: &Context, printer: &mut Printer, path: &Path) -> Result<Imported> {
    wait_note(printer, path);
    let rebuild = Rebuild::begin(path).map_err(cannot_open)?;
    run_rebuild(ctx, printer, &rebuild)
}

fn run_rebuild(ctx: &Context, printer: &mut Printer, rebuild: &Rebuild) -> Result<Imported> {
    let candidates = candidates(ctx);
    let setup = sync_options(ctx, Machine::This(&ctx.machine), &candidates);
    let progress = printer.progress(rebuild.count());
    let rebuilt = rebuild.run(&setup, &|_| progress.tick()).map_err(cannot_open)?;
    drop(progress);
    let Imported { lost, refused, doubtful, .. } = &rebuilt.imported;
    for lost in lost.iter().chain(refused) {
        printer.warn(format!("could not be saved: {lost}"));
    }
    for doubtful in doubtful {
        printer.warn(format!("saved from a damaged page, so its name may be wrong: {doubtful}"));
    }
    if let Some(aside) = &rebuilt.aside {
        printer.warn(format!(
            "the old archive was damaged and was set aside as `{}`",
            ctx.show(aside)
        ));
    }
    Ok(rebuilt.imported)
}

pub(crate) fn sync_options<'a>(
    ctx: &'a Context,
    machine: Machine<'a>,
    candidates: &'a ProjectHints,
) -> SyncOptions<'a> {
    SyncOptions {
        machine,
        candidates,
        exclude: &ctx.exclude,
        excluded: &ctx.exclude.text,
        batch: ctx.batch,
    }
}

/// Reads new and changed files into the archive.
pub(crate) fn sync(
    ctx: &Context,
    printer: &mut Printer,
    archive: &mut Archive,
    found: &Discovery,
    machine: Machine<'_>,
    paths: Vec<PathBuf>,
) -> Result<SyncStats> {
    let mut candidates = candidates(ctx);
    candidates.paths.extend(paths);
    let progress = printer.progress(found.sources.len());
    archive
        .sync(found, &sync_options(ctx, machine, &candidates), &|_| progress.tick())
        .map_err(cannot_open)
}

/// Brings the text index up to date, with a counter on a terminal.
pub(crate) fn index(printer: &mut Printer, archive: &mut Archive) -> Result<IndexStats> {
    let left = archive.left_to_index().map_err(cannot_open)?;
    let progress = printer.counter(("indexing", "sessions"), left);
    archive.index(&|| progress.tick()).map_err(cannot_open)
}

/// Collects paths that may match a project hash without any search.
pub(crate) fn candidates(ctx: &Context) -> ProjectHints {
    let links = ctx.projects.links.iter().map(|(hash, path)| (hash.clone(), path.clone()));
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(cwd) = &ctx.cwd {
        paths.extend(cwd.ancestors().map(Path::to_owned));
        paths.extend(worktrees(cwd));
    }
    paths.extend(ctx.projects.links.values().flat_map(|path| worktrees(Path::new(path))));
    ProjectHints { links: links.collect(), paths }
}

/// Describes a problem with the archive and how to solve it.
pub(crate) fn cannot_open(error: ArchiveError) -> Failure {
    let hint = match &error {
        other if other.is_damage() || matches!(other, ArchiveError::Stored(_)) => {
            "`backstory sync --rebuild` saves what can be read and reads the agent's files again"
        }
        ArchiveError::Newer(_) => "update backstory, or name another archive with `--archive`",
        ArchiveError::NotOurs(_) => "name another file with `--archive`",
        ArchiveError::StillRead(_) => {
            "close the program that reads it; the next command removes the text"
        }
        ArchiveError::Open { .. } => "check its folder, or name another one with `--archive`",
        other if other.is_full() => "free some space; nothing archived before is lost",
        other if other.passes() => "is another backstory running? Try again, or use `--no-sync`",
        _ => "`backstory archive check` looks for damage",
    };
    Failure::new("the archive cannot be used").because(error).hint(hint)
}
