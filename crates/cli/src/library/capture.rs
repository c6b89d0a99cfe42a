//! Captures changed files after a command has answered.

use std::path::Path;
use std::time::{Duration, Instant};

use backstory_core::archive::Archive;
use backstory_core::doctor::soonest_deletions;

use super::cannot_open;
use crate::context::Context;
use crate::error::Result;
use crate::output::Printer;
use crate::output::number::{bytes, plural};

/// The time limit for capturing after a command has answered.
const TIME_LIMIT: Duration = Duration::from_millis(1500);

/// Captures changed files after the answer, within a time limit, in the order in which the agent will delete
/// them.
pub(crate) fn capture(ctx: &Context, printer: &mut Printer) -> Result<()> {
    let Some(path) = ctx.archive.as_ref().filter(|_| ctx.auto_capture && !ctx.no_sync) else {
        return Ok(());
    };
    let Some(mut archive) = idle_archive(ctx, path) else { return Ok(()) };
    if archive.is_read_only() || !archive.has_uncaptured().map_err(cannot_open)? {
        return Ok(());
    }
    let end = Instant::now() + TIME_LIMIT;
    let first = soonest_deletions(&archive, &ctx.env, ctx.now).map_err(cannot_open)?;
    let done = archive.capture(&first, Some(end), &|_| {}).map_err(cannot_open)?;
    if done.left_files > 0 {
        printer.note(format!(
            "{} ({}) are not captured yet; `backstory sync` captures them.",
            plural(done.left_files, "file", "files"),
            bytes(done.left_bytes)
        ));
    }
    Ok(())
}

/// Returns the archive that the command has used, unless another process does structural work on it. A
/// command that reads a single file has not opened it, and does not create it.
fn idle_archive(ctx: &Context, path: &Path) -> Option<Archive> {
    let idle = ctx.take_idle().filter(|archive| archive.path() == Some(path));
    match idle {
        Some(archive) => Some(archive).filter(|_| !Archive::is_busy(path)),
        // An archive that cannot be opened is left for the next command to report.
        None if path.exists() => Archive::open_if_free(path).ok().flatten(),
        None => None,
    }
}
