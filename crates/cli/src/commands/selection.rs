//! Opens the archive for the sessions that a command is about: the one that is named, or those that its filters select.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use backstory_core::assemble::SessionFacts;
use backstory_core::collection::{Collection, LookupError};
use backstory_core::facts::Contents;
use backstory_core::model::{Session, SessionId, SessionKind};
use backstory_core::query;
use backstory_core::time::Period;

use super::browse;
use super::outcome::empty;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::filters::{Kind, Listing};
use crate::here;
use crate::last_search;
use crate::library::Library;
use crate::output::Printer;
use crate::shell_word::quote;

/// Fails if a path given with `--from` does not exist. Only the doctor reports that as a finding.
pub(super) fn require_given(ctx: &Context) -> Result<()> {
    let missing = |path: &&PathBuf| !path.exists();
    match ctx.from.iter().find(missing) {
        None => Ok(()),
        Some(path) => Err(Failure::new(format!("`{}` does not exist", ctx.show(path)))
            .hint("`--from` takes a session file, or a folder: a home, or one of an agent")),
    }
}

/// Returns the given session, or else the one that the user chooses in the terminal; none without a terminal.
pub(super) fn given_or_chosen(
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
pub(super) fn open_session(
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

/// Opens the archive for a list of things that happened in sessions. Returns it with the sessions and the period
/// of the list.
pub(super) fn open_listing(
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
pub(super) fn wanted_sessions(
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
pub(super) fn counted(
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

fn no_conversation(ctx: &Context, path: &Path, library: &Library) -> Failure {
    let failure = Failure::new(format!("`{}` contains no conversation", ctx.show(path)));
    let files = library.archive.files().unwrap_or_default();
    match files.first().map(|file| &file.about.contents) {
        Some(Contents::Nothing(what)) => failure.because(format!("the file is: {what}")),
        Some(Contents::Unreadable) => failure.because("it cannot be read"),
        _ => failure,
    }
}

pub(super) fn ambiguous(all: &Collection, wanted: &str, candidates: &[SessionId]) -> Failure {
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
