//! Brings the ledger up to date: only what changed is read, and only the sessions that it touches are
//! put together anew.
//!
//! A batch of files is one transaction, so that a killed run leaves whole batches behind. Every row
//! is a function of the sources, so the next run ends where one clean run would.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use rusqlite::TransactionBehavior;

use super::batch::{Batch, Incoming, Origin};
use super::fingerprint::{self, Look};
use super::sources::{self, Known};
use super::words::look_again;
use super::{Archive, ArchiveError, ledger};
use crate::agent::gemini::{self, Candidates, Projects};
use crate::discover::{Found, Source, SourceState};
use crate::project::Project;
use crate::read::bytes::Disk;

/// A batch is this many bytes of files at most, or one file: it bounds the memory of a sync.
const BATCH: u64 = 64 << 20;

/// Which projects stay out.
pub trait Exclude {
    fn takes(&self, project: &Project) -> bool;
}

/// None at all.
impl Exclude for () {
    fn takes(&self, _: &Project) -> bool {
        false
    }
}

/// What a sync goes by.
pub struct Setup<'a> {
    /// What the place is called where the files were found.
    pub machine: &'a str,
    pub candidates: &'a Candidates,
    /// Projects that must stay out.
    pub exclude: &'a dyn Exclude,
    /// What `exclude` goes by: when it changes, what was left out is looked at again.
    pub excluded: &'a str,
    /// How many bytes of files are read before what they come to is written; 0 for as many as is
    /// sensible.
    pub batch: u64,
}

/// What a sync found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Synced {
    pub new: u64,
    pub changed: u64,
    /// Files that are not there any more.
    pub gone: u64,
    pub unchanged: u64,
    /// Files among the new and changed ones that have faults.
    pub faulty: u64,
    /// How many bytes were read.
    pub bytes: u64,
}

/// A file that is not as it was.
struct Change {
    source: Source,
    /// What was stored of a log that may only have grown.
    stored: Option<(Vec<u8>, Known)>,
}

impl Archive {
    /// Reads what is new or has changed. `progress` is told of the bytes of each file that is done.
    pub fn sync(
        &mut self,
        found: &Found,
        setup: &Setup<'_>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Synced, ArchiveError> {
        let mut projects = self.projects(setup.candidates)?;
        let folders: BTreeSet<&Path> = found.sources.iter().filter_map(Source::folder).collect();
        for folder in folders {
            projects.learn_folder(folder);
        }
        if self.note("excluded")?.unwrap_or_default() != setup.excluded.as_bytes() {
            look_again(&self.db)?;
            ledger::set_note(&self.db, "excluded", setup.excluded.as_bytes())?;
        }
        let mut synced = Synced::default();
        let known = sources::known(&self.db, setup.machine)?;
        let changes = self.changes(found, &known, &mut synced)?;
        let mut batch = Batch::new(setup, projects);
        let mut rest = changes.into_iter().peekable();
        let most = if setup.batch == 0 { BATCH } else { setup.batch };
        while rest.peek().is_some() {
            let mut size = 0;
            let mut files = Vec::new();
            while let Some(change) =
                rest.next_if(|next| size == 0 || size + next.source.size <= most)
            {
                size += change.source.size.max(1);
                files.push(change);
            }
            let machine: Arc<str> = setup.machine.into();
            let read: Vec<Incoming> = files
                .into_par_iter()
                .map(|change| {
                    let size = change.source.size;
                    let read = read(change, machine.clone());
                    progress(size);
                    read
                })
                .collect();
            synced.bytes += size;
            synced.faulty +=
                read.iter().filter(|r| !r.kept.scanned.faults.is_clean()).count() as u64;
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            batch.write(&transaction, read)?;
            transaction.commit()?;
        }
        synced.gone = self.mark_gone(found, &known)?;
        batch.settle(self)?;
        Ok(synced)
    }

    /// Files that are neither found nor there.
    fn mark_gone(
        &self,
        found: &Found,
        known: &HashMap<String, Known>,
    ) -> Result<u64, ArchiveError> {
        let there: HashSet<Cow<'_, str>> =
            found.sources.iter().map(|source| source.path.to_string_lossy()).collect();
        let mut gone = 0;
        for (path, known) in known {
            let is_there = there.contains(path.as_str());
            if known.state == SourceState::Live
                && !is_there
                && Path::new(path).symlink_metadata().is_err()
            {
                sources::set_state(&self.db, known.number, SourceState::Gone)?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// What is known of projects.
    pub fn projects(&self, candidates: &Candidates) -> Result<Projects, ArchiveError> {
        let mut projects = Projects::new(candidates);
        if let Some(learned) = self.note("projects")? {
            projects.recall(&learned);
        }
        Ok(projects)
    }

    fn changes(
        &self,
        found: &Found,
        known: &HashMap<String, Known>,
        synced: &mut Synced,
    ) -> Result<Vec<Change>, ArchiveError> {
        let mut out = Vec::new();
        for source in &found.sources {
            let before = known.get(&*source.path.to_string_lossy());
            match before {
                Some(before) if before.look == Look::of(source) => {
                    synced.unchanged += 1;
                    if before.state == SourceState::Gone {
                        sources::set_state(&self.db, before.number, SourceState::Live)?;
                    }
                    continue;
                }
                Some(_) => synced.changed += 1,
                None => synced.new += 1,
            }
            let grown = before.filter(|before| {
                before.offset.is_some_and(|offset| source.size >= offset)
                    && before.look.inode == Look::of(source).inode
            });
            let stored = match grown {
                Some(before) => {
                    sources::scan(&self.db, before.number)?.map(|s| (s, before.clone()))
                }
                None => None,
            };
            out.push(Change { source: source.clone(), stored });
        }
        Ok(out)
    }
}

fn read(change: Change, machine: Arc<str>) -> Incoming {
    let Change { source, stored } = change;
    // What was seen before reading: if the file changes meanwhile, the next sync will notice.
    let look = Look::of(&source);
    let path = source.path.clone();
    let go_on = |(stored, before): (Vec<u8>, Known)| {
        let proof = fingerprint::proof(&path, before.offset?).ok()?;
        if before.proof.as_ref() != Some(&proof) {
            return None;
        }
        gemini::scan_on(&source, &stored)
    };
    let on = stored.and_then(go_on);
    let origin = if on.is_some() { Origin::Continued } else { Origin::Disk };
    let kept = on.unwrap_or_else(|| gemini::scan_and_store(source, &Disk));
    let proof = kept.offset.and_then(|offset| fingerprint::proof(&path, offset).ok());
    Incoming { machine, state: SourceState::Live, look, proof, kept, origin }
}
