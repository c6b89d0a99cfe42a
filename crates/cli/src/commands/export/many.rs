//! Many sessions into a folder, a file each, and an index of them.

use std::path::Path;

use backstory_core::agent::gemini::Assembled;
use backstory_core::collection::{newest_first, session_cost};
use backstory_core::export::index::{self, Entry};
use backstory_core::model::SessionKind;
use rayon::prelude::*;

use super::name::names;
use super::target::{cannot_write, check_folder, save};
use super::{Export, Format, Writer};
use crate::commands;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::output::Printer;
use crate::output::number::plural;

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Export) -> Result<Exit> {
    let folder = args.output.as_deref().filter(|output| *output != Path::new("-"));
    let folder = folder.ok_or_else(|| {
        Failure::new("many sessions go into a folder, a file each").hint("`-o FOLDER` names it")
    })?;
    let prices = commands::prices(ctx)?;
    let all = commands::collect(ctx, printer, &args.filters.project);
    let mut filter = args.filters.filter(ctx)?;
    // A checkpoint repeats what a session did.
    filter.kinds = vec![SessionKind::Main, SessionKind::Subagent, SessionKind::Background];
    // Gemini CLI's form is made of its own files only.
    let is_its_own = |s: &Assembled| s.true_file.is_some() && !s.listed().any(|p| p.said.is_ours);
    let has_form = |s: &Assembled| args.format != Format::Gemini || is_its_own(s);
    let sessions: Vec<&Assembled> = all
        .sessions
        .iter()
        .filter(|s| filter.takes(s) && s.session.turns > 0 && has_form(s))
        .collect();
    if sessions.is_empty() {
        return Err(Failure::nothing("no session fits").hint("`backstory sessions` lists them"));
    }
    let names = names(sessions.iter().map(|s| &s.session), args.format.ending());
    let index = match args.format {
        Format::Html => Some("index.html"),
        Format::Markdown => Some("index.md"),
        _ => None,
    };
    let files = names.values().map(String::as_str).chain(index);
    check_folder(ctx, folder, files, args.force)?;

    let writer = Writer::new(ctx, args, &all, &prices, &names);
    let progress = printer.counter(("writing", "sessions"), sessions.len());
    let failures: Vec<Failure> = sessions
        .par_iter()
        .filter_map(|assembled| {
            let file = folder.join(&names[&assembled.session.id]);
            let saved = save(&file, args.force, |out| writer.session(assembled, out));
            progress.tick();
            saved.err().map(|error| cannot_write(ctx, &file, error))
        })
        .collect();
    drop(progress);
    if let Some(index) = index {
        let entries = entries(sessions.clone(), |assembled| Entry {
            session: &assembled.session,
            file: &names[&assembled.session.id],
            cost: session_cost(assembled, &prices),
        });
        let file = folder.join(index);
        save(&file, args.force, |out| match args.format {
            Format::Html => index::html(&entries, &ctx.zone, out),
            _ => index::markdown(&entries, &ctx.zone, out),
        })
        .map_err(|error| cannot_write(ctx, &file, error))?;
    }
    tell(ctx, printer, folder, sessions.len(), failures)?;
    commands::tell_faults(printer, &all);
    Ok(commands::strictly(ctx, &all))
}

/// The newest first, each followed by the agents it started.
fn entries<'a>(
    mut sessions: Vec<&'a Assembled>,
    entry: impl Fn(&'a Assembled) -> Entry<'a>,
) -> Vec<Entry<'a>> {
    newest_first(&mut sessions);
    let (children, rest): (Vec<_>, Vec<_>) = sessions.iter().partition(|s| {
        let parent = s.session.parent.as_deref();
        parent.is_some_and(|parent| sessions.iter().any(|other| other.session.id == parent))
    });
    let mut out = Vec::new();
    for assembled in rest {
        out.push(entry(assembled));
        let own = |child: &&&Assembled| {
            child.session.parent.as_deref() == Some(assembled.session.id.as_str())
        };
        out.extend(children.iter().filter(own).map(|child| entry(child)));
    }
    out
}

fn tell(
    ctx: &Context,
    printer: &mut Printer,
    folder: &Path,
    tried: usize,
    mut failures: Vec<Failure>,
) -> Result<()> {
    let written = plural((tried - failures.len()) as u64, "session", "sessions");
    printer.note(format!("wrote {written} to `{}`", ctx.show(folder)));
    let Some(last) = failures.pop() else { return Ok(()) };
    for failure in &failures {
        printer.failure(failure);
    }
    Err(last)
}
