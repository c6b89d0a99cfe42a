//! Usage errors: what the parser of the command line says, with suggestions that are likely to be meant.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::extension;
use crate::follow_up::FollowUp;
use crate::here::is_similar;
use crate::options::{Global, values};
use crate::shell_word::quote;

/// The maximum number of commands that are named.
const NAMED: usize = 3;

/// Words for a command that has another name here.
const OTHER_NAMES: &[(&[&str], &str)] = &[
    (&["list", "ls", "history", "all"], "sessions"),
    (&["find", "grep"], "search QUERY"),
    (&["cost", "costs", "spend", "spent", "stats", "tokens", "report"], "usage"),
    (&["standup", "stand-up", "summary", "today"], "digest"),
    (&["continue"], "resume SESSION"),
    (&["open", "view", "read", "cat"], "show SESSION"),
    (&["delete", "rm", "remove"], "forget SESSION"),
    (&["undelete", "recover"], "restore SESSION"),
    (&["tui", "ui", "interactive"], "browse"),
    (&["web", "server", "gui", "api"], "serve"),
    (&["import", "merge"], "archive merge FILE"),
    (&["backup"], "archive backup FILE"),
    (&["health", "status"], "doctor"),
    (&["shell"], "log"),
    (&["prices", "price"], "pricing"),
];

/// Flags that are written in another way here.
const OTHER_FLAGS: &[(&str, &str)] = &[
    ("--by", "the group is an argument: `backstory usage project`"),
    ("--deleted", "`--gone` selects sessions that their agent has deleted"),
    ("--html", "`--format html`, or `-o FILE.html`"),
    ("--markdown", "`--format markdown`, or `-o FILE.md`"),
    ("--today", "`--on today`"),
    ("--yesterday", "`--on yesterday`"),
    ("--week", "`--since this-week`"),
    ("--month", "`--since this-month`"),
];

/// Replaces the parser's suggestions by better ones.
pub(crate) fn explain(program: &Command, typed: &[OsString], error: &mut clap::Error) {
    let wrong =
        [ContextKind::InvalidSubcommand, ContextKind::InvalidValue, ContextKind::InvalidArg];
    let Some(wrong) = wrong.iter().find_map(|kind| word(error, *kind)) else { return };
    let command = typed.iter().skip(1).find_map(|word| program.find_subcommand(word));
    if suggest_commands(error, &wrong, command.is_none()) {
        return;
    }
    for kind in [ContextKind::SuggestedValue, ContextKind::SuggestedArg] {
        match word(error, kind) {
            Some(near) if is_similar(&wrong, &near) => return,
            // The usage names the same flag.
            Some(_) => [kind, ContextKind::Usage].map(|kind| error.remove(kind)),
            None => continue,
        };
    }
    let tip = match error.kind() {
        ErrorKind::UnknownArgument if wrong.starts_with("--") => {
            error.remove(ContextKind::Suggested);
            let as_word = || format!("if `{wrong}` is a word, write `-- {wrong}`");
            let other = OTHER_FLAGS.iter().find(|(flag, _)| *flag == wrong);
            elsewhere(program, &wrong)
                .or_else(|| other.map(|(_, instead)| (*instead).to_owned()))
                .or_else(|| command.filter(|command| takes_words(command)).map(|_| as_word()))
        }
        ErrorKind::UnknownArgument if !wrong.starts_with('-') => subject(command, &wrong),
        // Only a positional argument is named in brackets.
        ErrorKind::InvalidValue if is_in_brackets(error) => subject(command, &wrong),
        ErrorKind::InvalidSubcommand if command.is_none() => {
            let other = OTHER_NAMES.iter().find(|(words, _)| words.contains(&wrong.as_str()));
            other
                .map(|(_, name)| format!("the command is `backstory {name}`"))
                .or_else(|| subject(program.find_subcommand("sessions"), &wrong))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        let tip = follow_up(typed).complete(&tip);
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// Keeps the suggested commands that are similar, and adds extensions. Returns whether there are any.
fn suggest_commands(error: &mut clap::Error, wrong: &str, is_first: bool) -> bool {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return false;
    }
    let mut names = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names,
        _ => Vec::new(),
    };
    names.extend(extension::KNOWN.iter().filter(|_| is_first).map(|(name, _)| (*name).to_owned()));
    names.retain(|name| is_similar(wrong, name));
    let is_any = !names.is_empty();
    if is_any {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
    }
    is_any
}

/// Suggests that a word is a project, or words to search for.
fn subject(command: Option<&Command>, word: &str) -> Option<String> {
    let takes_project = |command: &&Command| has_flag(command, "project");
    let command = command.filter(takes_project)?.get_name();
    let word = quote(OsStr::new(word));
    Some(format!("a project: `backstory {command} -p {word}`; words: `backstory search {word}`"))
}

/// Names the commands that have a flag.
fn elsewhere(program: &Command, flag: &str) -> Option<String> {
    let name = flag.trim_start_matches('-');
    let commands = program.get_subcommands().filter(|command| has_flag(command, name));
    let names: Vec<String> = commands.map(|c| format!("`{}`", c.get_name())).take(NAMED).collect();
    (!names.is_empty()).then(|| format!("`{flag}` is a flag of {}", names.join(", ")))
}

fn has_flag(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())
}

/// Returns whether the arguments of a command are any words, which may begin with a hyphen.
fn takes_words(command: &Command) -> bool {
    let mut names = command.get_positionals().filter_map(clap::Arg::get_value_names).flatten();
    names.any(|name| ["QUERY", "WORDS"].contains(&name.as_str()))
}

fn is_in_brackets(error: &clap::Error) -> bool {
    word(error, ContextKind::InvalidArg).is_some_and(|argument| argument.starts_with('['))
}

/// Reads the flags that suggested commands need from a command line that the parser rejects.
fn follow_up(typed: &[OsString]) -> FollowUp {
    let path = |flag| values(typed, flag).last().map(PathBuf::from);
    let global = Global {
        from: values(typed, "--from").map(PathBuf::from).collect(),
        archive: path("--archive"),
        config: path("--config"),
        demo: typed.iter().any(|word| word == "--demo"),
        ..Global::default()
    };
    global.follow_up(None)
}

fn word(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    }
}
