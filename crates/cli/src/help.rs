//! Arranges clap's help: examples first, commands in groups, the flags of all commands on one line, and
//! no line wider than the terminal.

use anstream::adapter::strip_str;
use clap::Command;
use clap::builder::StyledStr;
use unicode_width::UnicodeWidthStr;

use crate::extension::KNOWN;
use crate::output::style::{HEADING, NAME};

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Read",
        &[
            "browse", "pick", "serve", "sessions", "show", "search", "prompts", "files", "log",
            "digest", "projects",
        ],
    ),
    ("Count", &["usage", "tools", "commands", "pricing", "verify"]),
    ("Continue", &["resume", "restore"]),
    ("Share", &["export", "events", "redact", "secrets", "share", "lake"]),
    ("Keep", &["sync", "watch", "name", "tag", "untag", "forget", "unforget", "archive"]),
    ("Set up", &["doctor", "completions", "man", "help"]),
];

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}";

/// The widest that help gets.
const WIDEST: usize = 100;

/// The narrowest column of descriptions; below that, they get lines of their own.
const NARROWEST: usize = 30;

/// Returns the program with help as it is printed. Its lines are as long as they happen to be, and
/// wrapped by [`wrapped`].
pub(crate) fn arranged(program: Command) -> Command {
    let globals: Vec<String> =
        program.get_arguments().filter(|a| a.is_global_set()).map(flag).collect();
    let globals = format!(
        "{HEADING}Global options:{HEADING:#} {} (described by `--help`)",
        globals.join(", ")
    );
    let groups = groups(&program);
    let template = format!(
        "{}{HEADING}Options:{HEADING:#}\n{{options}}{{after-help}}",
        TEMPLATE.trim_end_matches("{all-args}{after-help}")
    );
    let program = program.mut_args(|arg| {
        let is_global = arg.is_global_set();
        arg.hide_short_help(is_global)
    });
    let program = each(program, &globals);
    let examples = program.get_before_help().map(|text| text.ansi().to_string());
    let before = format!("{}\n\n{groups}", examples.unwrap_or_default());
    program.before_help(before).help_template(template)
}

/// Returns a flag as short as it can be written.
fn flag(arg: &clap::Arg) -> String {
    match (arg.get_short(), arg.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, long) => format!("--{}", long.unwrap_or_default()),
    }
}

/// Arranges the help of a command and of those below it.
fn each(command: Command, globals: &str) -> Command {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, notes) = after.split_once("\n\n").unwrap_or((&after, ""));
    let examples = examples.replacen("Examples:", &format!("{HEADING}Examples:{HEADING:#}"), 1);
    let short = format!("{notes}\n\n{globals}");
    let command = if examples.is_empty() { command } else { command.before_help(examples) };
    command
        .term_width(0)
        .help_template(TEMPLATE)
        .after_help(short.trim_start().to_owned())
        .after_long_help(notes.to_owned())
        .mut_subcommands(|below| each(below, globals))
}

/// Lists the commands by group.
fn groups(program: &Command) -> String {
    let extension = |name: &str| {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        known.map(|(_, about)| (*about).to_owned())
    };
    let about = |name: &str| match program.find_subcommand(name) {
        Some(command) => command.get_about().map(ToString::to_string).unwrap_or_default(),
        None => extension(name)
            .unwrap_or_else(|| "Print this message, or the help of a command".to_owned()),
    };
    let mut out = Vec::new();
    for (group, names) in GROUPS {
        out.push(format!("{HEADING}{group}:{HEADING:#}"));
        for name in names {
            out.push(format!(
                "  {NAME}{name}{NAME:#}{:pad$}{}",
                "",
                about(name),
                pad = 13 - name.len()
            ));
        }
        out.push(String::new());
    }
    out.join("\n").trim_end().to_owned()
}

/// Wraps help to the width of the terminal. Descriptions stay in their column, or get lines of their own if
/// it is too narrow.
pub(crate) fn wrapped(help: &StyledStr, width: Option<usize>) -> String {
    let width = width.unwrap_or(WIDEST).min(WIDEST);
    let mut out = String::new();
    for line in help.ansi().to_string().lines() {
        fold(line.trim_end(), width, &mut out);
    }
    out
}

fn fold(line: &str, width: usize, out: &mut String) {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let plain = strip_str(text).to_string();
    if shown(line) <= width {
        out.push_str(line);
        out.push('\n');
    } else if let Some((name, about)) = text.split_once("  ") {
        let about = about.trim_start_matches(' ');
        let column = shown(line) - shown(about);
        if column + NARROWEST <= width {
            return words(&line[..line.len() - about.len()], about, column, width, out);
        }
        fold(&format!("{}{name}", " ".repeat(indent)), width, out);
        let apart = if plain.starts_with('-') { 10 } else { indent + 4 };
        words(&" ".repeat(apart), about, apart, width, out);
    } else {
        // A description below its example is in a column too.
        let indent = if indent + NARROWEST > width { indent.min(6) } else { indent };
        let further = match plain.as_str() {
            plain if plain.starts_with("- ") => 2,
            plain if plain.starts_with("backstory ") && indent > 0 => 4,
            plain if plain.starts_with("Usage:") => 4,
            _ => 0,
        };
        words(&" ".repeat(indent), text, indent + further, width, out);
    }
}

/// Writes words after what a line begins with, and as many lines as they need.
fn words(begun: &str, text: &str, hang: usize, width: usize, out: &mut String) {
    let mut used = shown(begun);
    out.push_str(begun);
    let mut is_first = true;
    for word in text.split(' ') {
        if !is_first && used + 1 + shown(word) > width {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            used = hang;
            is_first = true;
        }
        if !is_first {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += shown(word);
        is_first = false;
    }
    out.push('\n');
}

/// Returns the number of columns that a text with styles takes.
fn shown(text: &str) -> usize {
    strip_str(text).to_string().width()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let program = Args::command();
        let mut names: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        names.push("help");
        names.extend(KNOWN.iter().map(|(name, _)| *name));
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
    }
}
