//! Says which argument takes which values.

use std::ffi::OsStr;
use std::sync::Arc;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use super::values::{Source, Values};

/// Adds completers to the arguments of a command and of those below it.
pub(super) fn completers(command: Command, source: &Arc<Source>) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| attach(&name, arg, source))
        .mut_subcommands(|below| completers(below, source))
}

fn attach(command: &str, arg: Arg, source: &Arc<Source>) -> Arg {
    let is_folder = |arg: &Arg| arg.get_value_hint() == ValueHint::AnyPath;
    let values = match arg.get_id().as_str() {
        "session" | "sessions" if command == "restore" => Values::Deleted,
        "session" | "sessions" => Values::Sessions,
        "project" if !is_folder(&arg) => Values::Projects,
        "model" => Values::Models,
        "tag" | "tags" => Values::Tags,
        "machine" => Values::Machines,
        "branch" => Values::Branches,
        "since" | "until" | "on" | "before" => Values::Times,
        "command" if command == "man" => Values::Commands,
        "path" if command == "files" => return arg.value_hint(ValueHint::AnyPath),
        _ => return arg,
    };
    let source = Arc::clone(source);
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| source.complete(values, typed)))
}
