//! The config file: a few keys in TOML (`docs/config.md`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use backstory_core::pricing::PriceRow;
use backstory_core::read::bytes::{SETTINGS_LIMIT, read_text};
use backstory_core::redact::Choice;
use serde::Deserialize;

use crate::error::{Failure, Result};
use crate::options::Color;
use crate::output::path::tilde;

const KEYS: &str = "known keys: `tz`, `color`, `roots`, `pricing`, `prices`, `billing`, `machine`, \
    `archive`, `auto_capture`, `exclude`, in `[projects]` `scan` and `links`, in `[redact]` `rules`, \
    `allow`, `enable` and `disable`";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The time zone to show times in.
    pub(crate) tz: Option<String>,
    pub(crate) color: Option<Color>,
    /// More folders of agents to read, such as a backup of `.claude`, in addition to the usual ones.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) projects: Projects,
    /// A file with prices, as for `--pricing`.
    pub(crate) pricing: Option<PathBuf>,
    /// Prices in the config file itself.
    pub(crate) prices: Vec<PriceRow>,
    pub(crate) billing: Billing,
    /// The name of this machine in reports.
    pub(crate) machine: Option<String>,
    /// The path of the archive.
    pub(crate) archive: Option<PathBuf>,
    /// Whether commands capture changed files after they have answered.
    pub(crate) auto_capture: Option<bool>,
    /// Projects that must stay out of the archive: patterns for their paths or names.
    pub(crate) exclude: Vec<String>,
    /// Additional rules for secrets, and exceptions.
    pub(crate) redact: Choice,
    /// The file that this was read from.
    #[serde(skip)]
    pub(crate) file: Option<PathBuf>,
}

/// The way in which calls are paid for, which decides what a cost means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Billing {
    #[default]
    Api,
    Vertex,
    Licence,
}

/// Facts about projects that the agents do not record.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Projects {
    /// The folders that `projects --scan` searches.
    pub(crate) scan: Option<Vec<PathBuf>>,
    /// Hashes, or prefixes of them, with the paths that they are hashes of.
    pub(crate) links: BTreeMap<String, String>,
}

impl Config {
    /// Reads the file given with `--config`, which must exist.
    pub(crate) fn given(file: &Path, home: Option<&Path>) -> Result<Self> {
        // The conventional way to ask for an empty config.
        if file == Path::new("/dev/null") {
            return Ok(Self::default());
        }
        let text = read_text(file, SETTINGS_LIMIT).map_err(|error| {
            let failure = cannot_read(file, home);
            match error.kind() {
                io::ErrorKind::NotFound => failure.hint("check the path given with `--config`"),
                _ => failure,
            }
            .because(error)
        })?;
        Self::parse(&text, file, home)
    }

    /// Reads the usual file, if it exists.
    pub(crate) fn usual(file: &Path, home: Option<&Path>) -> Result<Self> {
        match read_text(file, SETTINGS_LIMIT) {
            Ok(text) => Self::parse(&text, file, home),
            Err(error) if is_absent(&error) => Ok(Self::default()),
            Err(error) => Err(cannot_read(file, home).because(error)),
        }
    }

    fn parse(text: &str, file: &Path, home: Option<&Path>) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| line_at(text, span.start));
            let message = error.message();
            // The hint lists the keys, in every section.
            let known =
                message.find(", expected one of").filter(|_| message.contains("unknown field"));
            let cause = format!("line {line}: {}", &message[..known.unwrap_or(message.len())]);
            Failure::new(format!("cannot use the config file `{}`", tilde(file, home)))
                .because(cause)
                .hint(KEYS)
        })?;
        let folder = file.parent().unwrap_or(Path::new(""));
        config.roots = config.roots.iter().map(|root| expand(root, home, folder)).collect();
        for path in config.projects.scan.iter_mut().flatten() {
            *path = expand(path, home, folder);
        }
        config.pricing = config.pricing.map(|path| expand(&path, home, folder));
        config.archive = config.archive.map(|path| expand(&path, home, folder));
        config.file = Some(file.to_owned());
        Ok(config)
    }
}

fn cannot_read(file: &Path, home: Option<&Path>) -> Failure {
    Failure::new(format!("cannot read the config file `{}`", tilde(file, home)))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the line of an offset, counted from 1.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text.get(..offset).unwrap_or(text).matches('\n').count()
}

/// Expands `~` to the home folder, and resolves relative paths against the folder of the config file.
fn expand(path: &Path, home: Option<&Path>, folder: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) if below.as_os_str().is_empty() => home.to_owned(),
        (Ok(below), Some(home)) => home.join(below),
        _ => folder.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("/etc/b/config.toml"), Some(Path::new("/home/dev")))
    }

    #[test]
    fn all_keys() {
        let text = "tz = \"UTC\"\ncolor = \"never\"\nroots = [\"~/old/.gemini\", \"~\", \"x\"]\n";
        let config = parse(text).unwrap();
        assert_eq!((config.tz.as_deref(), config.color), (Some("UTC"), Some(Color::Never)));
        let roots = ["/home/dev/old/.gemini", "/home/dev", "/etc/b/x"];
        assert_eq!(config.roots, roots.map(PathBuf::from));
    }

    #[test]
    fn the_line_of_a_mistake() {
        for (text, line) in [
            ("tz = \"UTC\"\n\ncolour = \"never\"\n", "line 3: unknown field `colour`"),
            ("color = \"blue\"\n", "line 1: unknown variant `blue`"),
            ("tz = \"UTC\nroots = []\n", "line 1: "),
        ] {
            let failure = parse(text).unwrap_err();
            assert!(failure.causes()[0].starts_with(line), "{:?}", failure.causes());
            assert_eq!(failure.hints, [KEYS]);
        }
    }
}
