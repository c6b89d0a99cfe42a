//! Brings the archive up to date: reads only changed files and rebuilds only the sessions they
//! affect.
//!
//! A batch of files is one transaction, so a killed run leaves complete batches behind. Every row
//! is a function of the sources, so the next run ends where one uninterrupted run would.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use rayon::prelude::*;
use rusqlite::TransactionBehavior;

use super::digest::{Digest, Recorder};
use super::fingerprint::Fingerprint;
use super::forget::look_again;
use super::ingest::{Incoming, Ingest, Origin};
use super::listed::{self, Extract};
use super::machine::{self, MachineId};
use super::reading::{self, Reading};
use super::sources::{self, Known, KnownFiles};
use super::{Archive, ArchiveError, codec, notes};
use crate::agent::{Agents, Detail};
use crate::discover::{Discovery, Source, SourceState};
use crate::facts::SourceFacts;
use crate::model::AgentId;
use crate::path_text::{from_text, to_text};
use crate::project::Project;
use crate::projects::{Learned, ProjectHints, Projects};

/// The maximum number of bytes of files in one batch, unless it is a single file. It bounds the memory of a
/// sync.
const BATCH: u64 = 64 << 20;

/// Selects the projects that are left out.
pub trait Exclude {
    /// Returns whether a project is left out.
    fn takes(&self, project: &Project) -> bool;
}

/// Excludes nothing.
impl Exclude for () {
    fn takes(&self, _: &Project) -> bool {
        false
    }
}

/// The machine whose files are read.
#[derive(Debug, Clone, Copy)]
pub enum Machine<'a> {
    /// This machine, under the name its owner gave it.
    This(&'a str),
    /// Another machine, whose files were found below a folder here.
    Other(&'a str),
}

/// The options of a sync.
pub struct SyncOptions<'a> {
    /// The machine whose files are read.
    pub machine: Machine<'a>,
    /// Folders that may be projects.
    pub candidates: &'a ProjectHints,
    /// The projects that are left out.
    pub exclude: &'a dyn Exclude,
    /// The source of `exclude` as text. When it changes, files that were left out are reconsidered.
    pub excluded: &'a str,
    /// The bytes of files to read before the result is written; 0 for the default.
    pub batch: u64,
}

impl<'a> SyncOptions<'a> {
    /// Returns options that exclude nothing, for a machine without a name.
    pub fn plain(candidates: &'a ProjectHints) -> Self {
        let machine = Machine::This("");
        Self { machine, candidates, exclude: &(), excluded: "", batch: 0 }
    }
}

/// Counts of the files of a sync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncStats {
    /// Files that were not known before.
    pub new: u64,
    /// Files that have changed.
    pub changed: u64,
    /// Files that no longer exist.
    pub gone: u64,
    /// Files that have not changed.
    pub unchanged: u64,
    /// Files among the new and changed ones that have faults.
    pub faulty: u64,
    /// The bytes read.
    pub bytes: u64,
}

/// A file that is new or has changed.
struct Change {
    source: Source,
    /// The content that was read before.
    digest: Option<Digest>,
    /// The stored reading of a source that may only have grown.
    earlier: Option<(SourceFacts, Vec<u8>)>,
    /// The earlier extract, for a file of which only an extract is read.
    extract: Option<Vec<u8>>,
}

