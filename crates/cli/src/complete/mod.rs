//! Completes a command line for a shell, from the archive as it is: without a sync, without writing
//! anything, and without a word about what may be wrong.
//!
//! The scripts that `backstory completions` prints run the program with a variable that names the
//! shell and with the words up to the cursor as arguments.

mod attach;
mod shell;
mod values;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use clap::Command;
use clap::ValueEnum as _;
use clap_complete::engine::{CompletionCandidate, complete};

use crate::context;
pub(crate) use shell::Shell;
use values::Source;

/// Prints completions if a shell asks for them. Returns whether one did.
pub(crate) fn answer(program: fn() -> Command) -> bool {
    let Some(shell) = context::completed_shell() else { return false };
    let Ok(shell) = Shell::from_str(&shell, true) else { return false };
    let mut typed = std::env::args_os().skip(1);
    if typed.next().is_none_or(|first| first != "--") {
        return false;
    }
    let (words, open) = shell.unquoted(typed.collect());
    let cwd = std::env::current_dir().ok();
    let lines = shell.lines(&candidates(program(), words, cwd.as_deref()), open);
    // If the shell has gone away, there is nobody left to complete for.
    let _ = std::io::stdout().lock().write_all(lines.as_bytes());
    true
}

/// Returns the values that the last word may become.
fn candidates(
    program: Command,
    words: Vec<OsString>,
    cwd: Option<&Path>,
) -> Vec<CompletionCandidate> {
    let Some(last) = words.len().checked_sub(1) else { return Vec::new() };
    let wants_flag = words[last].as_encoded_bytes().starts_with(b"-");
    let source = Arc::new(Source::new(&program, &words));
    let mut program = attach::completers(program, &source);
    let mut found = complete(&mut program, words, last, cwd).unwrap_or_default();
    // Flags are in the way unless one was begun or there is nothing else.
    let is_flag = |one: &CompletionCandidate| one.get_value().as_encoded_bytes().starts_with(b"-");
    if !wants_flag && found.iter().any(|one| !is_flag(one)) {
        found.retain(|one| !is_flag(one));
    }
    found
}
