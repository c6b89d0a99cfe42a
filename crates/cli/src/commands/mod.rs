//! One file a command: its arguments, whose doc comment is the help, and `run`.

mod budget;
mod completions;
mod doctor;
mod export;
mod man;
mod overview;
mod pricing;
mod projects;
mod redact;
mod sessions;
mod shell;
mod show;
mod tools;
mod usage;
mod verify;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::{self, Assembled, Candidates};
use backstory_core::archive::ArchiveError;
use backstory_core::collection::{Collection, NotOne};
use backstory_core::discover::Found;
use backstory_core::model::{Session, SessionKind};
use backstory_core::pricing::{PricingError, Table};
use backstory_core::query;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Kind;
use crate::output::Printer;
use crate::output::number::plural;
use crate::survey;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Sessions(sessions::Sessions),
    Show(show::Show),
    Usage(usage::Usage),
    Tools(tools::Tools),
    Commands(shell::Commands),
    Projects(projects::Projects),
    Export(export::Export),
    Redact(redact::Redact),
    Verify(verify::Verify),
    Pricing(pricing::Pricing),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

pub(crate) fn run(ctx: &Context, printer: &mut Printer, command: Option<&Command>) -> Result<Exit> {
    match command {
        None => overview::run(ctx, printer),
        Some(Command::Sessions(args)) => sessions::run(ctx, printer, args),
        Some(Command::Show(args)) => show::run(ctx, printer, args),
        Some(Command::Usage(args)) => usage::run(ctx, printer, args),
        Some(Command::Tools(args)) => tools::run(ctx, printer, args),
        Some(Command::Commands(args)) => shell::run(ctx, printer, args),
        Some(Command::Verify(args)) => verify::run(ctx, printer, args),
        Some(Command::Pricing(args)) => pricing::run(ctx, printer, args),
        Some(Command::Projects(args)) => projects::run(ctx, printer, args),
        Some(Command::Export(args)) => export::run(ctx, printer, args),
        Some(Command::Redact(args)) => redact::run(ctx, printer, args),
        Some(Command::Doctor(args)) => doctor::run(ctx, printer, args),
        Some(Command::Completions(args)) => completions::run(printer, args),
        Some(Command::Man(args)) => man::run(printer, args),
    }
}

/// Finds and reads everything, with a counter where somebody waits. A project that is asked for and
/// not known may be one of those of which only the hash is: then its folder is looked for.
fn collect(ctx: &Context, printer: &Printer, wanted: &[String]) -> Collection {
    let found = survey::discover(&ctx.env, &ctx.from, &ctx.roots);
    let candidates = candidates(ctx);
    let all = read(printer, found, &candidates);
    let filter = query::Filter { projects: wanted.to_vec(), ..query::Filter::default() };
    let fits = all.sessions.iter().any(|s| filter.takes_project(&s.session.project));
    if wanted.is_empty() || fits {
        return all;
    }
    let found = projects::scan(ctx, &all);
    if found.is_empty() { all } else { reread(printer, ctx, all, found) }
}

fn read(printer: &Printer, found: Found, candidates: &Candidates) -> Collection {
    let progress = printer.progress(found.sources.len());
    Collection::read(found, candidates, &|_| progress.tick())
}

/// Reads again with more paths to try.
fn reread(printer: &Printer, ctx: &Context, all: Collection, paths: Vec<PathBuf>) -> Collection {
    let mut found = all.found;
    found.sources = all.files.into_iter().map(|file| file.source).collect();
    let mut candidates = candidates(ctx);
    candidates.paths.extend(paths);
    read(printer, found, &candidates)
}

/// Paths that may explain a hash without any search.
fn candidates(ctx: &Context) -> Candidates {
    let links = ctx.projects.links.iter().map(|(hash, path)| (hash.clone(), path.clone()));
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(cwd) = &ctx.cwd {
        paths.extend(cwd.ancestors().map(Path::to_owned));
        paths.extend(gemini::worktrees(cwd));
    }
    paths.extend(ctx.projects.links.values().flat_map(|path| gemini::worktrees(Path::new(path))));
    Candidates { links: links.collect(), paths }
}

/// The session that was named, or the file, which is then read alone. Gives its place in the list.
fn open_session(ctx: &Context, printer: &Printer, name: &OsStr) -> Result<(Collection, usize)> {
    let path = Path::new(name);
    if path.is_file() {
        let all = read(printer, gemini::discover_given(path), &candidates(ctx));
        let main = all.sessions.iter().position(|assembled| assembled.session.turns > 0);
        return match (main, all.sessions.is_empty()) {
            (Some(at), _) => Ok((all, at)),
            (None, false) => Ok((all, 0)),
            (None, true) => Err(no_conversation(ctx, path, &all)),
        };
    }
    let name = name.to_string_lossy();
    let all = collect(ctx, printer, &[]);
    let found = all.find(&name).map(|assembled| assembled.session.id.clone());
    let place = |id: &str| all.sessions.iter().position(|s| s.session.id == id).unwrap_or(0);
    match found {
        Ok(id) => {
            let at = place(&id);
            Ok((all, at))
        }
        Err(NotOne::Several { wanted, candidates }) => Err(ambiguous(&all, &wanted, &candidates)),
        Err(NotOne::None(_)) if path.is_dir() => Err(Failure::new(format!("`{name}` is a folder"))
            .hint("name a file in it, or a session with `--from FOLDER`")),
        Err(NotOne::None(_)) if all.sessions.is_empty() => Err(empty(ctx, &all.found)),
        Err(none) => Err(Failure::nothing(none.to_string())
            .hint("name it by its id, the beginning of its id, `latest`, `@N`, or a file")
            .hint("`backstory sessions` lists them")),
    }
}

