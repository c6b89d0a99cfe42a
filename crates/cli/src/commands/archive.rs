use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, ArchiveError, Foreign, Info, Machine};
use backstory_core::export::json::Time;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::check_place;
use crate::library::{self, cannot_open};
use crate::output::number::{bytes, count, date, percent, plural};
use crate::output::{Column, Printer, Table};

const EXAMPLES: &str = "\
Examples:
  backstory archive info
  backstory archive backup ~/backups/backstory.db
  backstory archive merge /mnt/laptop/archive.db   add the sessions of another machine";

/// Manage the archive: size, integrity, backups, other machines
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ArchiveArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show its size and contents
    Info,
    /// Verify the hash of every captured piece, and every reference between records
    Check,
    /// Copy it to a new file, even while it is in use
    Backup {
        /// The new file, which must not exist yet
        file: PathBuf,
    },
    /// Import everything from another archive
    ///
    /// A call in both archives is counted once, and merging twice changes nothing.
    Merge {
        /// The other archive
        file: PathBuf,
    },
}

/// `backstory.archive/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    archive: String,
    bytes: u64,
    ledger_bytes: u64,
    capture_bytes: u64,
    text_bytes: u64,
    source_bytes: u64,
    captured_bytes: u64,
    sources: u64,
    sessions: u64,
    gone: u64,
    forgotten: u64,
    oldest: Option<Time>,
    machines: &'a [String],
}

#[derive(Serialize)]
struct Check<'a> {
    schema: &'static str,
    sources: u64,
    pieces: u64,
    bytes: u64,
    problems: &'a [String],
}

#[derive(Serialize)]
struct Backup {
    schema: &'static str,
    file: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Merge<'a> {
    schema: &'static str,
    files: u64,
    bytes: u64,
    /// Descriptions of the data that was lost, is doubtful, or was refused.
    lost: &'a [String],
    doubtful: &'a [String],
    refused: &'a [String],
}

/// Returns the path of the persistent archive, or an error if this run has none.
pub(super) fn path(ctx: &Context) -> Result<PathBuf> {
    ctx.own_archive.clone().ok_or_else(|| {
        Failure::new("there is no place for an archive")
            .hint("the home folder is unknown; name a file with `--archive FILE`")
    })
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &ArchiveArgs) -> Result<Exit> {
    let path = path(ctx)?;
    if ctx.is_demo() {
        super::sync::fill(ctx, printer, &path)?;
    }
    if !path.exists() {
        return Err(Failure::nothing(format!("there is no archive at `{}` yet", ctx.show(&path)))
            .hint("`backstory sync` creates it"));
    }
    let mut archive = library::open_archive_at(ctx, printer, &path)?;
    match &args.action {
        Action::Info => info(ctx, printer, &archive)?,
        Action::Check => return check(ctx, printer, &archive),
        Action::Backup { file } => backup(ctx, printer, &archive, file)?,
        Action::Merge { file } => merge(ctx, printer, &mut archive, file)?,
    }
    Ok(Exit::Success)
}

fn info(ctx: &Context, printer: &mut Printer, archive: &Archive) -> Result<()> {
    let info = archive.info().map_err(cannot_open)?;
    let path = archive.path().map(|path| path.display().to_string()).unwrap_or_default();
    let Info {
        bytes: size,
        ledger_bytes,
        capture_bytes,
        text_bytes,
        source_bytes,
        captured_bytes,
        ..
    } = info;
    if ctx.json {
        return Ok(printer.json(&Document {
            schema: "backstory.archive/1",
            archive: path,
            bytes: size,
            ledger_bytes,
            capture_bytes,
            text_bytes,
            source_bytes,
            captured_bytes,
            sources: info.sources,
            sessions: info.sessions,
            gone: info.gone,
            forgotten: info.forgotten,
            oldest: info.oldest.map(Time),
            machines: &info.machines,
        })?);
    }
    let oldest = info.oldest.map(|at| format!(", the oldest from {}", date(at, &ctx.zone)));
    let share = |part: u64| match source_bytes {
        0 => bytes(part),
        all => format!("{} ({} of the files)", bytes(part), percent(part, all)),
    };
    let mut table = Table::new([Column::text(""), Column::long("")]);
    for (what, value) in [
        ("archive", ctx.show(Path::new(&path))),
        ("size", share(size)),
        ("ledger", bytes(ledger_bytes)),
        ("capture", share(capture_bytes)),
        ("text index", share(text_bytes)),
        ("captured", format!("{} of {}", bytes(captured_bytes), bytes(source_bytes))),
        ("files", count(info.sources)),
        ("sessions", format!("{}{}", count(info.sessions), oldest.unwrap_or_default())),
        ("deleted by agent", count(info.gone)),
        ("forgotten", count(info.forgotten)),
        ("machines", info.machines.join(", ")),
    ] {
        if value.is_empty() {
            continue;
        }
        table.row([what.into(), value.into()]);
    }
    Ok(printer.table(&table)?)
}

