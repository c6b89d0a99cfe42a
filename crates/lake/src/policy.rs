//! The policy: what may leave a machine, and under which names. An administrator installs it; everyone can read it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backstory_core::PriceTable;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::pseudonym::Key;
use crate::tables::{Role, TABLES, Table};
use crate::value::Text;

/// The place of the policy unless another is named.
pub(crate) const PLACE: &str = "/etc/backstory/policy.toml";

/// A policy that was read and checked.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) org: Text,
    pub(crate) person: Text,
    pub(crate) team: Option<Text>,
    pub(crate) cost_center: Option<Text>,
    pub(crate) key: Key,
    /// Whether titles, reasons and the text of messages may leave.
    pub(crate) text: bool,
    /// Rows of sessions that were not updated for this many days do not leave, and are removed.
    pub(crate) retention_days: Option<u32>,
    /// The fewest people that a row of a report about people may cover.
    pub(crate) min_group: u32,
    /// The list prices, with those of the organisation.
    pub(crate) prices: PriceTable,
    /// Identifies the version of the prices.
    pub(crate) price_version: String,
    /// A hash of the policy: when it changes, everything is written again.
    pub(crate) digest: String,
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// Columns that are left empty: `column` in all tables, or `table.column`.
    drop: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    organisation: String,
    person: NameSource,
    #[serde(default)]
    person_pseudonym: bool,
    team: Option<String>,
    cost_center: Option<String>,
    key_file: Option<PathBuf>,
    key_env: Option<String>,
    #[serde(default)]
    text: bool,
    retention_days: Option<u32>,
    #[serde(default = "min_group")]
    min_group: u32,
    prices: Option<PathBuf>,
    #[serde(default)]
    drop: BTreeSet<String>,
    #[serde(default)]
    projects: Projects,
}

/// A name, or the environment variable that contains it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NameSource {
    Name(String),
    Env { env: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Projects {
    include: Option<Vec<String>>,
    #[serde(default)]
    exclude: Vec<String>,
}

/// Returns the fewest people that a row about people covers unless somebody decides otherwise.
pub(crate) fn min_group() -> u32 {
    5
}

impl Policy {
    /// Reads a policy file. `env` returns environment variables.
    pub(crate) fn read(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Policy(format!(
                "nothing leaves without a policy, and `{}` cannot be read: {error}",
                path.display()
            ))
        })?;
        Self::parse(&text, env).map_err(|why| Error::file(path, why))
    }

    /// Parses a policy; the error is a description of the problem.
    pub(crate) fn parse(
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> std::result::Result<Self, String> {
        let written: PolicyFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let key = key(&written, env)?;
        let mut person = match written.person {
            NameSource::Name(name) => name,
            NameSource::Env { env: name } => {
                env(&name).ok_or_else(|| format!("`person`: ${name} is not set"))?
            }
        };
        for (name, value) in [("organisation", &written.organisation), ("person", &person)] {
            if value.trim().is_empty() {
                return Err(format!("`{name}` is empty"));
            }
        }
        if written.person_pseudonym {
            person = key.pseudonym("person", &person);
        }
        for name in &written.drop {
            check_dropped(name)?;
        }
        let (prices, price_text) = prices(written.prices.as_deref())?;
        let mut hash = Sha256::new();
        for part in [text, &person, &price_text, &key.pseudonym("policy", "")] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Ok(Self {
            org: written.organisation.into(),
            person: person.into(),
            team: written.team.map(Into::into),
            cost_center: written.cost_center.map(Into::into),
            key,
            text: written.text,
            retention_days: written.retention_days,
            min_group: written.min_group.max(1),
            price_version: prices.date().to_string(),
            prices,
            digest: format!("{:x}", hash.finalize()),
            include: written
                .projects
                .include
                .map(|patterns| globs(&patterns, false))
                .transpose()?,
            // Servers take names in any case, and so must what keeps them here.
            exclude: globs(&written.projects.exclude, true)?,
            drop: written.drop,
        })
    }

    /// Returns whether the sessions of a project may leave. A pattern matches its identity or its path.
    pub(crate) fn allows(&self, identity: &str, path: Option<&str>) -> bool {
        let is_in = |globs: &GlobSet| {
            globs.is_match(identity) || path.is_some_and(|path| globs.is_match(path))
        };
        self.include.as_ref().is_none_or(is_in) && !is_in(&self.exclude)
    }

    /// Returns whether a column is left empty.
    pub(crate) fn drops(&self, table: &str, column: &str) -> bool {
        !self.drop.is_empty()
            && (self.drop.contains(column) || self.drop.contains(&format!("{table}.{column}")))
    }
}