fn no_conversation(ctx: &Context, path: &Path, all: &Collection) -> Failure {
    let failure = Failure::new(format!("`{}` holds no conversation", ctx.show(path)));
    match all.files.first().map(|file| &file.holds) {
        Some(gemini::Holds::Nothing(shape)) => {
            failure.because(format!("the file is: {}", shape.name()))
        }
        Some(gemini::Holds::Unreadable) => failure.because("it cannot be read"),
        _ => failure,
    }
}

fn ambiguous(all: &Collection, wanted: &str, candidates: &[String]) -> Failure {
    const SHOWN: usize = 10;
    let mut failure = Failure::new(format!("`{wanted}` can mean {} sessions", candidates.len()));
    for id in candidates.iter().take(SHOWN) {
        let title = all.sessions.iter().find(|s| s.session.id == *id).map(|s| s.session.title().0);
        failure = failure.hint(format!("`{id}`: {}", title.unwrap_or_default()));
    }
    match candidates.len().saturating_sub(SHOWN) {
        0 => failure,
        more => failure.hint(format!("and {more} more")),
    }
}

/// The beginning of an id that no other session shares, at least 8 characters.
fn short(all: &Collection, session: &Session) -> String {
    let shared = |length: usize| {
        let start: String = session.id.chars().take(length).collect();
        all.sessions
            .iter()
            .filter(|other| other.session.kind == session.kind && other.session.id != session.id)
            .any(|other| other.session.id.starts_with(&start))
    };
    let whole = session.id.chars().count();
    if session.id.contains('/') {
        return session.id.clone();
    }
    let length = [8, 13, 18, 23].into_iter().find(|length| !shared(*length)).unwrap_or(whole);
    session.id.chars().take(length).collect()
}

/// The price table that comes with the program, with the user's own rows on top.
fn prices(ctx: &Context) -> Result<Table> {
    let mut table = Table::embedded();
    let bad = |name: &str, error: PricingError| {
        Failure::new(format!("cannot use the prices of `{name}`"))
            .because(error)
            .hint("docs/pricing.md shows the forms: our own, or LiteLLM's JSON")
    };
    if !ctx.prices.is_empty() {
        table = table
            .with_rows(ctx.prices.clone(), "the config file")
            .map_err(|error| bad("[[prices]] in the config file", error))?;
    }
    if let Some(file) = &ctx.pricing {
        let name = ctx.show(file);
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(format!("cannot read the prices of `{name}`")).because(error)
        })?;
        table = table.with_file(&text, &name).map_err(|error| bad(&name, error))?;
    }
    Ok(table)
}

/// The ids of the sessions that a count is narrowed to; none for all.
fn wanted_sessions(
    all: &Collection,
    filter: &query::Filter,
    kinds: &[Kind],
) -> Option<BTreeSet<String>> {
    let narrowed = !filter.projects.is_empty() || !filter.agents.is_empty() || !kinds.is_empty();
    let takes = |session: &Session| {
        let kind = kinds.is_empty() || kinds.iter().any(|k| SessionKind::from(*k) == session.kind);
        let agent =
            filter.agents.is_empty() || filter.agents.iter().any(|a| a == session.agent.name());
        kind && agent && filter.takes_project(&session.project)
    };
    narrowed.then(|| {
        let sessions = all.sessions.iter().map(|s| &s.session);
        sessions.filter(|s| takes(s)).map(|s| s.id.clone()).collect()
    })
}

/// Whether a session takes part in counts.
fn is_counted(assembled: &Assembled, wanted: Option<&BTreeSet<String>>, kinds: &[Kind]) -> bool {
    let session = &assembled.session;
    let is_copy = session.kind == SessionKind::Checkpoint && !kinds.contains(&Kind::Checkpoint);
    !is_copy && wanted.is_none_or(|wanted| wanted.contains(&session.id))
}

fn cannot_count(error: ArchiveError) -> Failure {
    Failure::new("cannot count").because(error)
}

/// There is no session at all: where it looked, and what to do.
fn empty(ctx: &Context, found: &Found) -> Failure {
    let mut failure = Failure::nothing("no sessions of Gemini CLI were found");
    for looked in &found.looked {
        let state = if looked.exists { "nothing in it" } else { "not there" };
        failure = failure.hint(format!("looked in `{}`: {state}", ctx.show(&looked.path)));
    }
    ELSEWHERE.iter().fold(failure, |failure, hint| failure.hint(*hint))
}

/// How many faults there are, where the answer may lack something by them.
fn tell_faults(printer: &mut Printer, all: &Collection) {
    let faults = real_faults(all);
    if faults > 0 {
        let faults = plural(faults as u64, "fault", "faults");
        printer.note(format!("{faults} while reading; `backstory doctor` tells more."));
    }
}

fn real_faults(all: &Collection) -> usize {
    let details = all.files.iter().flat_map(|file| &file.faults.details);
    details.filter(|fault| !fault.what.is_pending()).count()
}

fn strictly(ctx: &Context, all: &Collection) -> Exit {
    if ctx.strict && real_faults(all) > 0 { Exit::Nothing } else { Exit::Fine }
}

/// A path that somebody typed must be there; only the doctor takes it as a finding.
fn require_given(ctx: &Context) -> Result<()> {
    let missing = |path: &&PathBuf| !path.exists();
    match ctx.from.iter().find(missing) {
        None => Ok(()),
        Some(path) => Err(Failure::new(format!("`{}` does not exist", ctx.show(path)))
            .hint("`--from` takes a session file, or any folder from a home to a `chats` folder")),
    }
}

/// What to do when nothing was found.
const ELSEWHERE: [&str; 2] = [
    "point it elsewhere: `backstory --from FOLDER`, or `roots` in the config file",
    "or look around with made-up sessions: `backstory --demo`",
];
