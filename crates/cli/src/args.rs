//! The command line: the flags that every command takes, and the commands.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::commands::Command;
use crate::error::Exit;
use crate::options::{Global, values};
use crate::output::{Printer, Terminal, Verbosity, style};

const EXAMPLES: &str = "\
Examples:
  backstory                        an overview: recent sessions, projects, upcoming deletions
  backstory --demo                 the same for the bundled sample sessions
  backstory search 'login bug'     find a conversation, even in deleted sessions
  backstory usage --since this-month
                                   tokens and cost, day by day
  backstory resume 3f2a            continue a session, restoring it first if it was deleted
  backstory --from ~/backup/.gemini doctor
                                   check a copy of the agent's folder
  backstory export 3f2a --format gemini -o session.json
                                   one session, as `gemini --session-file` reads it

Exit codes: 0 success; 1 nothing matched, a budget is exceeded, or faults with --strict;
2 usage error or failure; 130 interrupted.";

/// The story behind your code: every session your coding agent left on your disk
///
/// backstory reads the sessions that Claude Code, Codex CLI and Gemini CLI keep on your disk and never changes them; only
/// `restore` and `resume` write there, to bring back deleted sessions. Without a command, it prints an
/// overview.
#[derive(Debug, Parser)]
#[command(
    name = "backstory",
    version,
    styles = style::HELP,
    after_help = EXAMPLES,
    max_term_width = 100,
    subcommand_help_heading = "Commands"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Parses the command line. Help, versions and usage errors are printed here.
pub(crate) fn parse() -> Result<Args, Exit> {
    let typed: Vec<_> = std::env::args_os().collect();
    let command = Args::command().color(help_color(&typed));
    let parsed = command.try_get_matches_from(&typed).and_then(|m| Args::from_arg_matches(&m));
    let parsed = parsed.map(|mut args| {
        args.global.from = values(&typed, "--from").map(PathBuf::from).collect();
        args
    });
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // If printing fails, there is nobody left to report it to.
            let _ = error.print();
            Exit::Success
        }
        _ => {
            print_mistake(&error, help_color(&typed));
            Exit::Failed
        }
    })
}

/// Prints a usage error. The parser repeats the arguments verbatim, and those may contain anything.
fn print_mistake(error: &clap::Error, color: clap::ColorChoice) {
    let color = match color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    let mut printer = Printer::new(color, Terminal::look(), Verbosity::Normal);
    printer.mistake(&error.render().to_string());
}

/// Finds `--color` by hand, because help is printed before the command line is parsed.
fn help_color(typed: &[OsString]) -> clap::ColorChoice {
    match values(typed, "--color").last().and_then(OsStr::to_str) {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_agrees_with_itself() {
        Args::command().debug_assert();
    }
}
