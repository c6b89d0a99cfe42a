//! One file a command: its arguments, whose doc comment is the help, and `run`.

mod completions;
mod doctor;
mod export;
mod man;
mod overview;

use std::path::PathBuf;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::output::Printer;
use crate::survey::{self, Survey};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Doctor(doctor::Doctor),
    Export(export::Export),
    Completions(completions::Completions),
    Man(man::Man),
}

pub(crate) fn run(ctx: &Context, printer: &mut Printer, command: Option<&Command>) -> Result<Exit> {
    match command {
        None => overview::run(ctx, printer),
        Some(Command::Doctor(args)) => doctor::run(ctx, printer, args),
        Some(Command::Export(args)) => export::run(ctx, printer, args),
        Some(Command::Completions(args)) => completions::run(printer, args),
        Some(Command::Man(args)) => man::run(printer, args),
    }
}

/// Finds and reads everything, with a counter where somebody waits.
fn survey(ctx: &Context, printer: &Printer) -> Survey {
    let found = survey::discover(&ctx.env, &ctx.from, &ctx.roots);
    let progress = printer.progress(found.sources.len());
    Survey::take(found, &|| progress.tick())
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
