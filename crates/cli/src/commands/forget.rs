use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;

use backstory_core::archive::{ArchiveError, Forgotten, Machine};
use backstory_core::collection::Collection;
use backstory_core::export::json::Time;
use backstory_core::model::{Session, SessionId, State};
use backstory_core::query::Filter;
use backstory_core::time::{self, Period};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::last_search;
use crate::library::{self, Library, cannot_open};
use crate::output::Printer;
use crate::output::number::{bytes, date, plural};

const EXAMPLES: &str = "\
Examples:
  backstory forget 3f2a --dry-run          show what would be removed
  backstory forget --project secret --yes  a whole project, without asking
  backstory forget --before 2025-01-01     all sessions that ended before that day
  backstory unforget 3f2a91c7-…            allow it to come back";

/// Remove sessions from the archive for good
///
/// Removes everything that was captured, read and counted, and leaves a note that keeps the session from
/// coming back with the next sync, a rebuild or a merge. The agent's own files are not touched.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Forget {
    /// The sessions
    #[arg(value_name = "SESSION")]
    sessions: Vec<OsString>,

    /// All sessions of this project
    #[arg(long, short, value_name = "NAME")]
    project: Vec<String>,

    /// All sessions that ended before this time
    #[arg(long, value_name = "WHEN")]
    before: Option<String>,

    /// Show what would be removed without removing it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// Allow forgotten sessions to come back
///
/// The next sync reads the files that the agent still has.
#[derive(Debug, clap::Args)]
pub(crate) struct Unforget {
    /// The ids of the sessions, or prefixes of them; `--list` shows them
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,

    /// List forgotten sessions
    #[arg(long)]
    list: bool,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Forget) -> Result<Exit> {
    let path = super::archive::path(ctx)?;
    let library = Library::open(ctx, printer, &[])?;
    if library.archive.path().is_none() || library.archive.is_read_only() {
        return Err(super::sync::not_writable(ctx, &path));
    }
    if let Some(exit) = forgotten_before(printer, &library, args)? {
        return Ok(exit);
    }
    let chosen = chosen(ctx, &library.all, args)?;
    if chosen.is_empty() {
        return Err(Failure::nothing("no sessions match, so nothing was forgotten"));
    }
    let all = with_neighbours(&library.all, &chosen);
    if !ctx.json {
        for session in &all {
            let when = session.updated.map(|at| date(at, &ctx.zone)).unwrap_or_default();
            printer.title(format!("{}  {when}  {}", session.id, session.title().0).into())?;
        }
    }
    if all.len() > chosen.len() {
        printer.note(format!(
            "{} too: subagents, and sessions in the same files.",
            plural((all.len() - chosen.len()) as u64, "session is removed", "sessions are removed")
        ));
    }
    if args.dry_run {
        printer.note(format!(
            "{} would be forgotten.",
            plural(all.len() as u64, "session", "sessions")
        ));
        document(ctx, printer, &all, None)?;
        return Ok(Exit::Success);
    }
    let ids: Vec<SessionId> = all.iter().map(|session| session.id.clone()).collect();
    let question = format!("Forget {} for good?", plural(ids.len() as u64, "session", "sessions"));
    if !args.yes && !printer.ask(&question)? {
        if printer.can_ask() {
            printer.note("Nothing was forgotten.");
            return Ok(Exit::NoMatch);
        }
        return Err(Failure::nothing("nothing was forgotten").hint("`--yes` skips the question"));
    }
    let Library { mut archive, all: collection, .. } = library;
    let hints = library::project_hints(ctx);
    let options = library::sync_options(ctx, Machine::This(&ctx.machine), &hints);
    let done = archive.forget(&ids, &options, ctx.now).map_err(cannot_open)?;
    // The words of a search may be those of the session.
    last_search::forget(ctx);
    report(ctx, printer, &done);
    let gone: Vec<&Session> = ids.iter().filter_map(|id| collection.get(id)).collect();
    document(ctx, printer, &gone, Some(&done))?;
    Ok(Exit::Success)
}

