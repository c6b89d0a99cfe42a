//! Files grouped by the project they belong to.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use backstory_core::agent::gemini::folder_project;
use backstory_core::collection::Collection;
use backstory_core::discover::Skipped;
use backstory_core::project::{Project, Proof};
use jiff::Timestamp;

use super::file::FileRead;

/// One project, however many folders Gemini CLI keeps for it.
pub(crate) struct ProjectFiles {
    pub(crate) project: Project,
    pub(crate) folders: Vec<Arc<Path>>,
    pub(crate) files: u64,
    /// What the folders take up, as far as it is known.
    pub(crate) bytes: u64,
    /// Conversations in which something was said.
    pub(crate) sessions: u64,
    pub(crate) updated: Option<Timestamp>,
}

impl ProjectFiles {
    /// The path, or what to call it where none is known.
    pub(crate) fn label(&self) -> &str {
        self.project.path.as_deref().unwrap_or(&self.project.name)
    }
}

/// Groups by the project's path, or by what stands for it.
pub(super) fn group(files: &[FileRead], all: &Collection) -> Vec<ProjectFiles> {
    let skipped = &all.found.skipped;
    let known = known_projects(all);
    let mut folders: HashMap<Arc<Path>, Project> = HashMap::new();
    let mut groups: BTreeMap<String, ProjectFiles> = BTreeMap::new();
    for file in files {
        let folder = file.source.folder.as_ref();
        let by_session = known.get(file.source.path.as_path());
        let project = match (by_session, folder) {
            (Some(project), _) => project.as_ref().clone(),
            (None, Some(folder)) => {
                folders.entry(folder.clone()).or_insert_with(|| folder_project(folder)).clone()
            }
            (None, None) => no_project(),
        };
        let key = project.key().to_owned();
        let group = groups.entry(key).or_insert_with(|| ProjectFiles::empty(&project));
        group.add(file, folder, project);
    }
    for session in all.sessions.iter().filter(|session| session.is_listed()) {
        if let Some(group) = groups.get_mut(session.project.key()) {
            group.sessions += 1;
        }
    }
    let mut groups: Vec<ProjectFiles> = groups.into_values().collect();
    for group in &mut groups {
        let inside = |s: &&Skipped| group.folders.iter().any(|folder| s.path.starts_with(folder));
        let size = |s: &Skipped| fs::metadata(&s.path).map_or(0, |file| file.len());
        group.bytes += skipped.iter().filter(inside).map(size).sum::<u64>();
    }
    groups.sort_by(|a, b| (b.bytes, a.label()).cmp(&(a.bytes, b.label())));
    groups
}

impl ProjectFiles {
    fn empty(project: &Project) -> Self {
        let project = project.clone();
        Self { project, folders: Vec::new(), files: 0, bytes: 0, sessions: 0, updated: None }
    }

    fn add(&mut self, file: &FileRead, folder: Option<&Arc<Path>>, project: Project) {
        self.files += 1;
        self.bytes += file.source.size;
        self.updated = self.updated.max(updated(file));
        if let Some(folder) = folder.filter(|folder| !self.folders.contains(folder)) {
            self.folders.push(folder.clone());
        }
        if project.proof < self.project.proof {
            self.project = project;
        }
    }
}

/// When the session went on for the last time; the file's own time where it does not say.
fn updated(file: &FileRead) -> Option<Timestamp> {
    let said = file.session()?.updated;
    said.or_else(|| Timestamp::try_from(file.source.modified?).ok())
}

/// The project of each session file.
fn known_projects(all: &Collection) -> HashMap<&Path, &Arc<Project>> {
    let mut known = HashMap::new();
    for session in &all.sessions {
        for part in &session.parts {
            known.entry(part.file.as_path()).or_insert(&session.project);
        }
    }
    known
}

fn no_project() -> Project {
    let name = "no project".to_owned();
    Project { name, path: None, proof: Proof::None, hash: None, dir: None }
}
