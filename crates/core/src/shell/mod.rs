//! Splits shell text into the simple commands it runs.
//!
//! The text comes from sessions: it may be cut off, may not be bash at all, and is never run. So
//! [`split`] always returns a result. A scanner that follows the grammar of bash, but treats
//! nothing as an error, finds the words of each command (`scan`); their meaning is decided
//! afterwards (`word`, `wrap`).
//!
//! No library does this: tree-sitter-bash 0.25 misreads or rejects a quarter of 309 scripts of a
//! Debian system (on the others it agrees with the scanner), takes quadratic time on hostile text,
//! and crashes on `{` before U+10FFFD; brush-parser 0.4 rejects text that is cut off.

mod powershell;
mod scan;
mod word;
mod wrap;

#[cfg(test)]
mod powershell_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

pub use powershell::split_powershell;

/// The bytes of a command that are read; anything after them is ignored.
pub const MAX_TEXT: usize = 64 * 1024;

/// The depth to which substitutions and scripts (`bash -c`) are followed, counted together.
const MAX_DEPTH: usize = 16;

/// One program run with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The text as written, without assignments before it and without redirections; lines continued
    /// with a backslash are joined. Never empty.
    pub text: String,
    /// The name of the program that runs in the end, without directory and quotes. It is the
    /// program that `sudo`, `env`, `timeout` and the like start, and `$NAME` if a variable names
    /// it. Never empty.
    pub program: String,
}

/// Splits shell text into its simple commands, in order of appearance.
///
/// Commands inside substitutions and control structures are commands of their own; a script given
/// to a shell (`bash -c '…'`, `eval '…'`) is replaced by its commands. Bodies of heredocs are data,
/// except for the substitutions in them. Only the first [`MAX_TEXT`] bytes are read.
pub fn split(text: &str) -> Vec<SimpleCommand> {
    split_at(text, 0)
}

fn split_at(text: &str, depth: usize) -> Vec<SimpleCommand> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let text = readable(head(text));
    scan::split(&text, depth)
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the text with Unix line ends, and without NUL.
fn readable(text: &str) -> Cow<'_, str> {
    if text.contains(['\r', '\0']) {
        text.replace("\r\n", "\n").replace(['\r', '\0'], " ").into()
    } else {
        text.into()
    }
}

/// Adds the command that `words` of `text` form, or the commands of the script it is given. Returns
/// the position of that script, which must then not be read again.
fn push(
    text: &str,
    words: &[Range<usize>],
    depth: usize,
    commands: &mut Vec<SimpleCommand>,
) -> Option<Range<usize>> {
    let words = wrap::without_assignment(text, words);
    let raw: Vec<&str> = words.iter().map(|word| &text[word.clone()]).collect();
    if raw.is_empty() {
        return None;
    }
    if let Some((place, script)) = wrap::script(&raw) {
        let inner = split_at(&script, depth + 1);
        if !inner.is_empty() {
            commands.extend(inner);
            return Some(words[place.start].start..words[place.end - 1].end);
        }
    }
    let text = word::join(text, words).trim_ascii().to_owned();
    if !text.is_empty() {
        commands.push(SimpleCommand { text, program: wrap::program(&raw, depth) });
    }
    None
}
