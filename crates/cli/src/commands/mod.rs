//! One file per command: its arguments, whose doc comments are the help, and `run`.

mod archive;
mod browse;
mod budget;
mod completions;
mod digest;
mod doctor;
mod events;
pub(crate) mod export;
mod files;
mod forget;
mod log;
mod man;
mod name;
mod overview;
mod pricing;
pub(crate) mod projects;
mod prompts;
mod redact;
mod restore;
mod resume;
mod search;
mod secrets;
mod serve;
mod sessions;
mod shell_commands;
mod show;
mod sync;
mod tools;
mod usage;
mod verify;
mod watch;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use backstory_core::archive::ArchiveError;
use backstory_core::assemble::SessionFacts;
use backstory_core::collection::{Collection, LookupError};
use backstory_core::discover::{Discovery, Problem, SearchedPlace};
use backstory_core::facts::Contents;
use backstory_core::model::{Session, SessionId, SessionKind};
use backstory_core::query;
use backstory_core::time::Period;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind, Listing};
use crate::here;
use crate::last_search;
use crate::library::Library;
use crate::output::Printer;
use crate::output::number::plural;
use crate::shell_word::quote;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Browse(browse::Browse),
    Pick(browse::Pick),
    Serve(serve::Serve),
    Sessions(sessions::Sessions),
    Show(show::Show),
    Search(search::Search),
    Prompts(prompts::Prompts),
    Usage(usage::Usage),
    Tools(tools::Tools),
    Commands(shell_commands::Commands),
    Log(log::Log),
    Files(files::Files),
    Digest(digest::Digest),
    Projects(projects::Projects),
    Events(events::Events),
    Export(export::Export),
    Redact(redact::Redact),
    Secrets(secrets::Secrets),
    Verify(verify::Verify),
    Pricing(pricing::Pricing),
    Restore(restore::Restore),
    Resume(resume::Resume),
    Sync(sync::Sync),
    Watch(watch::Watch),
    Name(name::Name),
    Tag(name::Tag),
    Untag(name::Untag),
    Forget(forget::Forget),
    Unforget(forget::Unforget),
    Archive(archive::ArchiveArgs),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Returns whether the command stores names or tags in the archive.
    pub(crate) fn annotates(&self) -> bool {
        matches!(
            self,
            Self::Name(_) | Self::Tag(_) | Self::Untag(_) | Self::Forget(_) | Self::Unforget(_)
        )
    }

    /// Returns whether the command answers from the archive, and so keeps it up to date.
    pub(crate) fn reads(&self) -> bool {
        !matches!(
            self,
            Self::Completions(_)
                | Self::Man(_)
                | Self::Sync(_)
                | Self::Watch(_)
                | Self::Archive(_)
                | Self::Forget(_)
                | Self::Unforget(_)
                | Self::Serve(_)
        )
    }
}

/// Runs a command; `program` is clap's definition of all of them.
pub(crate) fn run(
    ctx: &Context,
    printer: &mut Printer,
    command: Option<&Command>,
    program: fn() -> clap::Command,
) -> Result<Exit> {
    match command {
        None => overview::run(ctx, printer),
        Some(Command::Browse(args)) => browse::run(ctx, printer, args),
        Some(Command::Pick(args)) => browse::run_pick(ctx, printer, args),
        Some(Command::Serve(args)) => serve::run(ctx, printer, args, program),
        Some(Command::Sessions(args)) => sessions::run(ctx, printer, args),
        Some(Command::Show(args)) => show::run(ctx, printer, args),
        Some(Command::Search(args)) => search::run(ctx, printer, args),
        Some(Command::Prompts(args)) => prompts::run(ctx, printer, args),
        Some(Command::Usage(args)) => usage::run(ctx, printer, args),
        Some(Command::Tools(args)) => tools::run(ctx, printer, args),
        Some(Command::Commands(args)) => shell_commands::run(ctx, printer, args),
        Some(Command::Log(args)) => log::run(ctx, printer, args),
        Some(Command::Files(args)) => files::run(ctx, printer, args),
        Some(Command::Digest(args)) => digest::run(ctx, printer, args),
        Some(Command::Secrets(args)) => secrets::run(ctx, printer, args),
        Some(Command::Verify(args)) => verify::run(ctx, printer, args),
        Some(Command::Pricing(args)) => pricing::run(ctx, printer, args),
        Some(Command::Projects(args)) => projects::run(ctx, printer, args),
        Some(Command::Events(args)) => events::run(ctx, printer, args),
        Some(Command::Export(args)) => export::run(ctx, printer, args),
        Some(Command::Restore(args)) => restore::run(ctx, printer, args),
        Some(Command::Resume(args)) => resume::run(ctx, printer, args),
        Some(Command::Sync(args)) => sync::run(ctx, printer, args),
        Some(Command::Watch(args)) => watch::run(ctx, printer, args),
        Some(Command::Name(args)) => name::run(ctx, printer, args),
        Some(Command::Tag(args)) => name::tag(ctx, printer, args),
        Some(Command::Untag(args)) => name::untag(ctx, printer, args),
        Some(Command::Forget(args)) => forget::run(ctx, printer, args),
        Some(Command::Unforget(args)) => forget::unforget(ctx, printer, args),
        Some(Command::Archive(args)) => archive::run(ctx, printer, args),
        Some(Command::Redact(args)) => redact::run(ctx, printer, args),
        Some(Command::Doctor(args)) => doctor::run(ctx, printer, args),
        Some(Command::Completions(args)) => completions::run(printer, args),
        Some(Command::Man(args)) => man::run(printer, args, program()),
    }
}

