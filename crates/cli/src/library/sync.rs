//! Brings an archive up to date with the agents' files.

use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, IndexStats, Machine, SyncOptions, SyncStats};
use backstory_core::discover::Discovery;
use backstory_core::projects::{ProjectHints, worktrees};

use super::cannot_open;
use crate::context::Context;
use crate::error::Result;
use crate::output::Printer;

/// Brings the archive up to date unless it is read-only or `--no-sync` was given.
pub(super) fn bring_up_to_date(
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

/// Returns the options of a sync of files of a machine.
pub(crate) fn sync_options<'a>(
    ctx: &'a Context,
    machine: Machine<'a>,
    hints: &'a ProjectHints,
) -> SyncOptions<'a> {
    SyncOptions {
        machine,
        candidates: hints,
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
    let mut hints = project_hints(ctx);
    hints.paths.extend(paths);
    let progress = printer.progress(found.sources.len());
    archive
        .sync(found, &sync_options(ctx, machine, &hints), &|_| progress.tick())
        .map_err(cannot_open)
}

/// Brings the text index up to date, with a counter on a terminal.
pub(crate) fn index(printer: &mut Printer, archive: &mut Archive) -> Result<IndexStats> {
    let left = archive.left_to_index().map_err(cannot_open)?;
    let progress = printer.counter(("indexing", "sessions"), left);
    archive.index(&|| progress.tick()).map_err(cannot_open)
}

/// Collects paths that may match a project hash without any search.
pub(crate) fn project_hints(ctx: &Context) -> ProjectHints {
    let links = ctx.projects.links.iter().map(|(hash, path)| (hash.clone(), path.clone()));
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(cwd) = &ctx.cwd {
        paths.extend(cwd.ancestors().map(Path::to_owned));
        paths.extend(worktrees(cwd));
    }
    paths.extend(ctx.projects.links.values().flat_map(|path| worktrees(Path::new(path))));
    ProjectHints { links: links.collect(), paths }
}
