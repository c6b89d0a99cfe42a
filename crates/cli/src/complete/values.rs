//! The values of arguments that only the archive knows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use backstory_core::archive::Archive;
use backstory_core::clean;
use backstory_core::collection::Collection;
use backstory_core::discover::Discovery;
use backstory_core::model::{Session, State};
use clap::Command;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};

use crate::context::Context;
use crate::options::{Global, values};
use crate::output::number::plural;

/// The maximum number of sessions that are offered before anything is typed.
const MOST: usize = 50;

/// Times that filters understand.
const TIMES: [(&str, &str); 9] = [
    ("today", "since midnight"),
    ("yesterday", "the day before"),
    ("this-week", "since Monday"),
    ("last-week", "the week before"),
    ("this-month", "since the first"),
    ("last-month", "the month before"),
    ("24h", "the last 24 hours"),
    ("7d", "the last seven days"),
    ("30d", "the last thirty days"),
];

/// The kinds of values that an argument takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values {
    Sessions,
    Deleted,
    Projects,
    Models,
    Tags,
    Machines,
    Branches,
    Times,
    Commands,
}

/// The command line so far, and the commands of the program.
pub(super) struct Source {
    words: Vec<OsString>,
    commands: Vec<(String, String)>,
}

impl Source {
    pub(super) fn new(program: &Command, words: &[OsString]) -> Self {
        let about = |one: &Command| {
            (
                one.get_name().to_owned(),
                one.get_about().map(ToString::to_string).unwrap_or_default(),
            )
        };
        Self { words: words.to_vec(), commands: program.get_subcommands().map(about).collect() }
    }

    /// Returns the values that begin with what was typed.
    pub(super) fn complete(&self, values: Values, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Some(word) = typed.to_str() else { return Vec::new() };
        let is_path = word.contains('/') || word.starts_with(['.', '~']);
        let found = match values {
            Values::Sessions | Values::Deleted if is_path => {
                return PathCompleter::file().complete(typed);
            }
            Values::Times => {
                TIMES.map(|(when, about)| (when.to_owned(), about.to_owned())).to_vec()
            }
            Values::Commands => self.commands.clone(),
            _ => self.load().map(|all| named(&all, values, word)).unwrap_or_default(),
        };
        let found = found.into_iter().filter(|(value, _)| value.starts_with(word));
        found.map(|(value, about)| CompletionCandidate::new(value).help(help(&about))).collect()
    }

    /// Loads the sessions of the archive that the command line names. A command that reads other
    /// places has none there.
    fn load(&self) -> Option<Collection> {
        let is_elsewhere = |word: &OsString| word == "--demo" || word == "--from";
        if self.words.iter().any(is_elsewhere) || values(&self.words, "--from").next().is_some() {
            return None;
        }
        let file = |flag| values(&self.words, flag).last().map(Into::into);
        let global =
            Global { archive: file("--archive"), config: file("--config"), ..Global::default() };
        let ctx = Context::new(&global).ok()?;
        let archive = Archive::open_without_log(ctx.archive.as_deref()?).ok()?;
        let all = Collection::new(&archive, Discovery::default()).ok()?;
        Some(match &ctx.cwd {
            Some(cwd) => all.at(cwd),
            None => all,
        })
    }
}

/// Returns a description as clap has it, on one line and without anything that a terminal obeys.
fn help(about: &str) -> Option<clap::builder::StyledStr> {
    let line: String = clean::one_line(about).collect();
    (!line.is_empty()).then(|| line.into())
}

fn named(all: &Collection, values: Values, word: &str) -> Vec<(String, String)> {
    match values {
        Values::Sessions => sessions(all, word),
        Values::Deleted => {
            let gone = all.listed().into_iter().filter(|session| session.state == State::Gone);
            gone.map(|session| described(all, session)).collect()
        }
        Values::Projects => {
            let path = |session: &Session| session.project.path.clone().unwrap_or_default();
            distinct(all, |session| vec![(session.project.name.clone(), path(session))])
        }
        Values::Models => counted(all, |session| session.models.clone()),
        Values::Tags => counted(all, |session| session.tags.clone()),
        Values::Machines => counted(all, |session| vec![session.machine.clone()]),
        Values::Branches => counted(all, |session| session.branch.iter().cloned().collect()),
        Values::Times | Values::Commands => Vec::new(),
    }
}

/// Returns `latest` and the sessions of the default list, the newest first; those that are in no
/// list, and names, only if their beginning was typed.
fn sessions(all: &Collection, word: &str) -> Vec<(String, String)> {
    let listed = all.listed();
    let latest = all.find("latest").ok();
    let latest = latest.map(|session| ("latest".to_owned(), session.title().0));
    if word.is_empty() {
        let newest = listed.into_iter().take(MOST).map(|session| described(all, session));
        return latest.into_iter().chain(newest).collect();
    }
    let others = all.sessions.iter().filter(|session| !session.is_listed());
    let names = all.sessions.iter().filter_map(|session| {
        Some((session.name.clone()?, format!("{} {}", all.short(session), session.project.name)))
    });
    let sessions = listed.into_iter().chain(others).map(|session| described(all, session));
    latest.into_iter().chain(names).chain(sessions).collect()
}

fn described(all: &Collection, session: &Session) -> (String, String) {
    (all.short(session), format!("{} · {}", session.title().0, session.project.name))
}

/// Returns each value once, with the number of sessions that have it.
fn counted(all: &Collection, of: impl Fn(&Session) -> Vec<String>) -> Vec<(String, String)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for value in all.sessions.iter().flat_map(of).filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().map(|(value, n)| (value, plural(n, "session", "sessions"))).collect()
}

/// Returns each value once, with the description of its first session.
fn distinct(
    all: &Collection,
    of: impl Fn(&Session) -> Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for (value, about) in all.sessions.iter().flat_map(of) {
        found.entry(value).or_insert(about);
    }
    found.into_iter().collect()
}
