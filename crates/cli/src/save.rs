//! Saves files atomically: a file appears whole or not at all, even if the run is interrupted.

use std::collections::HashSet;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstory_core::file::{Draft, Existing, finish_all, folder_of, remove_abandoned};

use crate::interrupt;

/// Saves one file, which is synced to the disk when this returns.
pub(crate) fn save(
    output: &Path,
    existing: Existing,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    remove_abandoned(folder_of(output));
    let mut draft = begin(output, existing)?;
    draft.fill(content)?;
    draft.finish()
}

fn begin(output: &Path, existing: Existing) -> io::Result<Draft> {
    let folder = folder_of(output);
    if !folder.exists() {
        let what = format!("the folder `{}` does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    interrupt::make(|| Draft::new(output, existing), Draft::name)
}

/// The number of files that are synced together: few enough to keep open at once.
const GROUP: usize = 64;

/// Saves many files. Syncing each takes longer than writing it, so files are synced in groups, and renamed
/// to their final names after that.
#[derive(Default)]
pub(crate) struct Batch {
    drafts: Vec<Draft>,
    failures: Vec<(PathBuf, io::Error)>,
    /// The folders from which abandoned drafts were removed.
    swept: HashSet<PathBuf>,
}

impl Batch {
    pub(crate) fn save(
        &mut self,
        output: &Path,
        existing: Existing,
        modified: Option<SystemTime>,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.save_if(output, existing, modified, |out| content(out).map(|()| true)).map(|_| ())
    }

    /// Saves a file unless `content` reports that it is up to date. Returns whether it was written.
    pub(crate) fn save_if(
        &mut self,
        output: &Path,
        existing: Existing,
        modified: Option<SystemTime>,
        content: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
    ) -> io::Result<bool> {
        if self.is_full() {
            self.failures.extend(finish_all(mem::take(&mut self.drafts)));
        }
        let folder = folder_of(output);
        if !self.swept.contains(folder) {
            remove_abandoned(folder);
            self.swept.insert(folder.to_owned());
        }
        let mut draft = begin(output, existing)?;
        let mut is_needed = false;
        draft.fill(|out| {
            is_needed = content(out)?;
            Ok(())
        })?;
        if !is_needed {
            return Ok(false);
        }
        if let Some(modified) = modified {
            // Some systems cannot set it; the content is what matters.
            let _ = draft.set_modified(modified);
        }
        self.drafts.push(draft);
        Ok(true)
    }

    /// Returns whether the next file completes the ones before, which then get their final names.
    pub(crate) fn is_full(&self) -> bool {
        self.drafts.len() == GROUP
    }

    /// Returns whether no file waits for its final name.
    pub(crate) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Completes the last group, and returns the files that failed.
    pub(crate) fn finish(mut self) -> Vec<(PathBuf, io::Error)> {
        self.failures.extend(finish_all(self.drafts));
        self.failures
    }
}
