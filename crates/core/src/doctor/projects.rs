//! Groups files by project.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::Owners;
use super::file::FileRead;
use crate::agent::Agents;
use crate::discover::Skipped;
use crate::model::{AgentId, Session};
use crate::project::{Project, Proof};
use crate::projects::Projects;

/// One project, however many folders the agents have for it.
pub(super) struct ProjectFiles {
    pub(super) project: Project,
    pub(super) folders: BTreeSet<Arc<Path>>,
    pub(super) files: u64,
    /// The size of the folders, as far as it is known.
    pub(super) bytes: u64,
    /// The number of conversations with any content.
    pub(super) sessions: u64,
    pub(super) updated: Option<Timestamp>,
}

impl ProjectFiles {
    /// Returns the path, or the name if it is unknown.
    pub(super) fn label(&self) -> &str {
        self.project.path.as_deref().unwrap_or(&self.project.name)
    }
}

/// Groups files by the project's path or name. `learned` are the known projects.
pub(super) fn group(
    files: &[FileRead],
    owners: &Owners<'_>,
    sessions: &[Session],
    skipped: &[Skipped],
    learned: Projects,
    agents: Agents,
) -> Vec<ProjectFiles> {
    let mut folders = Folders::new(learned, agents);
    let mut groups: BTreeMap<String, ProjectFiles> = BTreeMap::new();
    for file in files {
        let folder = file.source.folder.as_ref();
        let project = match (owners.get(file.source.path.as_os_str()), folder) {
            (Some(session), _) => session.project.clone(),
            (None, Some(folder)) => folders.project(&file.source.agent, folder),
            (None, None) => folders.none.clone(),
        };
        if !groups.contains_key(project.key()) {
            groups.insert(project.key().to_owned(), ProjectFiles::empty(&project));
        }
        if let Some(group) = groups.get_mut(project.key()) {
            group.add(file, folder, &project);
        }
    }
    for session in sessions.iter().filter(|session| session.is_listed()) {
        if let Some(group) = groups.get_mut(session.project.key()) {
            group.sessions += 1;
        }
    }
    let mut groups: Vec<ProjectFiles> = groups.into_values().collect();
    add_skipped(&mut groups, skipped);
    groups.sort_by(|a, b| (b.bytes, a.label()).cmp(&(a.bytes, b.label())));
    groups
}

/// Adds the sizes of skipped files to the projects whose folders contain them.
fn add_skipped(groups: &mut [ProjectFiles], skipped: &[Skipped]) {
    let mut owners: HashMap<Arc<Path>, usize> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        for folder in &group.folders {
            owners.entry(folder.clone()).or_insert(at);
        }
    }
    for skipped in skipped {
        let owner = skipped.path.ancestors().find_map(|folder| owners.get(folder));
        if let Some(at) = owner {
            groups[*at].bytes += fs::metadata(&skipped.path).map_or(0, |file| file.len());
        }
    }
}

/// The projects of folders without a session that names one.
struct Folders {
    known: HashMap<Arc<Path>, Arc<Project>>,
    learned: Projects,
    agents: Agents,
    none: Arc<Project>,
}

impl Folders {
    fn new(learned: Projects, agents: Agents) -> Self {
        let name = "no project".to_owned();
        let none = Project { name, path: None, proof: Proof::None, hash: None, dir: None };
        Self { known: HashMap::new(), learned, agents, none: Arc::new(none) }
    }

    fn project(&mut self, agent: &AgentId, folder: &Arc<Path>) -> Arc<Project> {
        let Self { known, learned, agents, .. } = self;
        let find = || {
            if let Some(agent) = agents.get(agent) {
                agent.learn_folder(folder, learned);
            }
            learned.resolve(Some(folder), None)
        };
        known.entry(folder.clone()).or_insert_with(find).clone()
    }
}

impl ProjectFiles {
    fn empty(project: &Project) -> Self {
        let project = project.clone();
        Self { project, folders: BTreeSet::new(), files: 0, bytes: 0, sessions: 0, updated: None }
    }

    fn add(&mut self, file: &FileRead, folder: Option<&Arc<Path>>, project: &Project) {
        self.files += 1;
        self.bytes += file.source.size;
        self.updated = self.updated.max(updated(file));
        if let Some(folder) = folder.filter(|folder| !self.folders.contains(*folder)) {
            self.folders.insert(folder.clone());
        }
        if project.proof < self.project.proof {
            self.project = project.clone();
        }
    }
}

/// Returns the time of the session's last update, or of the file's if it is not recorded.
fn updated(file: &FileRead) -> Option<Timestamp> {
    let said = file.session()?.updated;
    said.or_else(|| Timestamp::try_from(file.source.modified?).ok())
}
