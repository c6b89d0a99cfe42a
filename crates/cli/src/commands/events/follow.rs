//! Prints events as they happen.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::discover::{Discovery, Source};
use backstory_core::export::events::{Choice, EventCursor};
use backstory_core::model::{EventType, SessionId};
use backstory_core::time::Period;

use super::{Censor, Stream};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::cannot_open;
use crate::output::Printer;
use crate::watcher::Watcher;

/// Prints new events until the user ends the run. With `--since`, earlier events since then are printed
/// first.
pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    session: Option<&OsStr>,
    mut choice: Choice,
    mut stream: Stream,
    censor: &Censor<'_>,
) -> Result<()> {
    if ctx.no_sync {
        return Err(Failure::new(
            "`--follow` reads changes, so it cannot be combined with `--no-sync`",
        ));
    }
    // A followed session may always continue.
    choice.types.retain(|kind| *kind != EventType::SessionEnd);
    if choice.types.is_empty() {
        return Err(Failure::new("`--follow` never prints `session_end`, the only type asked for"));
    }
    let file = session.map(Path::new).filter(|path| path.is_file());
    let look = || match file {
        Some(file) => Agents::default().discover_at(file),
        None => ctx.discover(),
    };
    let mut watcher = Watcher::new(look, &stream.library.all.found, None);
    let mut cursors: HashMap<SessionId, EventCursor> = HashMap::new();
    if choice.period.since.is_some() {
        print_new(printer, &stream, &stream.chosen(), &choice, censor, &mut cursors)?;
    } else {
        let everything = Choice { period: Period::default(), ..choice.clone() };
        let ids = stream.chosen();
        let progress = printer.counter(("reading", "sessions"), ids.len());
        // A session that cannot be read now is printed once it can be.
        let _ = stream.library.each(&ids, |assembled| {
            let cursor = cursors.entry(assembled.session.id.clone()).or_default();
            let nobody = &mut io::sink();
            let _ = stream.write_new(assembled, &everything, &Censor::new(None), cursor, nobody);
            progress.tick();
            Ok(())
        });
    }
    printer.note("Following; press Ctrl-C to stop.");
    while let Some(found) = watcher.next() {
        let changed = changed(&stream.library.all.found, &found);
        if let Err(error) = stream.library.refresh(ctx, found, &|_| {}) {
            if !error.passes() {
                return Err(cannot_open(error));
            }
            printer.warn(format!("{error}; trying again"));
            watcher.again();
            continue;
        }
        let has_changed = |id: &SessionId| {
            let session = stream.library.all.get(id);
            session.is_some_and(|s| s.parts.iter().any(|part| changed.contains(&part.file)))
        };
        let ids: Vec<SessionId> = stream.chosen().into_iter().filter(has_changed).collect();
        print_new(printer, &stream, &ids, &choice, censor, &mut cursors)?;
    }
    Ok(())
}

/// Prints the new events of sessions. A session that cannot be read, for example because it is being
/// deleted, is only a warning.
fn print_new(
    printer: &mut Printer,
    stream: &Stream,
    ids: &[SessionId],
    choice: &Choice,
    censor: &Censor<'_>,
    cursors: &mut HashMap<SessionId, EventCursor>,
) -> Result<()> {
    let mut printed: io::Result<()> = Ok(());
    let read = stream.library.each(ids, |assembled| {
        if printed.is_err() {
            return Ok(());
        }
        let id = assembled.session.id.clone();
        let mut lines = Vec::new();
        let cursor = cursors.entry(id.clone()).or_default();
        if let Err(error) = stream.write_new(assembled, choice, censor, cursor, &mut lines) {
            printer.warn(format!("cannot read session `{id}`: {error}"));
        }
        printed = printer.data().and_then(|mut out| {
            out.write_all(&lines)?;
            out.flush()
        });
        Ok(())
    });
    if let Err(error) = read {
        printer.warn(format!("cannot read sessions: {error}"));
    }
    Ok(printed?)
}

/// Returns the files that are new or have changed.
fn changed(before: &Discovery, after: &Discovery) -> HashSet<PathBuf> {
    let known: HashMap<&Path, &Source> =
        before.sources.iter().map(|source| (source.path.as_path(), source)).collect();
    let is_new = |source: &&Source| known.get(source.path.as_path()) != Some(source);
    after.sources.iter().filter(is_new).map(|source| source.path.clone()).collect()
}
