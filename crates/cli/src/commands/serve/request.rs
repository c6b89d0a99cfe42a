//! Runs commands of the program on behalf of requests, so that their answers are the same.

use std::ffi::OsString;

use backstory_web::{Program, Refusal, RefusalKind};
use clap::{ArgAction, FromArgMatches as _};

use crate::commands::{self, Command};
use crate::context::Context;
use crate::error::{Exit, Failure};
use crate::output::Printer;

/// Options that concern a terminal, or files of this machine.
const REFUSED: [&str; 6] = ["follow", "pager", "no-pager", "output", "force", "no-redact"];

/// The commands that a request may run; `overview` is the one without a name.
const COMMANDS: [&str; 18] = [
    "overview", "sessions", "show", "search", "prompts", "usage", "tools", "commands", "log",
    "files", "digest", "projects", "verify", "doctor", "export", "name", "tag", "untag",
];

pub(super) struct Requests {
    ctx: Context,
    program: fn() -> clap::Command,
}

impl Requests {
    pub(super) fn new(ctx: Context, program: fn() -> clap::Command) -> Self {
        Self { ctx, program }
    }
}

impl Program for Requests {
    fn run(
        &self,
        command: &str,
        arguments: &[(String, String)],
        json: bool,
    ) -> Result<Vec<u8>, Refusal> {
        if !COMMANDS.contains(&command) {
            return Err(invalid(format!("there is no document `{command}`")));
        }
        let mut program = (self.program)();
        let words = words(&program, command, arguments)?;
        let parsed = if command == "overview" {
            None
        } else {
            let matches = program.try_get_matches_from_mut(words);
            let parsed = matches.and_then(|matches| Command::from_arg_matches(&matches));
            Some(parsed.map_err(|error| invalid(first_line(&error)))?)
        };
        let mut ctx = self.ctx.for_request(json);
        ctx.must_write = parsed.as_ref().is_some_and(Command::annotates);
        let mut printer = Printer::capturing();
        match commands::run(&ctx, &mut printer, parsed.as_ref(), self.program) {
            Ok(_) => printer.into_answer().map_err(|error| refusal(&Failure::from(error))),
            Err(failure) => Err(refusal(&failure)),
        }
    }
}

/// Writes the command line of a request. Only arguments of the command itself are accepted, and every value is
/// one word of its argument, whatever it begins with.
fn words(
    program: &clap::Command,
    command: &str,
    arguments: &[(String, String)],
) -> Result<Vec<OsString>, Refusal> {
    let mut words: Vec<OsString> = vec!["backstory".into(), command.into()];
    let mut last: Vec<OsString> = Vec::new();
    let known = program.find_subcommand(command);
    for (name, value) in arguments {
        let is_it = |arg: &&clap::Arg| {
            let mut shown =
                arg.get_value_names().into_iter().flatten().filter(|_| arg.is_positional());
            arg.get_id() == name.as_str()
                || arg.get_long() == Some(name)
                || shown.any(|shown| shown.eq_ignore_ascii_case(name))
        };
        let found = known.and_then(|known| known.get_arguments().find(is_it));
        let Some(arg) = found.filter(|_| !REFUSED.contains(&name.as_str())) else {
            return Err(invalid(format!("`{command}` has no argument `{name}`")));
        };
        match (arg.get_long(), arg.get_action()) {
            (None, _) => last.push(value.into()),
            (Some(long), ArgAction::SetTrue) => match value.as_str() {
                "" | "1" | "true" => words.push(format!("--{long}").into()),
                "0" | "false" => {}
                _ => return Err(invalid(format!("`{name}` is `true` or `false`"))),
            },
            (Some(long), _) => words.push(format!("--{long}={value}").into()),
        }
    }
    words.push("--".into());
    words.extend(last);
    Ok(words)
}

fn invalid(what: String) -> Refusal {
    Refusal { kind: RefusalKind::Invalid, what }
}

fn refusal(failure: &Failure) -> Refusal {
    let kind = match failure.exit {
        Exit::NoMatch => RefusalKind::Nothing,
        // What fails without a cause, or at a place in a text, was asked for in the wrong way.
        _ if failure.place.is_some() || failure.causes().is_empty() => RefusalKind::Invalid,
        _ => RefusalKind::Failed,
    };
    Refusal { kind, what: failure.line() }
}

/// Returns the first line of a usage error.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    fn line(command: &str, arguments: &[(&str, &str)]) -> Result<String, Refusal> {
        let arguments: Vec<(String, String)> = arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let words = words(&Args::command(), command, &arguments)?;
        Ok(words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_request_becomes_a_command_line() {
        assert_eq!(
            line("sessions", &[("since", "7d"), ("all", "")]).unwrap(),
            "backstory sessions --since=7d --all --"
        );
        assert_eq!(line("usage", &[("group", "model")]).unwrap(), "backstory usage -- model");
        assert_eq!(
            line("search", &[("query", "--json x")]).unwrap(),
            "backstory search -- --json x"
        );
    }

    #[test]
    fn only_arguments_of_the_command_are_accepted() {
        for (command, name) in [
            ("sessions", "archive"),
            ("sessions", "from"),
            ("sessions", "config"),
            ("sessions", "pricing"),
            ("sessions", "demo"),
            ("show", "follow"),
            ("export", "output"),
            ("export", "no-redact"),
            ("sessions", "help"),
            ("sessions", ""),
            ("sessions", "--since"),
        ] {
            let refused = line(command, &[(name, "x")]).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::Invalid, "{command} {name}");
        }
        assert!(line("sessions", &[("all", "maybe")]).is_err());
    }
}