/// Returns the given session, or else the one that the user chooses in the terminal; none without a terminal.
fn given_or_chosen(
    ctx: &Context,
    printer: &mut Printer,
    given: Option<&OsStr>,
) -> Result<Option<OsString>> {
    match given {
        Some(given) => Ok(Some(given.to_owned())),
        None => browse::choose(ctx, printer),
    }
}

/// Opens the named session, or the named file by itself.
fn open_session(
    ctx: &Context,
    printer: &mut Printer,
    name: &OsStr,
) -> Result<(Library, SessionFacts)> {
    let path = Path::new(name);
    if path.is_file() && !ctx.is_remote {
        let library = Library::of_file(ctx, printer, path)?;
        let sessions = &library.all.sessions;
        let main = sessions.iter().find(|session| session.turns > 0).or(sessions.first());
        let Some(id) = main.map(|session| session.id.clone()) else {
            return Err(no_conversation(ctx, path, &library));
        };
        let assembled = library.assembled(&id)?;
        return Ok((library, assembled));
    }
    let hit = last_search::recall(ctx, name)?;
    let name =
        hit.map_or_else(|| name.to_string_lossy(), |hit| String::from(hit.place.session).into());
    let library = Library::open(ctx, printer, &[])?;
    let all = &library.all;
    let found = all.find(&name).or_else(|error| match error {
        LookupError::None(_) => here::session_of(ctx, all, &name).ok_or(error),
        several @ LookupError::Several { .. } => Err(several),
    });
    match found.map(|session| session.id.clone()) {
        Ok(id) => {
            let assembled = library.assembled(&id)?;
            Ok((library, assembled))
        }
        Err(LookupError::Several { wanted, candidates }) => {
            Err(ambiguous(all, &wanted, &candidates))
        }
        Err(LookupError::None(_)) if path.is_dir() => {
            Err(Failure::new(format!("`{name}` is a folder"))
                .hint("name a file in it, or a session with `--from FOLDER`"))
        }
        Err(LookupError::None(_)) if all.sessions.is_empty() => Err(empty(ctx, &all.found)),
        Err(none) => {
            let failure = Failure::nothing(none.to_string()).hint(
                "name it by its id, a prefix of its id, `latest`, `@N`, `@sN`, its name or a file",
            );
            let is_it = |session: &Session| session.project.name.eq_ignore_ascii_case(&name);
            let is_project = all.sessions.iter().any(is_it);
            Err(if is_project {
                let name = quote(name.as_ref().as_ref());
                failure.hint(format!("`backstory sessions -p {name}` lists those of the project"))
            } else {
                failure.hint("`backstory sessions` lists them")
            })
        }
    }
}

fn no_conversation(ctx: &Context, path: &Path, library: &Library) -> Failure {
    let failure = Failure::new(format!("`{}` contains no conversation", ctx.show(path)));
    let files = library.archive.files().unwrap_or_default();
    match files.first().map(|file| &file.about.contents) {
        Some(Contents::Nothing(what)) => failure.because(format!("the file is: {what}")),
        Some(Contents::Unreadable) => failure.because("it cannot be read"),
        _ => failure,
    }
}

fn ambiguous(all: &Collection, wanted: &str, candidates: &[SessionId]) -> Failure {
    const SHOWN: usize = 10;
    let mut failure = Failure::new(format!("`{wanted}` matches {} sessions", candidates.len()));
    for id in candidates.iter().take(SHOWN) {
        let title = all.get(id).map(|session| session.title().0);
        failure = failure.hint(format!("`{id}`: {}", title.unwrap_or_default()));
    }
    match candidates.len().saturating_sub(SHOWN) {
        0 => failure,
        more => failure.hint(format!("and {more} more")),
    }
}

