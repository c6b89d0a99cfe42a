//! The files that earlier exports wrote to a folder, so that the next one replaces only those that have
//! changed, and no others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use backstory_core::file::Existing;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::save::save;

/// The name of the file; no agent's file is called like that.
const NAME: &str = ".backstory-export";

/// The files of a folder by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    files: BTreeMap<String, Written>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Written {
    /// The session in it; none for an index.
    session: Option<String>,
    /// The hash of its content.
    sha256: String,
    /// The hash of the content that an unfinished export replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

/// A text that is hashed while it is written.
pub(super) struct Hashing<'a> {
    out: &'a mut dyn Write,
    hash: Sha256,
}

impl<'a> Hashing<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, hash: Sha256::new() }
    }

    pub(super) fn finish(self) -> String {
        format!("{:x}", self.hash.finalize())
    }
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the hash of a file.
fn hash_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

impl Manifest {
    /// Reads the manifest of a folder. One that is missing or damaged has no files.
    pub(super) fn of(folder: &Path) -> Self {
        let text = fs::read(folder.join(NAME)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Returns whether an export wrote a file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns whether a file is as an export left it.
    pub(super) fn is_untouched(&self, folder: &Path, name: &str) -> bool {
        let Some(known) = self.files.get(name) else { return false };
        let hash = hash_of(&folder.join(name)).ok();
        hash.is_some_and(|hash| hash == known.sha256 || known.before.as_ref() == Some(&hash))
    }

    /// Records a file, and returns whether it differs from the one that is there.
    pub(super) fn put(
        &mut self,
        folder: &Path,
        name: &str,
        session: Option<&str>,
        sha256: String,
    ) -> bool {
        let before = hash_of(&folder.join(name)).ok().filter(|before| *before != sha256);
        let is_new = before.is_some() || !folder.join(name).is_file();
        let session = session.map(str::to_owned);
        self.files.insert(name.to_owned(), Written { session, sha256, before });
        is_new
    }

    /// Saves the list of files to be written, so that an export that is interrupted can be continued.
    pub(super) fn save_ahead(&self, folder: &Path, earlier: &Self) -> io::Result<()> {
        let mut files = earlier.files.clone();
        files.extend(self.files.clone());
        Self { files }.save(folder)
    }

    /// Completes the list after everything is written: takes over the files of an earlier export that this one did
    /// not write. The old file of a session that has a new name is removed, unless somebody changed it; those of
    /// other sessions are left. Returns the number of files that were left.
    pub(super) fn adopt(&mut self, folder: &Path, earlier: &Self) -> io::Result<u64> {
        for file in self.files.values_mut() {
            file.before = None;
        }
        let mut left = 0;
        let ending = |name: &str| Path::new(name).extension().map(ToOwned::to_owned);
        for (name, file) in &earlier.files {
            if self.files.contains_key(name) || !folder.join(name).is_file() {
                continue;
            }
            let is_same = |new: &(&String, &Written)| {
                new.1.session == file.session && ending(new.0) == ending(name)
            };
            let is_renamed = file.session.is_some() && self.files.iter().any(|new| is_same(&new));
            if is_renamed && is_plain(name) && earlier.is_untouched(folder, name) {
                fs::remove_file(folder.join(name))?;
                continue;
            }
            left += 1;
            self.files.insert(name.clone(), file.clone());
        }
        Ok(left)
    }

    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        let path: PathBuf = folder.join(NAME);
        save(&path, Existing::Replace, |out| {
            serde_json::to_writer(&mut *out, self)?;
            out.write_all(b"\n")
        })
    }
}

/// Returns whether a name is that of a file in the folder itself.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name() == Some(name.as_ref())
}
