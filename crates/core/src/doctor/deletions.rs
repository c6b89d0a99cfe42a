//! Determines which session files the agents will delete, and which of them before their time.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;

use super::file::FileRead;
use crate::agent::lifecycle::{Cleanup, CleanupFile, CleanupFolder, DeletionReason, Early, Policy};
use crate::agent::{Agent, Agents};
use crate::archive::{Archive, ArchiveError};
use crate::discover::SourceKind;
use crate::env::Env;
use crate::projects::ProjectHints;

/// One file that will be deleted.
pub(super) struct PlannedDeletion {
    pub(super) agent: &'static dyn Agent,
    pub(super) kind: SourceKind,
    pub(super) path: PathBuf,
    pub(super) session: Option<String>,
    /// The moment after which the next start in the project deletes it; none for the next start.
    pub(super) at: Option<Timestamp>,
    pub(super) why: DeletionReason,
    /// Whether it contains anything to resume.
    pub(super) is_resumable: bool,
    /// Whether the archive has its session.
    pub(super) is_kept: bool,
    /// Set if it is deleted too early because of another file.
    pub(super) early: Option<Early>,
}

/// The files of each project's folder.
pub(super) struct Folders<'a> {
    agents: Agents,
    files: HashMap<&'a Path, Vec<&'a FileRead>>,
}

impl<'a> Folders<'a> {
    pub(super) fn of(agents: Agents, files: &'a [FileRead]) -> Self {
        let mut by_folder: HashMap<&Path, Vec<&FileRead>> = HashMap::default();
        for file in files {
            if let Some(folder) = file.source.folder() {
                by_folder.entry(folder).or_default().push(file);
            }
        }
        Self { agents, files: by_folder }
    }

    /// Returns the files that will be deleted from a folder, and the policy that applies; `None` if
    /// the agent deletes nothing.
    pub(super) fn cleanup(
        &self,
        folder: &Path,
        project: Option<&Path>,
        env: &Env,
        now: Timestamp,
    ) -> Option<(&'static dyn Agent, Policy, Vec<PlannedDeletion>)> {
        let has_session =
            |files: &&Vec<&FileRead>| files.iter().any(|file| file.source.kind.is_session());
        let files = self.files.get(folder).filter(has_session)?;
        let agent = self.agents.get(&files.first()?.source.agent)?;
        let as_seen = |file: &&'a FileRead| CleanupFile {
            path: &file.source.path,
            session: file.session(),
            modified: file.source.modified.and_then(|at| Timestamp::try_from(at).ok()),
            is_fresh: false,
        };
        let files_seen = files.iter().map(as_seen).collect();
        let seen = CleanupFolder { folder, project, files: files_seen };
        let Cleanup { policy, deletions } = agent.lifecycle()?.cleanup(&seen, env, now)?;
        let by_path: HashMap<&Path, &FileRead> =
            files.iter().map(|file| (file.source.path.as_path(), *file)).collect();
        let doomed = deletions.into_iter().filter_map(|deletion| {
            let file = by_path.get(deletion.path.as_path())?;
            Some(PlannedDeletion {
                agent,
                kind: file.source.kind,
                session: file.session_id().or(agent.owner(&file.source)).map(str::to_owned),
                is_resumable: file.session().is_some_and(|session| session.is_resumable),
                is_kept: file.is_kept,
                path: deletion.path,
                at: deletion.at,
                why: deletion.why,
                early: deletion.early,
            })
        });
        Some((agent, policy, doomed.collect()))
    }
}

/// Returns the files that the agents will delete, the soonest first, from the folders in which
/// anything is not captured yet. A capture uses this order, so no sessions are loaded.
pub fn soonest_deletions(
    archive: &Archive,
    env: &Env,
    now: Timestamp,
) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut projects = archive.projects(&ProjectHints::default())?;
    let mut out: Vec<(bool, Option<Timestamp>, PathBuf)> = Vec::new();
    for ((agent, folder), files) in archive.uncaptured_sessions()? {
        let agent = archive.agents().get(&agent);
        let Some(lifecycle) = agent.and_then(|agent| agent.lifecycle()) else { continue };
        let files =
            files.iter().map(|file| CleanupFile::new(&file.path, &file.contents, file.modified));
        let project = projects.resolve(Some(&folder), None);
        let project = project.path.as_deref().map(Path::new);
        let seen = CleanupFolder { folder: &folder, project, files: files.collect() };
        let deletions = lifecycle.cleanup(&seen, env, now).map(|cleanup| cleanup.deletions);
        out.extend(deletions.into_iter().flatten().map(|d| (d.at.is_some(), d.at, d.path)));
    }
    out.sort();
    Ok(out.into_iter().map(|(_, _, path)| path).collect())
}
