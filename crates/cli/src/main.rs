//! `backstory`, the program: reads the command line and its environment, runs one command, and exits with a
//! code for the result.
//!
//! `args` is the command line, with the flags of all commands in `options`; `context` reads the environment and the
//! clock; `commands` has one file per command, and `output` does all printing. `library` is the archive of a run.
//! `filters` and `here` decide what a command is about, `mistake` and `follow_up` what messages suggest, `complete`
//! what a shell may complete. `program`, `extension` and `watcher` deal with other programs, `save` with files, and
//! `last_search` remembers the hits that other commands may name.

mod args;
mod commands;
mod complete;
mod config;
mod context;
mod demo;
mod error;
mod exclude;
mod extension;
mod filters;
mod follow_up;
mod help;
mod here;
mod interrupt;
mod last_search;
mod library;
mod mistake;
mod options;
mod output;
mod program;
mod save;
mod shell_word;
mod watcher;

use std::process::ExitCode;

use args::{Args, Parsed};
use clap::CommandFactory as _;
use context::Context;
use error::{Exit, Result};
use output::{Printer, Terminal};

fn main() -> ExitCode {
    if complete::answer(Args::command) {
        return ExitCode::SUCCESS;
    }
    interrupt::listen();
    let parsed = match args::parse() {
        Ok(parsed) => parsed,
        Err(exit) => return exit.into(),
    };
    let global = parsed.global();
    let color = global.color.unwrap_or(options::Color::Auto);
    let mut printer = Printer::new(color.into(), Terminal::look(), global.verbosity());
    let ran = match &parsed {
        Parsed::Command(args) => run(args, &mut printer).map(ExitCode::from),
        Parsed::Extension(extension) => extension.run(&mut printer),
    };
    match ran {
        Ok(code) => code,
        Err(failure) if failure.is_closed_pipe() => Exit::Success.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(args: &Args, printer: &mut Printer) -> Result<Exit> {
    let mut ctx = Context::new(&args.global)?;
    ctx.must_write = args.command.as_ref().is_some_and(commands::Command::annotates);
    if ctx.must_write && ctx.is_demo() {
        ctx.archive.clone_from(&ctx.own_archive);
    }
    printer.adopt(ctx.color, ctx.env.home.as_deref(), &ctx.follow_up);
    let exit = commands::run(&ctx, printer, args.command.as_ref(), Args::command);
    let printed = printer.flush();
    // Capture even if nothing was found, or if the reader of our output has gone away.
    if args.command.as_ref().is_none_or(commands::Command::reads) {
        let captured = library::capture(&ctx, printer);
        if exit.is_ok() {
            captured?;
        }
    }
    printed?;
    exit
}
