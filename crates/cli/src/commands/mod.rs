//! One file per command: its arguments, whose doc comments are the help, and `run`. `selection` and `outcome` are shared
//! by many.

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
mod outcome;
mod overview;
mod pricing;
pub(crate) mod projects;
mod prompts;
mod redact;
mod restore;
mod resume;
mod search;
mod secrets;
mod selection;
mod serve;
mod sessions;
mod shell_commands;
mod show;
mod sync;
mod tools;
mod usage;
mod verify;
mod watch;

use outcome::{
    ELSEWHERE, cannot_count, cannot_read, empty, exit_code, note_faults, nothing, page, state,
};
use selection::{
    ambiguous, counted, given_or_chosen, open_listing, open_session, require_given, wanted_sessions,
};

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::Printer;

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
