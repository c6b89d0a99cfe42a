//! The command line: the flags that every command takes, and the commands.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::commands::Command;
use crate::error::Exit;
use crate::extension::{self, Extension};
use crate::help;
use crate::mistake;
use crate::options::{Global, values};
use crate::output::{Printer, Terminal, Verbosity, style};

const EXAMPLES: &str = "\
Examples:
  backstory                           an overview: recent sessions, projects, upcoming deletions
  backstory --demo                    the same for the bundled sample sessions
  backstory search 'login bug'        find a conversation, even in deleted sessions
  backstory usage --since this-month  tokens and cost, day by day
  backstory resume latest             continue the latest session of this folder
  backstory digest --on yesterday     what you asked, what was changed and what it cost
  backstory export 3f2a --format html -o session.html

Exit codes: 0 success; 1 nothing matched, a budget is exceeded, or faults with --strict;
2 usage error or failure; 130 interrupted.";

/// The story behind your code: every session your coding agent left on your disk
///
/// backstory reads the sessions that Claude Code, Codex CLI and Gemini CLI keep on your disk and never changes them;
/// only `restore` and `resume` write there, to bring back deleted sessions. Without a command, it prints an overview.
#[derive(Debug, Parser)]
#[command(
    name = "backstory",
    version,
    styles = style::HELP,
    after_help = EXAMPLES
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command line that was understood.
#[derive(Debug)]
pub(crate) enum Parsed {
    Command(Box<Args>),
    Extension(Box<Extension>),
}

impl Parsed {
    pub(crate) fn global(&self) -> &Global {
        match self {
            Self::Command(args) => &args.global,
            Self::Extension(extension) => &extension.global,
        }
    }
}

/// Parses the command line. Help, versions and usage errors are printed here.
pub(crate) fn parse() -> Result<Parsed, Exit> {
    let typed: Vec<_> = std::env::args_os().collect();
    let command = help::arranged(Args::command());
    let parsed = command.try_get_matches_from(&typed).and_then(|m| Args::from_arg_matches(&m));
    let parsed = match parsed {
        Ok(mut args) => {
            args.global.from = values(&typed, "--from").map(PathBuf::from).collect();
            Ok(Parsed::Command(Box::new(args)))
        }
        Err(error) => extension(&typed, error).map(|found| Parsed::Extension(Box::new(found))),
    };
    parsed.map_err(|mut error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = help::wrapped(&error.render(), Terminal::look().width);
            let mut out = AutoStream::new(std::io::stdout(), help_color(&typed));
            // If printing fails, there is nobody left to report it to.
            let _ = out.write_all(text.as_bytes());
            Exit::Success
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = help::wrapped(&error.render(), Terminal::look().err_width);
            let _ =
                AutoStream::new(std::io::stderr(), help_color(&typed)).write_all(text.as_bytes());
            Exit::Failed
        }
        _ => {
            mistake::explain(&Args::command(), &typed, &mut error);
            print_mistake(&error, help_color(&typed));
            Exit::Failed
        }
    })
}

/// Returns the extension that an unknown command names, or the error if there is none. `help NAME` asks the
/// extension for its help.
fn extension(typed: &[OsString], error: clap::Error) -> Result<Extension, clap::Error> {
    let name = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if extension::exists(name) => name.clone(),
        _ => return Err(error),
    };
    let is_asked = |words: &[OsString]| words[0] == "help" && words[1] == *name;
    let words = match typed.windows(2).position(is_asked) {
        Some(at) => [&typed[..at], &[OsString::from(&name), "--help".into()]].concat(),
        None => typed.to_vec(),
    };
    let mut program = Args::command().allow_external_subcommands(true);
    let matches = program.try_get_matches_from_mut(words)?;
    // Only the extension knows its other options.
    let is_misplaced = |arg: &&clap::Arg| {
        let source = arg.is_global_set().then(|| matches.value_source(arg.get_id().as_str()));
        let is_ours = ["archive", "config"].contains(&arg.get_id().as_str());
        source.flatten() == Some(ValueSource::CommandLine) && !is_ours
    };
    let misplaced = program.get_arguments().find(is_misplaced).and_then(clap::Arg::get_long);
    if let Some(flag) = misplaced.map(str::to_owned) {
        let what = format!("`--{flag}` must follow `{name}`");
        return Err(program.error(ErrorKind::ArgumentConflict, what));
    }
    let Some((_, rest)) = matches.subcommand() else { return Err(error) };
    let arguments = rest.get_many::<OsString>("").unwrap_or_default().cloned().collect();
    Ok(Extension { global: Global::from_arg_matches(&matches)?, name, arguments })
}

/// Prints a usage error. The parser repeats the arguments verbatim, and those may contain anything.
fn print_mistake(error: &clap::Error, color: ColorChoice) {
    let mut printer = Printer::new(color, Terminal::look(), Verbosity::Normal);
    printer.mistake(&error.render().to_string());
}

/// Finds `--color` by hand, because help is printed before the command line is parsed.
fn help_color(typed: &[OsString]) -> ColorChoice {
    match values(typed, "--color").last().and_then(OsStr::to_str) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
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
