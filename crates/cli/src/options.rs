//! The flags that every command takes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use clap::ValueEnum;
use serde::Deserialize;

use crate::follow_up::FollowUp;
use crate::output::Verbosity;

/// The flags that every command takes.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Read this file or folder instead of the usual places (repeatable)
    ///
    /// A session file, a home, or a folder of an agent: `.claude`, `.codex`, `.gemini`, or one below it. The
    /// default is the folder that the agent itself uses (its variables are obeyed), plus the `roots` in the config
    /// file; `backstory doctor` lists the places.
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "demo")]
    pub(crate) from: Vec<PathBuf>,

    /// Use this archive instead of `backstory/archive.db` in the data folder
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "demo")]
    pub(crate) archive: Option<PathBuf>,

    /// Answer from the archive as it is, without looking at the agent's files
    #[arg(long, global = true, conflicts_with_all = ["from", "demo"])]
    pub(crate) no_sync: bool,

    /// Read this config file instead of `backstory/config.toml` in the config folder
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print one JSON document with a `schema` field, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Override built-in prices with those in this file, in backstory's format or LiteLLM's JSON
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) pricing: Option<PathBuf>,

    /// Show times in this zone: `Europe/Berlin`, `UTC`, `local`, `+02:00`
    #[arg(long, global = true, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) tz: Option<String>,

    /// Use colours; `auto` obeys `NO_COLOR` and uses none in a pipe [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_possible_values = false)]
    pub(crate) color: Option<Color>,

    /// Print the answer and errors only, no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// List items that are otherwise only counted
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Exit with 1 if anything could not be read
    #[arg(long, global = true)]
    pub(crate) strict: bool,

    /// Use the bundled sample sessions, at a fixed time
    #[arg(long, global = true)]
    pub(crate) demo: bool,
}

impl Global {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    /// Returns the flags that suggested commands need to see the same sessions.
    pub(crate) fn follow_up(&self, home: Option<&Path>) -> FollowUp {
        let from = self.from.iter().map(|path| ("--from", path.as_path()));
        let files = [("--archive", &self.archive), ("--config", &self.config)];
        let files = files.into_iter().filter_map(|(flag, file)| Some((flag, file.as_deref()?)));
        FollowUp::new(from.chain(files), self.demo, home)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// Returns every value of a flag, before or after the command. clap drops those before the command when
/// there are some after it.
pub(crate) fn values<'a>(typed: &'a [OsString], flag: &'a str) -> impl Iterator<Item = &'a OsStr> {
    let mut words = typed.iter().skip(1).take_while(|word| *word != "--");
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            if word == flag {
                return words.next().map(OsString::as_os_str);
            }
            let rest = word.as_encoded_bytes().strip_prefix(flag.as_bytes());
            if rest.is_some_and(|rest| rest.starts_with(b"=")) {
                // A value that is not UTF-8 must be a separate argument.
                return word.to_str().map(|word| OsStr::new(&word[flag.len() + 1..]));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_on_both_sides_of_the_command() {
        let typed = ["b", "--from", "a", "doctor", "--from=b", "--fromage", "--", "--from", "c"];
        let typed = typed.map(OsString::from);
        assert_eq!(values(&typed, "--from").collect::<Vec<_>>(), ["a", "b"]);
    }
}
