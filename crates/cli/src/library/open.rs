//! Opens the archive of a run. One that an older version wrote is rebuilt, and an interrupted `forget` is completed.

use std::path::Path;

use backstory_core::archive::{Archive, ArchiveError, Imported, Machine, Rebuild};

use super::place::check_place;
use super::sync::{project_hints, sync_options};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;

/// Opens the archive of this run. If it cannot be opened, for example because the home is read-only, the
/// command still answers, from an archive in memory.
pub(super) fn open_archive(ctx: &Context, printer: &mut Printer) -> Result<Archive> {
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

/// Opens an archive file, and waits for another process if need be.
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

/// Rebuilds an archive that an older version wrote.
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

/// Runs a rebuild, and warns of what could not be saved.
fn run_rebuild(ctx: &Context, printer: &mut Printer, rebuild: &Rebuild) -> Result<Imported> {
    let hints = project_hints(ctx);
    let options = sync_options(ctx, Machine::This(&ctx.machine), &hints);
    let progress = printer.progress(rebuild.count());
    let rebuilt = rebuild.run(&options, &|_| progress.tick()).map_err(cannot_open)?;
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