/// `backstory.forget/1`
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    dry_run: bool,
    sessions: Vec<Row>,
    /// `None` in a dry run.
    files: Option<u64>,
    bytes: Option<u64>,
}

#[derive(Serialize)]
struct Row {
    id: SessionId,
    title: String,
    updated: Option<Time>,
}

/// Prints the forgotten sessions, or those that would be, for programs.
fn document(
    ctx: &Context,
    printer: &mut Printer,
    sessions: &[&Session],
    done: Option<&Forgotten>,
) -> Result<()> {
    if !ctx.json {
        return Ok(());
    }
    let row = |session: &&Session| Row {
        id: session.id.clone(),
        title: session.title().0,
        updated: session.updated.map(Time),
    };
    Ok(printer.json(&Document {
        schema: "backstory.forget/1",
        dry_run: done.is_none(),
        sessions: sessions.iter().map(row).collect(),
        files: done.map(|done| done.sources),
        bytes: done.map(|done| done.bytes),
    })?)
}

/// Reports the removal, and the copies that remain outside the archive.
fn report(ctx: &Context, printer: &mut Printer, done: &Forgotten) {
    printer.note(format!(
        "Forgotten: {}, {} and {} of captured text.",
        plural(done.sessions, "session", "sessions"),
        plural(done.sources, "file", "files"),
        bytes(done.bytes)
    ));
    for (paths, what) in [
        (&done.agent_files, "the agent's own file still has it"),
        (&done.backups, "a backup of the archive still has it"),
    ] {
        for path in paths {
            printer.warn(format!("{what}: `{}`", ctx.show(path)));
        }
    }
}

/// Answers for sessions that were forgotten before. Opening the archive has completed their removal.
fn forgotten_before(
    printer: &mut Printer,
    library: &Library,
    args: &Forget,
) -> Result<Option<Exit>> {
    if args.sessions.is_empty() || !args.project.is_empty() || args.before.is_some() {
        return Ok(None);
    }
    let forgotten = library.archive.forgotten().map_err(cannot_open)?;
    let is_known = |name: &OsString| forgotten.contains(&*name.to_string_lossy());
    if !args.sessions.iter().all(is_known) {
        return Ok(None);
    }
    if library.archive.is_unclean().map_err(cannot_open)? {
        let path = library.archive.path().unwrap_or(Path::new("")).to_owned();
        return Err(cannot_open(ArchiveError::StillRead(path)));
    }
    printer.note("Already forgotten; nothing of it is left in the archive.");
    Ok(Some(Exit::Success))
}

fn chosen<'a>(ctx: &Context, all: &'a Collection, args: &Forget) -> Result<Vec<&'a Session>> {
    if args.sessions.is_empty() && args.project.is_empty() && args.before.is_none() {
        return Err(Failure::new("no sessions were named")
            .hint("name sessions, or use `--project` or `--before`"));
    }
    let mut out: BTreeMap<&str, &Session> = BTreeMap::new();
    for name in &args.sessions {
        let name = name.to_string_lossy();
        let session = all.find(&name).map_err(|error| {
            Failure::nothing(error.to_string()).hint("`backstory sessions --all` lists them")
        })?;
        out.insert(&session.id, session);
    }
    if args.project.is_empty() && args.before.is_none() {
        return Ok(out.into_values().collect());
    }
    let until = match &args.before {
        Some(word) => {
            let now = ctx.now.to_zoned(ctx.zone.clone());
            let (start, _) = time::parse_period(word, &now).ok_or_else(|| {
                Failure::new(format!("`--before`: `{word}` is not a valid time"))
                    .hint(format!("write {}", time::FORMS))
            })?;
            Some(start)
        }
        None => None,
    };
    let ended = |session: &Session| {
        let period = Period { since: None, until };
        until.is_none() || session.updated.is_some_and(|at| period.contains(at))
    };
    let filter = Filter { projects: args.project.clone(), ..Filter::default() };
    for session in &all.sessions {
        if filter.takes_project(&session.project) && ended(session) {
            out.insert(&session.id, session);
        }
    }
    Ok(out.into_values().collect())
}

