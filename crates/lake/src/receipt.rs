//! Receipts: what each push and export sent, kept beside the archive.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::rows::{Outgoing, Rows};

/// What one push or export sent.
#[derive(Debug, Serialize)]
pub(crate) struct Receipt {
    pub(crate) at: String,
    /// `push` or `export`.
    pub(crate) command: &'static str,
    /// The target, without credentials.
    pub(crate) target: String,
    pub(crate) organisation: String,
    pub(crate) person: String,
    pub(crate) machine: String,
    /// The hash of the policy that applied.
    pub(crate) policy: String,
    /// Whether titles and texts were allowed to leave.
    pub(crate) text: bool,
    /// The rows that were sent, by table.
    pub(crate) rows: BTreeMap<&'static str, u64>,
    /// The sessions and other units that were sent.
    pub(crate) sent: Vec<String>,
    /// Those that were removed from the target.
    pub(crate) removed: Vec<String>,
    /// The objects that were written or deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) objects: Vec<String>,
}

impl Receipt {
    /// Creates a receipt of nothing yet.
    pub(crate) fn new(
        command: &'static str,
        url: &str,
        outgoing: &Outgoing<'_>,
        policy: &Policy,
        now: Timestamp,
    ) -> Self {
        Self {
            at: format!("{now:.3}"),
            command,
            target: without_credentials(url),
            organisation: policy.org.to_string(),
            person: policy.person.to_string(),
            machine: outgoing.machine().to_owned(),
            policy: policy.digest.clone(),
            text: policy.text,
            rows: BTreeMap::new(),
            sent: Vec::new(),
            removed: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// Counts rows that were sent.
    pub(crate) fn add(&mut self, rows: &Rows) {
        for (table, rows) in rows.tables() {
            *self.rows.entry(table.name).or_default() += rows.len() as u64;
        }
    }

    /// Writes the receipt beside the archive and returns its path.
    pub(crate) fn write(&self, archive: &Path) -> Result<PathBuf> {
        let folder = folder(archive);
        fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, error))?;
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::file(&folder, error))?;
        let stem = format!("{}-{}", self.at.replace(':', ""), self.command);
        let name =
            |n: u32| if n == 0 { format!("{stem}.json") } else { format!("{stem}-{n}.json") };
        let mut number = 0;
        // Two commands may end in the same millisecond.
        loop {
            let path = folder.join(name(number));
            number += 1;
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let written = file.write_all(format!("{text}\n").as_bytes());
                    return written
                        .map(|()| path.clone())
                        .map_err(|error| Error::file(path, error));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file(path, error)),
            }
        }
    }
}

/// Returns the receipts beside an archive, the oldest first.
pub(crate) fn list(archive: &Path) -> Result<Vec<PathBuf>> {
    let folder = folder(archive);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file(folder, error)),
    };
    let mut out: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    out.sort();
    Ok(out)
}

fn folder(archive: &Path) -> PathBuf {
    archive.with_extension("receipts")
}

/// Returns a URL without the user, the password and the parameters in it.
pub(crate) fn without_credentials(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(h, p)| (h, Some(p)));
            let host = host.rsplit('@').next().unwrap_or_default();
            path.map_or_else(
                || format!("{scheme}://{host}"),
                |path| format!("{scheme}://{host}/{path}"),
            )
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_without_credentials() {
        for (url, named) in [
            ("postgres://ada:secret@db.acme/lake?password=secret", "postgres://db.acme/lake"),
            ("s3://bucket/lake", "s3://bucket/lake"),
            ("postgres://ada@db", "postgres://db"),
            ("/srv/lake", "/srv/lake"),
        ] {
            assert_eq!(without_credentials(url), named);
        }
    }
}
