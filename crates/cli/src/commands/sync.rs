use std::path::Path;

use backstory_core::archive::{Archive, Captured, IndexStats, Machine, SyncStats};
use backstory_core::discover::Discovery;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{self, cannot_open};
use crate::output::Printer;
use crate::output::number::{bytes, count, plural};

const EXAMPLES: &str = "\
Examples:
  backstory sync                  read and copy everything that changed
  backstory sync --quiet          the same without output, for a hook or a timer
  backstory sync --from /mnt/laptop/.gemini --as laptop
                                  import the sessions of another machine
  backstory sync --rebuild        rebuild the archive from the copied files";

/// Bring the archive up to date, and copy the agent's files into it
///
/// Reads new and changed files, copies their bytes, so that every command works for sessions whose files
/// are gone, and indexes their text. Other commands read and copy too, but stop copying after a moment;
/// only `search` indexes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sync {
    /// Rebuild the archive; names, tags and forgotten sessions are preserved
    #[arg(long)]
    rebuild: bool,

    /// The name of the machine that the files come from
    #[arg(long = "as", value_name = "NAME")]
    machine: Option<String>,
}

/// `backstory.sync/1`
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    archive: String,
    new: u64,
    changed: u64,
    gone: u64,
    unchanged: u64,
    faulty: u64,
    read_bytes: u64,
    captured_files: u64,
    captured_bytes: u64,
    indexed_sessions: u64,
    indexed_messages: u64,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Sync) -> Result<Exit> {
    super::require_given(ctx)?;
    let path = super::archive::path(ctx)?;
    if args.rebuild {
        let imported = library::rebuild(ctx, printer, &path)?;
        printer.note(format!("Rebuilt with {}.", plural(imported.sources, "file", "files")));
    }
    let mut archive = library::open_archive_at(ctx, printer, &path)?;
    if archive.is_read_only() {
        return Err(not_writable(ctx, &path));
    }
    let found = ctx.discover();
    let machine = args.machine.as_deref().map_or(Machine::This(&ctx.machine), Machine::Other);
    let (synced, captured) = read_and_capture(ctx, printer, &mut archive, found, machine)?;
    let texted = library::index(printer, &mut archive)?;
    if ctx.json {
        printer.json(&Document {
            schema: "backstory.sync/1",
            archive: path.display().to_string(),
            new: synced.new,
            changed: synced.changed,
            gone: synced.gone,
            unchanged: synced.unchanged,
            faulty: synced.faulty,
            read_bytes: synced.bytes,
            captured_files: captured.files,
            captured_bytes: captured.bytes,
            indexed_sessions: texted.sessions,
            indexed_messages: texted.messages,
        })?;
    } else {
        note_stats(printer, &synced, &captured, Some(&texted));
    }
    Ok(ctx.exit_code(synced.faulty > 0))
}

/// Fills a new archive, for commands that only read it.
pub(super) fn fill(ctx: &Context, printer: &mut Printer, path: &Path) -> Result<()> {
    let mut archive = library::open_archive_at(ctx, printer, path)?;
    let found = ctx.discover();
    read_and_capture(ctx, printer, &mut archive, found, Machine::This(&ctx.machine))?;
    Ok(())
}

/// Reads and captures; a file that changes in between is read again.
fn read_and_capture(
    ctx: &Context,
    printer: &mut Printer,
    archive: &mut Archive,
    mut found: Discovery,
    machine: Machine<'_>,
) -> Result<(SyncStats, Captured)> {
    const TRIES: usize = 3;
    let mut done: Option<(SyncStats, Captured)> = None;
    for _ in 0..TRIES {
        let synced = library::sync(ctx, printer, archive, &found, machine, Vec::new())?;
        let progress = printer.progress(usize::try_from(synced.new + synced.changed).unwrap_or(0));
        let captured = archive.capture(&[], None, &|_| progress.tick()).map_err(cannot_open)?;
        drop(progress);
        let (first, all) = done.get_or_insert((synced, Captured::default()));
        first.gone = first.gone.max(synced.gone);
        all.files += captured.files;
        all.bytes += captured.bytes;
        all.changed = captured.changed;
        if captured.changed == 0 {
            break;
        }
        found = ctx.discover();
    }
    Ok(done.unwrap_or_default())
}

pub(super) fn not_writable(ctx: &Context, path: &Path) -> Failure {
    Failure::new(format!("the archive `{}` cannot be written", ctx.show(path)))
        .hint("check the permissions of the file and its folder, or name another with `--archive`")
}

pub(super) fn note_stats(
    printer: &mut Printer,
    synced: &SyncStats,
    captured: &Captured,
    texted: Option<&IndexStats>,
) {
    let SyncStats { new, changed, gone, unchanged, faulty, .. } = *synced;
    let mut parts = Vec::new();
    for (number, what) in
        [(new, "new"), (changed, "changed"), (gone, "gone"), (unchanged, "unchanged")]
    {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    let parts = if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") };
    let mut line = format!(
        "Files: {parts}. Captured: {} in {}.",
        bytes(captured.bytes),
        plural(captured.files, "file", "files")
    );
    if let Some(texted) = texted {
        let messages = plural(texted.messages, "message", "messages");
        line = format!("{line} Indexed: {messages}.");
    }
    printer.note(line);
    if faulty > 0 {
        let files = plural(faulty, "file has", "files have");
        printer.note(format!("{files} faults; `backstory doctor` lists them."));
    }
}
