//! Diagnoses the state of the agents' files: which were found, which could not be read, which the
//! agents will delete, and whether the archive has them.

mod archive;
mod deletions;
mod diagnosis;
mod file;
mod projects;
mod report;

use std::ffi::OsStr;
use std::path::Path;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::agent::Agents;
use crate::archive::{Archive, ArchiveError, FileRow};
use crate::collection::Collection;
use crate::discover::Discovery;
use crate::model::Session;
use crate::projects::ProjectHints;

pub use archive::{Advice, ArchiveReport};
pub use deletions::soonest_deletions;
use file::FileRead;
use projects::ProjectFiles;
pub use report::{
    Check, Deletion, Fault, FoundFiles, Problem, Project, Records, Report, Retention,
    SearchedPlace, Skipped,
};

/// All files that were read, individually and by project.
pub struct Survey<'a> {
    agents: Agents,
    found: &'a Discovery,
    /// Sorted by path.
    files: Vec<FileRead>,
    /// The largest first.
    projects: Vec<ProjectFiles>,
}

impl<'a> Survey<'a> {
    /// Examines all files and sessions of an archive.
    pub fn new(archive: &Archive, all: &'a Collection) -> Result<Self, ArchiveError> {
        let mut owners = Owners::default();
        for session in &all.sessions {
            for part in &session.parts {
                owners.entry(part.file.as_os_str()).or_insert(session);
            }
        }
        let rows = archive.files()?;
        let is_there = |row: &FileRow| row.source.is_live();
        let mut files: Vec<FileRead> = rows
            .into_iter()
            .filter(is_there)
            .map(|row| {
                let owner = owners.get(row.source.path.as_os_str()).copied();
                let is_whole = row.captured == row.source.size;
                let is_kept = owner.map_or(is_whole, |session| session.captured);
                FileRead { is_kept, ..FileRead::new(row, owner.map(|s| s.id.as_str())) }
            })
            .collect();
        mark_newest(&mut files);
        let learned = archive.projects(&ProjectHints::default())?;
        let projects = projects::group(
            &files,
            &owners,
            &all.sessions,
            &all.found.skipped,
            learned,
            archive.agents(),
        );
        let agents = archive.agents();
        Ok(Self { agents, found: &all.found, files, projects })
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of files with faults.
    pub fn faulty_files(&self) -> usize {
        self.files.iter().filter(|file| file.fault_count() > 0).count()
    }

    /// Returns whether there is data of Antigravity CLI, and none of Gemini CLI.
    pub fn only_antigravity(&self) -> bool {
        let is_antigravity = |path: &Path| path.file_name().is_some_and(|n| n == "antigravity-cli");
        self.files.is_empty() && self.found.skipped.iter().any(|s| is_antigravity(&s.path))
    }
}

/// The session that each file belongs to. The paths of both are stored alike, and their text is
/// faster to hash than their components.
type Owners<'a> = HashMap<&'a OsStr, &'a Session>;

/// Marks the most recently updated file of each session.
fn mark_newest(files: &mut [FileRead]) {
    let mut newest: HashMap<&str, usize> = HashMap::default();
    let updated =
        |at: usize| files[at].session().map(|file| (file.updated, &files[at].source.path));
    for (at, file) in files.iter().enumerate() {
        if let Some(id) = file.session_id() {
            let best = newest.entry(id).or_insert(at);
            if updated(at) > updated(*best) {
                *best = at;
            }
        }
    }
    let newest: HashSet<usize> = newest.into_values().collect();
    for (at, file) in files.iter_mut().enumerate() {
        file.is_newest = file.session_id().is_none() || newest.contains(&at);
    }
}