impl Archive {
    /// Reads new and changed files. Calls `progress` with the size of each file that is done.
    pub fn sync(
        &mut self,
        found: &Discovery,
        options: &SyncOptions<'_>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<SyncStats, ArchiveError> {
        let _lock = self.write_lock()?;
        let machine = self.identify(options.machine)?;
        self.reading = Some(machine.clone());
        let mut projects = self.projects(options.candidates)?;
        learn_folders(self.agents, found, &mut projects);
        if self.note("excluded")?.unwrap_or_default() != options.excluded.as_bytes() {
            look_again(&self.db)?;
            notes::set(&self.db, "excluded", options.excluded.as_bytes())?;
        }
        let mut synced = SyncStats::default();
        let mut known = sources::known(&self.db, &machine, found.sources.len())?;
        let changes = self.changes(found, &mut known, &mut synced)?;
        let agents = self.agents;
        let mut ingest = Ingest::new(options, agents, projects);
        let mut rest = changes.into_iter().peekable();
        let most = if options.batch == 0 { BATCH } else { options.batch };
        while rest.peek().is_some() {
            let mut size = 0;
            let mut files = Vec::new();
            while let Some(change) =
                rest.next_if(|next| size == 0 || size + next.source.size <= most)
            {
                size += change.source.size.max(1);
                files.push(change);
            }
            let read: Vec<Incoming> = files
                .into_par_iter()
                .map(|change| {
                    let size = change.source.size;
                    let read = read(agents, change, machine.clone());
                    progress(size);
                    read
                })
                .collect();
            synced.bytes += size;
            synced.faulty +=
                read.iter().filter(|r| !r.reading.scanned.facts.faults.is_clean()).count() as u64;
            ingest.learn(&read);
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            ingest.write(&transaction, read, |_, _| Ok(()))?;
            transaction.commit()?;
        }
        synced.gone = self.mark_gone(&known)?;
        ingest.finish(self)?;
        Ok(synced)
    }

    /// Returns the id of a machine and records its name.
    pub(super) fn identify(&mut self, machine: Machine<'_>) -> Result<MachineId, ArchiveError> {
        let (id, label) = match machine {
            Machine::This(label) => (self.own_machine(label)?, label),
            Machine::Other(label) => (machine::named(label), label),
        };
        machine::set_label(&self.db, &id, label)?;
        Ok(id)
    }

    /// Marks files as gone that were not found and do not exist at their paths, and counts them.
    fn mark_gone(&self, known: &KnownFiles) -> Result<u64, ArchiveError> {
        let mut gone = 0;
        for (path, known) in known {
            let may_be_gone = known.state == SourceState::Live && !known.is_found;
            if may_be_gone && is_missing(&from_text(path)) {
                sources::set_state(&self.db, known.number, SourceState::Gone)?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Returns what earlier syncs have learned about projects, combined with `candidates`.
    pub fn projects(&self, candidates: &ProjectHints) -> Result<Projects, ArchiveError> {
        let mut projects = Projects::new(candidates);
        if let Some(learned) = self.note("projects")? {
            projects.recall(codec::decode::<Learned>(&learned, "projects")?);
        }
        Ok(projects)
    }

    fn changes(
        &self,
        found: &Discovery,
        known: &mut KnownFiles,
        synced: &mut SyncStats,
    ) -> Result<Vec<Change>, ArchiveError> {
        let mut out = Vec::new();
        for source in &found.sources {
            let mut before = known.get_mut(&*to_text(&source.path));
            if let Some(before) = &mut before {
                before.is_found = true;
            }
            let before = before.as_deref();
            match before {
                Some(before) if before.fingerprint == fingerprint(source, before) => {
                    synced.unchanged += 1;
                    if before.state == SourceState::Gone {
                        sources::set_state(&self.db, before.number, SourceState::Live)?;
                    }
                    continue;
                }
                Some(_) => synced.changed += 1,
                None => synced.new += 1,
            }
            let digest = match before {
                Some(known) => sources::digest_of(&self.db, known)?,
                None => None,
            };
            let extract = source.kind.is_extract().then(|| {
                // One that is damaged is made again.
                let known = before.and_then(|known| listed::extract(&self.db, known.number).ok());
                known.unwrap_or_default()
            });
            let is_at_least_as_long =
                digest.as_ref().is_some_and(|digest| digest.length <= source.size);
            let earlier = match before.filter(|known| known.offset.is_some() && is_at_least_as_long)
            {
                Some(known) => sources::earlier(&self.db, source, known.number)?,
                None => None,
            };
            out.push(Change { source: source.clone(), digest, earlier, extract });
        }
        Ok(out)
    }
}

/// Learns which projects the agents' folders belong to.
pub(super) fn learn_folders(agents: Agents, found: &Discovery, projects: &mut Projects) {
    let mut folders: Vec<(&AgentId, &Path)> =
        found.sources.iter().filter_map(|source| Some((&source.agent, source.folder()?))).collect();
    // The files of a folder follow one another.
    folders.dedup_by(|(_, a), (_, b)| a.as_os_str() == b.as_os_str());
    for (agent, folder) in folders.into_iter().collect::<BTreeSet<_>>() {
        if let Some(agent) = agents.get(agent) {
            agent.learn_folder(folder, projects);
        }
    }
}

/// Returns whether a file certainly does not exist. One that cannot be accessed may exist.
fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    })
}

