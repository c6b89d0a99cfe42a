mod news;

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstory_core::archive::{ArchiveError, Captured, SyncStats};
use backstory_core::discover::Discovery;
use backstory_core::model::{Session, SessionId, State};
use backstory_core::pricing::Bill;
use jiff::Timestamp;
use serde::Serialize;

use self::news::News;
use super::sync;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{self, Library, cannot_open};
use crate::output::number::{json_time, plural};
use crate::output::{Line, Printer, style};
use crate::watcher::Watcher;

const EXAMPLES: &str = "\
Examples:
  backstory watch                 keep the archive up to date, and print what happens
  backstory watch --quiet > /dev/null &
                                  the same in the background
  backstory watch --json | jq -r 'select(.what == \"grew\").session'
  backstory watch --poll 30       poll every 30 seconds, for a network file system

It stops on Ctrl-C or SIGTERM, after finishing the current sync, with exit code 0.";

/// Keep the archive up to date as agents write, and print what they do
///
/// Runs a sync, and another one within a second of every change. Prints a line for each session that
/// started, grew, or whose files are gone, and below it the new prompts, replies, tool calls and errors; everything
/// seen of sessions that are gone is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Watch {
    /// Poll every N seconds instead of using the system's notifications
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    poll: Option<u64>,
}

/// `backstory.change/1`
#[derive(Serialize)]
struct Row<'a> {
    schema: &'static str,
    at: String,
    session: &'a str,
    kind: &'static str,
    project: &'a str,
    what: &'static str,
    /// The number of calls in the session now; the cost is also that of the whole session.
    calls: usize,
    #[serde(flatten)]
    cost: Bill,
    /// The number of calls since the last change.
    new_calls: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeKind {
    Started,
    Grew,
    Gone,
}

impl ChangeKind {
    fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Grew => "grew",
            Self::Gone => "gone",
        }
    }
}

/// The facts by which a change of a session is noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Mark {
    is_live: bool,
    updated: Option<Timestamp>,
    messages: usize,
    calls: usize,
    tool_calls: usize,
    tokens: u64,
    cost: Bill,
    /// The size of its files: the end of a tool call may change nothing else.
    bytes: u64,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Watch) -> Result<Exit> {
    super::require_given(ctx)?;
    if ctx.no_sync {
        return Err(Failure::new("`watch` syncs, so it cannot be combined with `--no-sync`"));
    }
    let path = super::archive::path(ctx)?;
    let archive = library::open_archive_at(ctx, printer, &path)?;
    if archive.is_read_only() {
        return Err(sync::not_writable(ctx, &path));
    }
    let _sign = hang_out_sign(&path);
    let look = || ctx.discover();
    let mut found = look();
    let mut watcher = Watcher::new(look, &found, args.poll.map(Duration::from_secs));
    let mut library = Library::of_archive(ctx, archive, Discovery::default())?;
    let mut before = None;
    let mut news = News::default();
    loop {
        match refresh(ctx, printer, &mut library, found) {
            Ok((marks, synced, captured)) => {
                match &before {
                    Some(before) => {
                        print_changes(ctx, printer, &library, before, &marks, &mut news)?;
                    }
                    None => welcome(ctx, printer, &library, &synced, &captured),
                }
                before = Some(marks);
            }
            Err(error) if error.passes() => {
                printer.warn(format!("{error}; trying again"));
                watcher.again();
            }
            Err(error) => return Err(cannot_open(error)),
        }
        match watcher.next() {
            Some(next) => found = next,
            None => return Ok(Exit::Success),
        }
    }
}

/// Returns the path of the file on which every `watch` holds a lock.
fn sign(archive: &Path) -> PathBuf {
    archive.with_extension("watch")
}

/// Locks a file beside the archive to show that it is being watched. Failing to do so has no other effect.
fn hang_out_sign(archive: &Path) -> Option<File> {
    let file = File::options().create(true).append(true).open(sign(archive)).ok()?;
    file.try_lock_shared().ok()?;
    Some(file)
}

