//! Exports many sessions into a folder, one file per session, with an index.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use backstory_core::collection::newest_first;
use backstory_core::export::index::{self, Entry};
use backstory_core::model::{Session, SessionKind};

use super::name::{Names, names};
use super::target::{check_folder, existing};
use super::{Export, Format, Writer, native};
use crate::commands::{self, redact::Censor};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::library::cannot_write;
use crate::output::Printer;
use crate::output::number::plural;
use crate::save::{Batch, save};

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let folder = args.output.as_deref().filter(|output| *output != Path::new("-"));
    let folder = folder.ok_or_else(|| {
        Failure::new("many sessions are written to a folder, one file each")
            .hint("name the folder with `-o FOLDER`")
    })?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let mut filter = args.filters.filter(ctx, &library.all)?;
    // A checkpoint repeats the content of a session.
    filter.kinds = vec![SessionKind::Main, SessionKind::Subagent, SessionKind::Background];
    let sessions: Vec<&Session> =
        library.all.sessions.iter().filter(|s| filter.takes(s) && s.turns > 0).collect();
    if sessions.is_empty() {
        return Err(Failure::nothing("no sessions match").hint("`backstory sessions` lists them"));
    }
    let ids: Vec<String> = sessions.iter().map(|session| session.id.clone()).collect();
    let names = rehearse(ctx, args, &library, &sessions, censor)?;
    let sessions: Vec<Session> =
        sessions.into_iter().map(|session| censor.session(session)).collect();
    let index = match args.format {
        Format::Html => Some("index.html"),
        Format::Markdown => Some("index.md"),
        _ => None,
    };
    let files = names.values().map(String::as_str).chain(index);
    check_folder(ctx, folder, files, args.force)?;

    let writer = Writer::new(ctx, args, &library, &names, censor)?;
    let progress = printer.counter(("writing", "sessions"), sessions.len());
    let mut batch = Batch::default();
    let (mut written, mut failures) = (0, Vec::new());
    library
        .each(&ids, |assembled| {
            progress.tick();
            if args.format == Format::Gemini && !native::has_form(&assembled) {
                return Ok(());
            }
            let file = folder.join(&names[&assembled.session.id]);
            let content = |out: &mut dyn Write| writer.session(&assembled, out);
            match batch.save(&file, existing(args.force), None, content) {
                Ok(()) => written += 1,
                Err(error) => failures.push((file, error)),
            }
            Ok(())
        })
        .map_err(|error| Failure::new("cannot read the sessions").because(error))?;
    drop(progress);
    let unfinished = batch.finish();
    written -= unfinished.len() as u64;
    failures.extend(unfinished);
    if let Some(index) = index {
        let entries = entries(sessions.iter().collect(), |session| Entry {
            session,
            file: &names[&session.id],
            cost: writer.costs.of(&session.id),
        });
        let file = folder.join(index);
        save(&file, existing(args.force), |out| match args.format {
            Format::Html => index::html(&entries, &ctx.zone, out),
            _ => index::markdown(&entries, &ctx.zone, out),
        })
        .map_err(|error| cannot_write(ctx, &file, error))?;
    }
    let failures = failures.into_iter().map(|(file, error)| cannot_write(ctx, &file, error));
    let failures = failures.collect();
    tell(ctx, printer, folder, written, failures)?;
    commands::tell_faults(printer, &library);
    Ok(commands::strictly(ctx, &library))
}

/// Reads everything that will be written, to learn its secrets; returns the names of the files.
fn rehearse(
    ctx: &Context,
    args: &Export,
    library: &Library,
    sessions: &[&Session],
    censor: &Censor<'_>,
) -> Result<Names> {
    // Only the set of sessions with a file matters here.
    let unredacted = names(sessions.iter().copied(), args.format.ending());
    let writer = Writer::new(ctx, args, library, &unredacted, censor)?;
    let ids: Vec<String> = sessions.iter().map(|session| session.id.clone()).collect();
    censor
        .rehearse(|out| {
            for session in sessions {
                censor.session(session);
            }
            library.each(&ids, |assembled| {
                // A session that cannot be read is reported when it is written.
                if args.format != Format::Gemini || native::has_form(&assembled) {
                    let _ = writer.session(&assembled, out);
                }
                Ok(())
            })
        })
        .map_err(|error| Failure::new("cannot read the sessions").because(error))?;
    let redacted: Vec<Session> = sessions.iter().map(|session| censor.session(session)).collect();
    Ok(names(redacted.iter(), args.format.ending()))
}

/// Lists the newest session first, each followed by its subagents.
fn entries<'a>(
    mut sessions: Vec<&'a Session>,
    entry: impl Fn(&'a Session) -> Entry<'a>,
) -> Vec<Entry<'a>> {
    newest_first(&mut sessions);
    let ids: HashSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let parent = |session: &Session| session.parent.as_deref().and_then(|id| ids.get(id)).copied();
    let mut children: HashMap<&str, Vec<&Session>> = HashMap::new();
    for session in &sessions {
        if let Some(parent) = parent(session) {
            children.entry(parent).or_default().push(session);
        }
    }
    let mut out = Vec::new();
    for session in sessions.iter().filter(|session| parent(session).is_none()) {
        out.push(entry(session));
        let own = children.get(session.id.as_str()).into_iter().flatten();
        out.extend(own.map(|child| entry(child)));
    }
    out
}

fn tell(
    ctx: &Context,
    printer: &mut Printer,
    folder: &Path,
    written: u64,
    mut failures: Vec<Failure>,
) -> Result<()> {
    let written = plural(written, "session", "sessions");
    printer.note(format!("wrote {written} to `{}`", ctx.show(folder)));
    let Some(last) = failures.pop() else { return Ok(()) };
    for failure in &failures {
        printer.failure(failure);
    }
    Err(last)
}
