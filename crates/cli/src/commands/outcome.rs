//! How commands end: with a long answer in the pager, without a match, with something that cannot be read, with faults.

use backstory_core::archive::ArchiveError;
use backstory_core::collection::Collection;
use backstory_core::discover::{Discovery, Problem, SearchedPlace};

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Filters;
use crate::here;
use crate::library::Library;
use crate::output::Printer;
use crate::output::number::plural;

/// Hints for an empty result.
pub(super) const ELSEWHERE: [&str; 2] = [
    "read another folder: `backstory --from FOLDER`, or `roots` in the config file",
    "or explore the bundled sample sessions: `backstory --demo`",
];

pub(super) fn cannot_count(error: ArchiveError) -> Failure {
    Failure::new("cannot count").because(error)
}

pub(super) fn cannot_read(error: ArchiveError) -> Failure {
    Failure::new("cannot read the tool calls").because(error)
}

/// Explains that there are no sessions at all: the places searched, and what to do.
pub(super) fn empty(ctx: &Context, found: &Discovery) -> Failure {
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
pub(super) fn nothing(ctx: &Context, all: &Collection, filters: &Filters, what: &str) -> Failure {
    if all.sessions.is_empty() {
        return empty(ctx, &all.found);
    }
    here::unknown(all, &filters.project).unwrap_or_else(|| Failure::nothing(what))
}

/// Describes a place in which nothing was found.
pub(super) fn state(found: &Discovery, looked: &SearchedPlace) -> &'static str {
    let is_here = |p: &Problem| p.path == looked.path || p.path == looked.path.join("tmp");
    let is_below = |problem: &Problem| problem.path.starts_with(&looked.path);
    match looked.exists {
        false => "not there",
        true if found.problems.iter().any(is_here) => "cannot be read",
        true if found.problems.iter().any(is_below) => "not all of it can be read",
        true => "nothing in it",
    }
}

/// Sends the rest of a long answer through the pager, if stdout is a terminal; `jump` is a text to start at.
pub(super) fn page(ctx: &Context, printer: &mut Printer, jump: Option<&str>) -> Result<()> {
    printer.page(&ctx.pager, jump).map_err(|error| {
        Failure::new(format!("cannot start the pager `{}`", ctx.pager))
            .because(error)
            .hint("`PAGER` names the program to use")
    })
}

/// Warns about faults that may make the answer incomplete.
pub(super) fn note_faults(printer: &mut Printer, library: &Library) {
    if library.faults.records > 0 {
        let faults = plural(library.faults.records, "fault", "faults");
        printer.note(format!("{faults} while reading; see `backstory doctor`."));
    }
}

/// Returns the exit code of an answer from a library, in which there may have been faults.
pub(super) fn exit_code(ctx: &Context, library: &Library) -> Exit {
    ctx.exit_code(library.faults.records > 0)
}