/// Adds their subagents, and the other sessions in the same files.
fn with_neighbours<'a>(all: &'a Collection, chosen: &[&'a Session]) -> Vec<&'a Session> {
    let mut children: HashMap<&str, Vec<&Session>> = HashMap::new();
    let mut holders: HashMap<&Path, Vec<&Session>> = HashMap::new();
    for session in &all.sessions {
        if let Some(parent) = session.parent.as_deref() {
            children.entry(parent).or_default().push(session);
        }
        // A prompt log loses only the lines of the session.
        if session.state != State::LogOnly {
            for part in &session.parts {
                holders.entry(&part.file).or_default().push(session);
            }
        }
    }
    let mut ids: BTreeSet<&str> = chosen.iter().map(|session| session.id.as_str()).collect();
    let mut waiting: Vec<&Session> = chosen.to_vec();
    while let Some(session) = waiting.pop() {
        let mut more = children.remove(session.id.as_str()).unwrap_or_default();
        for part in &session.parts {
            more.extend(holders.remove(part.file.as_path()).unwrap_or_default());
        }
        waiting.extend(more.into_iter().filter(|other| ids.insert(&other.id)));
    }
    all.sessions.iter().filter(|session| ids.contains(session.id.as_str())).collect()
}

pub(super) fn unforget(ctx: &Context, printer: &mut Printer, args: &Unforget) -> Result<Exit> {
    let path = super::archive::path(ctx)?;
    let mut archive = library::open_archive_at(ctx, printer, &path)?;
    let forgotten = archive.forgotten().map_err(cannot_open)?;
    if args.list {
        return list(ctx, printer, &forgotten);
    }
    let ids = args.ids.iter().map(|wanted| tombstone(&forgotten, wanted));
    let ids: Vec<SessionId> = ids.collect::<Result<_>>()?;
    let lifted = archive.unforget(&ids).map_err(cannot_open)?;
    if ctx.json {
        printer.json(&Tombstones { schema: "backstory.unforget/1", sessions: &ids })?;
    }
    printer.note(format!(
        "{} with the next sync.",
        plural(lifted, "session comes back", "sessions come back")
    ));
    Ok(Exit::Success)
}

/// `backstory.unforget/1`
#[derive(Serialize)]
struct Tombstones<'a> {
    schema: &'static str,
    sessions: &'a [SessionId],
}

fn list(ctx: &Context, printer: &mut Printer, forgotten: &BTreeSet<SessionId>) -> Result<Exit> {
    if ctx.json {
        let sessions: Vec<SessionId> = forgotten.iter().cloned().collect();
        printer.json(&Tombstones { schema: "backstory.unforget/1", sessions: &sessions })?;
    } else if forgotten.is_empty() {
        printer.note("No sessions were forgotten.");
    } else {
        for id in forgotten {
            printer.line(id.as_str())?;
        }
    }
    Ok(if forgotten.is_empty() { Exit::NoMatch } else { Exit::Success })
}

/// Finds the forgotten session with an id or a prefix of one.
fn tombstone(forgotten: &BTreeSet<SessionId>, wanted: &str) -> Result<SessionId> {
    if let Some(id) = forgotten.get(wanted) {
        return Ok(id.clone());
    }
    let mut found = forgotten.iter().filter(|id| !wanted.is_empty() && id.starts_with(wanted));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id.clone()),
        (Some(_), Some(_)) => Err(Failure::new(format!("`{wanted}` matches several sessions"))
            .hint("`backstory unforget --list` lists their ids")),
        (None, _) => Err(Failure::nothing(format!("no session `{wanted}` was forgotten"))
            .hint("`backstory unforget --list` lists those that were")),
    }
}