/// Returns whether a `watch` is running for this archive.
pub(super) fn is_running(archive: &Path) -> bool {
    let file = File::options().append(true).open(sign(archive));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

type Marks = HashMap<SessionId, Mark>;

/// Reads and captures the changed files.
fn refresh(
    ctx: &Context,
    printer: &Printer,
    library: &mut Library,
    found: Discovery,
) -> std::result::Result<(Marks, SyncStats, Captured), ArchiveError> {
    let progress = printer.progress(found.sources.len());
    let synced = library.refresh(ctx, found, &|_| progress.tick())?;
    let captured = library.archive.capture(&[], None, &|_| {})?;
    let costs = library.reports().session_costs()?;
    let sources = library.all.found.sources.iter();
    let sizes: HashMap<&Path, u64> = sources.map(|file| (file.path.as_path(), file.size)).collect();
    let mark = |session: &Session| Mark {
        is_live: session.state == State::Live,
        updated: session.updated,
        messages: session.messages_full,
        calls: session.calls,
        tool_calls: session.tool_calls,
        tokens: session.usage.total(),
        cost: costs.of(&session.id),
        bytes: session.parts.iter().filter_map(|part| sizes.get(part.file.as_path())).sum(),
    };
    let marks = library.all.sessions.iter().map(|s| (s.id.clone(), mark(s))).collect();
    Ok((marks, synced, captured))
}

/// Prints the initial sync and the watched places.
fn welcome(
    ctx: &Context,
    printer: &mut Printer,
    library: &Library,
    synced: &SyncStats,
    captured: &Captured,
) {
    sync::note_stats(printer, synced, captured, None);
    let places: Vec<String> = library
        .all
        .found
        .looked
        .iter()
        .map(|looked| format!("`{}`", ctx.show(&looked.path)))
        .collect();
    printer.note(format!("Watching {}; press Ctrl-C to stop.", places.join(", ")));
}

/// Prints a line for each session that has changed, and what was said and done in it.
fn print_changes(
    ctx: &Context,
    printer: &mut Printer,
    library: &Library,
    before: &Marks,
    after: &Marks,
    news: &mut News,
) -> Result<()> {
    let now = ctx.clock();
    for session in &library.all.sessions {
        let old = before.get(&session.id).copied().unwrap_or_default();
        let new = after.get(&session.id).copied().unwrap_or_default();
        let Some(what) = change(&old, &new) else { continue };
        let calls = new.calls.saturating_sub(old.calls);
        let is_longer = Mark { bytes: old.bytes, ..new } == old;
        if ctx.json {
            if is_longer {
                continue;
            }
            let row = Row {
                schema: "backstory.change/1",
                at: json_time(now),
                session: &session.id,
                kind: session.kind.name(),
                project: session.project.key(),
                what: what.name(),
                calls: new.calls,
                cost: new.cost,
                new_calls: calls,
            };
            printer.json_lines(std::iter::once(row))?;
            continue;
        }
        let lines = match what {
            ChangeKind::Gone => Vec::new(),
            _ => news.lines(library, session, old.messages, printer.columns()),
        };
        if is_longer && lines.is_empty() {
            continue;
        }
        let cost = new.cost.since(&old.cost);
        line(ctx, printer, library, session, (what, now, calls, cost))?;
        lines.into_iter().try_for_each(|line| printer.line(line))?;
        printer.flush()?;
    }
    Ok(())
}

fn change(old: &Mark, new: &Mark) -> Option<ChangeKind> {
    match (old.is_live, new.is_live) {
        (false, true) => Some(ChangeKind::Started),
        (true, false) => Some(ChangeKind::Gone),
        (true, true) if old != new => Some(ChangeKind::Grew),
        _ => None,
    }
}

fn line(
    ctx: &Context,
    printer: &mut Printer,
    library: &Library,
    session: &Session,
    (what, at, calls, cost): (ChangeKind, Timestamp, usize, Bill),
) -> io::Result<()> {
    let time = at.to_zoned(ctx.zone.clone()).strftime("%H:%M:%S").to_string();
    let mut line = Line::new()
        .styled(style::DIM, time)
        .text("  ")
        .styled(style::NAME, library.all.short(session))
        .text(format!("  {}  {:<7}", session.project.name, what.name()));
    if what == ChangeKind::Gone {
        let kept = if session.captured { "kept" } else { "not captured before" };
        line = line.text(format!("  {kept}"));
    } else if calls > 0 {
        line = line.text(format!("  +{}", plural(calls as u64, "call", "calls")));
        if let Some(cost) = cost.short() {
            line = line.text(format!("  +{cost}"));
        }
    }
    printer.title(line.text("  ").styled(style::DIM, session.title().0))
}