fn key(
    written: &PolicyFile,
    env: &dyn Fn(&str) -> Option<String>,
) -> std::result::Result<Key, String> {
    let secret = match (&written.key_file, &written.key_env) {
        (Some(path), None) => std::fs::read(path)
            .map_err(|error| format!("`key_file`: `{}`: {error}", path.display()))?,
        (None, Some(name)) => {
            env(name).ok_or_else(|| format!("`key_env`: ${name} is not set"))?.into_bytes()
        }
        _ => return Err("one of `key_file` and `key_env` must name the key of pseudonyms".into()),
    };
    Key::new(secret.trim_ascii())
        .ok_or_else(|| format!("the key of pseudonyms has fewer than {} bytes", Key::SHORTEST))
}

/// Reads the organisation's prices over the embedded ones, and returns their text too.
fn prices(path: Option<&Path>) -> std::result::Result<(PriceTable, String), String> {
    let table = PriceTable::embedded();
    let Some(path) = path else { return Ok((table, String::new())) };
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("`prices`: `{name}`: {error}"))?;
    let table = table.with_file(&text, &name).map_err(|error| error.to_string())?;
    Ok((table, text))
}

fn globs(patterns: &[String], in_any_case: bool) -> std::result::Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).case_insensitive(in_any_case).build();
        set.add(glob.map_err(|error| error.to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}

/// Checks that a column exists and may be empty.
fn check_dropped(name: &str) -> std::result::Result<(), String> {
    let (table, column) = name.split_once('.').map_or((None, name), |(t, c)| (Some(t), c));
    let mut known = TABLES
        .iter()
        .filter(|candidate| table.is_none_or(|table| table == candidate.name))
        .flat_map(Table::columns)
        .filter(|candidate| candidate.name == column)
        .peekable();
    if known.peek().is_none() {
        return Err(format!("`drop`: there is no column `{name}`"));
    }
    if known.any(|column| !column.is_nullable || column.role == Role::Key) {
        return Err(format!("`drop`: `{name}` cannot be empty"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "organisation = 'acme'\nperson = 'ada'\nkey_env = 'KEY'\n";

    fn policy(rest: &str) -> std::result::Result<Policy, String> {
        let env = |name: &str| match name {
            "KEY" => Some("0123456789abcdef".to_owned()),
            "WHO" => Some("grace".to_owned()),
            _ => None,
        };
        let text =
            if rest.contains("organisation") { rest.into() } else { format!("{HEAD}{rest}") };
        Policy::parse(&text, &env)
    }

    #[test]
    fn the_least_leaves_unless_the_policy_says_more() {
        let policy = policy("").unwrap();
        assert!(!policy.text);
        assert_eq!((policy.min_group, policy.retention_days), (5, None));
        assert!(policy.allows("github.com/acme/shop", None));
    }

    #[test]
    fn projects_are_chosen_by_identity_or_path() {
        let policy = policy(
            "[projects]\ninclude = ['github.com/acme/*', '/srv/*']\nexclude = ['*/secret*']\n",
        )
        .unwrap();
        assert!(policy.allows("github.com/acme/shop", None));
        assert!(policy.allows("x~1", Some("/srv/x")));
        assert!(!policy.allows("github.com/other/shop", Some("/home/ada/shop")));
        assert!(!policy.allows("github.com/acme/secret-plans", None));
        assert!(!policy.allows("github.com/acme/Secret-Plans", None));
        assert!(!policy.allows("github.com/acme/shop", Some("/home/ada/secret")));
    }

    #[test]
    fn mistakes_are_named() {
        let why = |rest: &str| policy(rest).unwrap_err();
        assert!(why("txt = true").contains("txt"));
        assert!(why("drop = ['nothing']").contains("there is no column `nothing`"));
        assert!(why("drop = ['machine']").contains("cannot be empty"));
        assert!(why("drop = ['calls.input']").contains("cannot be empty"));
        assert!(why("organisation = 'a'\nperson = 'b'").contains("key_file"));
        assert!(why("organisation = ''\nperson = 'b'\nkey_env = 'KEY'").contains("is empty"));
        assert!(why("organisation = 'a'\nperson = 'b'\nkey_env = 'NO'").contains("$NO is not set"));
        assert!(policy("drop = ['branch', 'sessions.title']").unwrap().drops("calls", "branch"));
    }

    #[test]
    fn a_person_comes_from_the_environment_or_is_a_pseudonym() {
        let text = "organisation = 'a'\nperson = { env = 'WHO' }\nkey_env = 'KEY'\n";
        assert_eq!(&*policy(text).unwrap().person, "grace");
        let hidden = policy(&format!("{text}person_pseudonym = true\n")).unwrap().person;
        assert_eq!(hidden.len(), 32);
    }

    #[test]
    fn everything_in_a_policy_changes_its_digest() {
        let digest = |rest: &str| policy(rest).unwrap().digest;
        assert_eq!(digest(""), digest(""));
        assert_ne!(digest(""), digest("text = true"));
    }
}