fn check(ctx: &Context, printer: &mut Printer, archive: &Archive) -> Result<Exit> {
    let checked = archive.check(&|_| {}).map_err(cannot_open)?;
    if ctx.json {
        printer.json(&Check {
            schema: "backstory.archive-check/1",
            sources: checked.sources,
            pieces: checked.pieces,
            bytes: checked.bytes,
            problems: &checked.problems,
        })?;
    } else {
        for problem in &checked.problems {
            printer.line(problem.as_str())?;
        }
        let state = if checked.problems.is_empty() { "all intact" } else { "damaged" };
        printer.line(format!(
            "{} in {} ({}): {state}.",
            plural(checked.pieces, "piece", "pieces"),
            plural(checked.sources, "file", "files"),
            bytes(checked.bytes)
        ))?;
    }
    if checked.problems.is_empty() {
        return Ok(Exit::Success);
    }
    printer.note("`backstory sync --rebuild` rebuilds it from the intact parts.");
    Ok(Exit::NoMatch)
}

fn backup(ctx: &Context, printer: &mut Printer, archive: &Archive, file: &Path) -> Result<()> {
    let shown = ctx.show(file);
    if file.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("`{shown}` already exists")).hint("name a new file"));
    }
    check_place(ctx, file)?;
    archive.backup(file, ctx.now).map_err(|error| {
        Failure::new(format!("cannot copy the archive to `{shown}`")).because(error)
    })?;
    let size = file.metadata().map_or(0, |about| about.len());
    if ctx.json {
        let file = file.display().to_string();
        let schema = "backstory.archive-backup/1";
        return Ok(printer.json(&Backup { schema, file, bytes: size })?);
    }
    printer.note(format!("Copied to `{shown}`, {}.", bytes(size)));
    Ok(())
}

fn merge(ctx: &Context, printer: &mut Printer, archive: &mut Archive, file: &Path) -> Result<()> {
    let shown = ctx.show(file);
    let other = Foreign::open(file).map_err(|error| {
        let failure = Failure::new(format!("`{shown}` cannot be merged"));
        let hint = match &error {
            ArchiveError::Outdated(_) => {
                "run this version of backstory on it once: `backstory --archive FILE sync`"
            }
            ArchiveError::Newer(_) => "update backstory here first",
            _ => "it must be a backstory archive; yours was not changed",
        };
        failure.because(error).hint(hint)
    })?;
    let hints = library::project_hints(ctx);
    let options = library::sync_options(ctx, Machine::This(&ctx.machine), &hints);
    if let Some(path) = archive.path() {
        library::wait_note(printer, path);
    }
    let progress = printer.progress(other.count());
    let merged =
        archive.merge(&other, &options, ctx.now, &|_| progress.tick()).map_err(cannot_open)?;
    drop(progress);
    for lost in &merged.lost {
        printer.warn(format!("damaged in `{shown}`: {lost}"));
    }
    for doubtful in &merged.doubtful {
        printer.warn(format!("on a damaged page of `{shown}`, imported as it is: {doubtful}"));
    }
    for refused in &merged.refused {
        printer.warn(format!("not imported from `{shown}`: {refused}"));
    }
    if ctx.json {
        return Ok(printer.json(&Merge {
            schema: "backstory.archive-merge/1",
            files: merged.sources,
            bytes: merged.bytes,
            lost: &merged.lost,
            doubtful: &merged.doubtful,
            refused: &merged.refused,
        })?);
    }
    printer.note(format!(
        "Imported {} from `{shown}` with {} of captured content.",
        plural(merged.sources, "file", "files"),
        bytes(merged.bytes)
    ));
    Ok(())
}