/// Opens the archive for a list of things that happened in sessions. Returns it with the sessions and the period
/// of the list.
fn open_listing(
    ctx: &Context,
    printer: &mut Printer,
    list: &Listing,
) -> Result<(Library, Vec<SessionId>, Period)> {
    require_given(ctx)?;
    let library = Library::open(ctx, printer, &list.filters.project)?;
    let filter = list.filters.filter(ctx, &library.all)?;
    let wanted = wanted_sessions(&library.all, &filter, &list.kind);
    let ids = counted(&library.all, wanted.as_ref(), &list.kind);
    Ok((library, ids, filter.period))
}

/// Returns the ids of the sessions that a count is limited to, or `None` for all.
fn wanted_sessions(
    all: &Collection,
    filter: &query::Filter,
    kinds: &[Kind],
) -> Option<BTreeSet<SessionId>> {
    let narrowed = filter.narrows() || !kinds.is_empty();
    let takes = |session: &Session| {
        let kind = kinds.is_empty() || kinds.iter().any(|k| SessionKind::from(*k) == session.kind);
        kind && filter.takes_owner(session)
    };
    narrowed.then(|| all.sessions.iter().filter(|s| takes(s)).map(|s| s.id.clone()).collect())
}

/// Returns the ids of the sessions to count: no checkpoints unless asked for, because they are copies.
fn counted(
    all: &Collection,
    wanted: Option<&BTreeSet<SessionId>>,
    kinds: &[Kind],
) -> Vec<SessionId> {
    let is_copy = |session: &Session| {
        session.kind == SessionKind::Checkpoint && !kinds.contains(&Kind::Checkpoint)
    };
    let takes = |session: &&Session| {
        !is_copy(session) && wanted.is_none_or(|wanted| wanted.contains(&session.id))
    };
    all.sessions.iter().filter(takes).map(|session| session.id.clone()).collect()
}

fn cannot_count(error: ArchiveError) -> Failure {
    Failure::new("cannot count").because(error)
}

fn cannot_read(error: ArchiveError) -> Failure {
    Failure::new("cannot read the tool calls").because(error)
}

/// Explains that there are no sessions at all: the places searched, and what to do.
fn empty(ctx: &Context, found: &Discovery) -> Failure {
    let mut failure = Failure::nothing("no sessions were found");
    for looked in &found.looked {
        let state = state(found, looked);
        failure = failure.hint(format!("looked in `{}`: {state}", ctx.show(&looked.path)));
    }
    for problem in &found.problems {
        failure = failure.hint(format!("`{}`: {}", ctx.show(&problem.path), problem.what));
    }
    ELSEWHERE.iter().fold(failure, |failure, hint| failure.hint(*hint))
}

/// Explains that nothing matches: there are no sessions, no project has that name, or simply `what`.
fn nothing(ctx: &Context, all: &Collection, filters: &Filters, what: &str) -> Failure {
    if all.sessions.is_empty() {
        return empty(ctx, &all.found);
    }
    here::unknown(all, &filters.project).unwrap_or_else(|| Failure::nothing(what))
}

/// Describes a place in which nothing was found.
fn state(found: &Discovery, looked: &SearchedPlace) -> &'static str {
    let is_here = |p: &Problem| p.path == looked.path || p.path == looked.path.join("tmp");
    let is_below = |problem: &Problem| problem.path.starts_with(&looked.path);
    match looked.exists {
        false => "not there",
        true if found.problems.iter().any(is_here) => "cannot be read",
        true if found.problems.iter().any(is_below) => "not all of it can be read",
        true => "nothing in it",
    }
}

/// Warns about faults that may make the answer incomplete.
fn tell_faults(printer: &mut Printer, library: &Library) {
    if library.faults.records > 0 {
        let faults = plural(library.faults.records, "fault", "faults");
        printer.note(format!("{faults} while reading; see `backstory doctor`."));
    }
}

fn strictly(ctx: &Context, library: &Library) -> Exit {
    if ctx.strict && library.faults.records > 0 { Exit::NoMatch } else { Exit::Success }
}

/// Fails if a path given with `--from` does not exist. Only the doctor reports that as a finding.
fn require_given(ctx: &Context) -> Result<()> {
    let missing = |path: &&PathBuf| !path.exists();
    match ctx.from.iter().find(missing) {
        None => Ok(()),
        Some(path) => Err(Failure::new(format!("`{}` does not exist", ctx.show(path)))
            .hint("`--from` takes a session file, or a folder: a home, or one of an agent")),
    }
}

/// Hints for an empty result.
const ELSEWHERE: [&str; 2] = [
    "read another folder: `backstory --from FOLDER`, or `roots` in the config file",
    "or explore the bundled sample sessions: `backstory --demo`",
];