/// Returns the fingerprint of a file that was found. The size of an extract is not that of the file.
fn fingerprint(source: &Source, known: &Known) -> Fingerprint {
    let found = Fingerprint::of(source);
    let size = if source.kind.is_extract() { known.fingerprint.size } else { found.size };
    Fingerprint { size, ..found }
}

/// Reads what the archive does not have yet of a file of which only an extract is kept.
fn read_extract(
    agents: Agents,
    mut source: Source,
    digest: Option<&Digest>,
    mut extract: Vec<u8>,
    machine: MachineId,
) -> Incoming {
    let has_grown = digest.is_some_and(|digest| *digest == Digest::of(&extract));
    let origin = if has_grown { Origin::Grown } else { Origin::Disk };
    let new_from = extract.len() as u64;
    let added = agents.get(&source.agent).map(|agent| agent.extract(&source, &extract));
    let (fingerprint, digest, reading) = match added.transpose() {
        Ok(added) => {
            extract.extend(added.unwrap_or_default());
            source.size = extract.len() as u64;
            let digest = Digest::of(&extract);
            let fingerprint = Fingerprint::of(&source);
            let mut reading = reading::read(agents, source, &Extract(&extract), Detail::Full);
            reading.extract = Some(extract);
            (fingerprint, Some(digest), reading)
        }
        Err(error) => (Fingerprint::unknown(0), None, Reading::unreadable(source, error)),
    };
    let state = SourceState::Live;
    Incoming { machine, state, fingerprint, digest, reading, origin, new_from }
}

/// Reads a file. A log is continued where the last scan ended if everything read then is still
/// there.
fn read(agents: Agents, change: Change, machine: MachineId) -> Incoming {
    let Change { mut source, digest, earlier, extract } = change;
    if let Some(extract) = extract {
        return read_extract(agents, source, digest.as_ref(), extract, machine);
    }
    let known_length = digest.as_ref().map_or(0, |digest| digest.length);
    let incoming = |reading, origin, fingerprint, digest| {
        let state = SourceState::Live;
        let new_from = if origin == Origin::Grown { known_length } else { 0 };
        Incoming { machine, state, fingerprint, digest, reading, origin, new_from }
    };
    let recorder = match Recorder::open(&source.path, digest.as_ref().map(|digest| digest.length)) {
        Ok(recorder) => recorder,
        Err(error) => {
            let fingerprint = Fingerprint::unknown(source.size);
            return incoming(Reading::unreadable(source, error), Origin::Disk, fingerprint, None);
        }
    };
    recorder.describe(&mut source);
    let has_same_beginning = || recorder.beginning().is_ok_and(|beginning| beginning == digest);
    let continued = earlier
        .filter(|_| has_same_beginning())
        .and_then(|(facts, state)| reading::read_on(agents, &source, facts, &state, &recorder));
    let reading =
        continued.unwrap_or_else(|| reading::read(agents, source.clone(), &recorder, Detail::Full));
    match recorder.finish() {
        Ok(recorded) => {
            let has_grown = digest.is_some() && recorded.at_mark == digest;
            let origin = if has_grown { Origin::Grown } else { Origin::Disk };
            incoming(reading, origin, recorded.fingerprint, Some(recorded.digest))
        }
        Err(error) => {
            let fingerprint = Fingerprint::unknown(source.size);
            incoming(Reading::unreadable(source, error), Origin::Disk, fingerprint, None)
        }
    }
}
