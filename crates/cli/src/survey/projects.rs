//! Files grouped by the project they belong to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use backstory_core::agent::gemini::{Project, Proof};
use backstory_core::discover::{Skipped, SourceKind};
use jiff::Timestamp;

use super::file::FileRead;

/// One project, however many folders Gemini CLI keeps for it.
pub(crate) struct ProjectFiles {
    pub(crate) project: Project,
    pub(crate) folders: Vec<Arc<Path>>,
    pub(crate) files: u64,
    /// What the folders take up, as far as it is known.
    pub(crate) bytes: u64,
    /// Sessions that one could go back to, each once.
    pub(crate) sessions: u64,
    pub(crate) updated: Option<Timestamp>,
}

impl ProjectFiles {
    /// The path, or what to call it where none is known.
    pub(crate) fn label(&self) -> &str {
        self.project.path.as_deref().unwrap_or(&self.project.name)
    }
}

/// Groups by the hash of the project's path, which a hash folder and its slug folder share.
pub(super) fn group(
    files: &[FileRead],
    skipped: &[Skipped],
    known: &HashMap<Arc<Path>, Project>,
) -> Vec<ProjectFiles> {
    let mut groups: BTreeMap<String, ProjectFiles> = BTreeMap::new();
    let mut sessions: HashMap<String, HashSet<&str>> = HashMap::new();
    for file in files {
        let folder = file.source.folder.as_ref();
        let project = match folder.and_then(|folder| known.get(folder)) {
            Some(project) => project.clone(),
            None => without_folder(file),
        };
        let key = project.hash.clone().unwrap_or_else(|| match folder {
            Some(folder) => folder.display().to_string(),
            None => String::new(),
        });
        let group = groups.entry(key.clone()).or_insert_with(|| ProjectFiles::empty(&project));
        group.add(file, folder, project);
        if let Some(session) = file.session()
            && session.resumable
            && file.source.kind == SourceKind::Chat
        {
            sessions.entry(key).or_default().insert(&session.id);
        }
    }
    for (key, ids) in &sessions {
        if let Some(group) = groups.get_mut(key) {
            group.sessions = ids.len() as u64;
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

/// The project of a file that stands alone: what its header says.
fn without_folder(file: &FileRead) -> Project {
    let hash = file.session().and_then(|session| session.project_hash.clone());
    let name = match &hash {
        Some(hash) => hash.chars().take(8).collect(),
        None => "no project".to_owned(),
    };
    Project { name, path: None, proof: Proof::None, hash, dir: String::new() }
}
