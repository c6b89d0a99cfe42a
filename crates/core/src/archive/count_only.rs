//! Computes sums for a run that stores nothing: the same reading, sessions and rows as a sync,
//! without the data that only other queries or a later sync would need.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::reading;
use super::sync::SyncOptions;
use super::sync::learn_folders;
use super::{Archive, ArchiveError, FaultCount, session_rows};
use crate::agent::Detail;
use crate::assemble::{ScannedSource, assemble, memberships, partition};
use crate::discover::{Discovery, Source};
use crate::id::is_uuid;
use crate::projects::Projects;
use crate::read::bytes::Disk;

impl Archive {
    /// Fills an empty archive in memory with usage by time, model and kind of session. Names of
    /// projects may stay unknown, and there are no sessions to list. Every project is included, so
    /// this must not be used when projects are excluded.
    pub fn count_only(
        &mut self,
        found: &Discovery,
        options: &SyncOptions<'_>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<FaultCount, ArchiveError> {
        let mut projects = Projects::new(options.candidates);
        let agents = self.agents;
        learn_folders(agents, found, &mut projects);
        let read = |source: &Source| {
            let scanned = reading::read(agents, source.clone(), &Disk, Detail::Calls).scanned;
            progress(source.size);
            scanned
        };
        let scanned: Vec<ScannedSource> = found.sources.par_iter().map(read).collect();
        let mut faults = FaultCount::default();
        for scanned in &scanned {
            faults.add(scanned);
        }
        let ids = ids_by_folder(&scanned, &mut projects);
        let named = |folder: &Path, short: &str| {
            let from = (Bound::Included(short), Bound::Unbounded);
            let later = ids.get(folder)?.range::<str, _>(from);
            let mut fitting = later.take_while(|id| id.starts_with(short));
            fitting.next().filter(|_| fitting.next().is_none()).cloned()
        };
        let machine = self.identify(options.machine)?;
        let db = self.db.transaction()?;
        for lot in partition(scanned, &mut projects, &named) {
            for assembled in assemble(lot, &agents, &mut projects, &named) {
                session_rows::insert_sums(&db, assembled, &machine)?;
            }
        }
        db.commit()?;
        Ok(faults)
    }
}

/// Returns the ids of the sessions in each folder if any log has lost its header, because such a
/// log is assigned by its file name.
fn ids_by_folder(
    scanned: &[ScannedSource],
    projects: &mut Projects,
) -> HashMap<PathBuf, BTreeSet<String>> {
    let mut out: HashMap<PathBuf, BTreeSet<String>> = HashMap::new();
    if !scanned.iter().any(|scanned| scanned.facts.is_nameless()) {
        return out;
    }
    for scanned in scanned.iter().filter(|scanned| !scanned.facts.is_nameless()) {
        let Some(folder) = scanned.source.folder() else { continue };
        let groups = memberships(scanned, projects, &|_, _| None).into_iter();
        let ids = groups.map(|member| member.group).filter(|group| is_uuid(group));
        out.entry(folder.to_owned()).or_default().extend(ids);
    }
    out
}
