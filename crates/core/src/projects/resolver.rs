//! Resolves the project of a session from the agent's folder and from the paths in the session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::path::{ancestors, base_name, common_folder, drive_key, hash_of, is_absolute, is_hash};
use crate::path_text::to_text;
use crate::project::{Project, Proof};

/// Knowledge from before any session is read: the user's own links, and paths that may turn out to
/// be projects when their hash is found.
#[derive(Debug, Clone, Default)]
pub struct ProjectHints {
    /// Hashes (or beginnings of them) and paths, as the user linked them.
    pub links: Vec<(String, String)>,
    /// Paths to try.
    pub paths: Vec<PathBuf>,
}

/// Hints at the folder that a session ran in.
#[derive(Debug, Default)]
pub struct SessionHints {
    /// The folders that its context names.
    pub workspace: Vec<String>,
    /// Absolute paths that tools were called with.
    pub tool_paths: Vec<String>,
}

impl SessionHints {
    fn is_empty(&self) -> bool {
        self.workspace.is_empty() && self.tool_paths.is_empty()
    }
}

/// Finds the project of each folder. Folders of one path are one project.
#[derive(Debug, Default)]
pub struct Projects {
    links: Vec<(String, String)>,
    learned: Learned,
    /// The places whose own records of projects were read.
    visited: HashSet<PathBuf>,
    /// The projects that were resolved, by folder and name. Folders are text, because comparing paths part by part
    /// takes longer than resolving them.
    known: FxHashMap<(Option<OsString>, Option<String>), Arc<Project>>,
    /// The spelling to show for paths with a drive, whose case does not matter.
    spellings: HashMap<String, String>,
}

/// Learned facts, which stay true when the files they came from are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    by_hash: BTreeMap<String, (String, Proof)>,
    /// The projects of folders, from their own markers or the registry next to them, with paths as
    /// stored.
    folders: BTreeMap<String, (String, Proof)>,
    /// The common folder of the paths in tool calls, by hash, which is not a proof.
    guesses: BTreeMap<String, String>,
    /// The repositories that folders are worktrees of.
    worktrees: BTreeMap<String, String>,
    /// The number of sessions that were searched for a hash.
    asked: BTreeMap<String, u32>,
}

impl Projects {
    /// Returns a resolver that uses these hints.
    pub fn new(hints: &ProjectHints) -> Self {
        let mut projects = Self { links: hints.links.clone(), ..Self::default() };
        for path in &hints.paths {
            projects.record_path(&path.to_string_lossy(), Proof::Hash);
        }
        projects
    }

    /// Adds the facts that an earlier run learned.
    pub fn recall(&mut self, earlier: Learned) {
        for (path, proof) in earlier.by_hash.into_values() {
            self.record_path(&path, proof);
        }
        for (path, _) in earlier.folders.values() {
            self.spell(path);
        }
        self.learned.folders.extend(earlier.folders);
        self.learned.guesses.extend(earlier.guesses);
        self.learned.worktrees.extend(earlier.worktrees);
        self.learned.asked.extend(earlier.asked);
    }

    /// Returns the learned facts, to be recalled later.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Records paths that were found by their hash.
    pub fn record_found(&mut self, paths: &[String]) {
        for path in paths {
            self.record_path(path, Proof::Hash);
        }
    }

    /// Records the spelling of a path.
    fn spell(&mut self, path: &str) {
        let Some(key) = drive_key(path) else { return };
        let known = self.spellings.entry(key).or_insert_with(|| path.to_owned());
        let capitals = |path: &str| path.chars().filter(|c| c.is_uppercase()).count();
        if (capitals(path), known.as_str()) > (capitals(known), path) {
            path.clone_into(known);
        }
    }

    /// Records a path that may explain a hash.
    pub fn record_path(&mut self, path: &str, proof: Proof) {
        self.known.clear();
        self.spell(path);
        let by_hash = &mut self.learned.by_hash;
        let known = by_hash.entry(hash_of(path)).or_insert_with(|| (path.to_owned(), proof));
        if proof < known.1 {
            known.1 = proof;
        }
    }

    /// Records the repository that a folder is a worktree of.
    pub fn set_worktree(&mut self, folder: &str, repository: &str) {
        let is_proper = is_absolute(folder) && is_absolute(repository) && folder != repository;
        if is_proper && !self.learned.worktrees.contains_key(folder) {
            self.known.clear();
            self.learned.worktrees.insert(folder.to_owned(), repository.to_owned());
        }
    }

    /// Returns the path in the repository that a path in one of its worktrees corresponds to.
    fn in_repository(&self, path: &str) -> Option<String> {
        std::iter::once(path).chain(ancestors(path)).find_map(|folder| {
            let repository = self.learned.worktrees.get(folder)?;
            Some(format!("{repository}{}", &path[folder.len()..]))
        })
    }

    /// Returns whether a place is visited for the first time.
    pub fn visit(&mut self, place: &Path) -> bool {
        self.visited.insert(place.to_owned())
    }

    /// Records the project of an agent's folder.
    pub fn set_folder(&mut self, folder: &Path, path: String, proof: Proof) {
        self.record_path(&path, proof);
        let folder = to_text(folder).into_owned();
        self.learned.folders.insert(folder, (path, proof));
    }

    /// Returns the hash of a project whose path is still unknown.
    pub fn unresolved(&self, folder: Option<&Path>, hash: Option<&str>) -> Option<String> {
        let project = self.resolve_uncached(folder, hash);
        project.hash.filter(|_| project.path.is_none())
    }

    /// Returns whether more sessions should be searched; a few with hints reveal as much as all of
    /// them.
    pub fn wants_hints(&self, hash: &str) -> bool {
        self.learned.asked.get(hash).is_none_or(|asked| *asked < 5)
    }

    /// Tries the hints of a session; a path counts if it has the hash of the project.
    pub fn follow(&mut self, hash: &str, hints: &SessionHints) {
        if hints.is_empty() {
            return;
        }
        self.known.clear();
        *self.learned.asked.entry(hash.to_owned()).or_default() += 1;
        for path in &hints.workspace {
            if hash_of(path) == hash {
                self.record_path(path, Proof::SessionContext);
            }
        }
        let with_itself = |path| std::iter::once(path).chain(ancestors(path));
        for path in hints.tool_paths.iter().map(String::as_str).flat_map(with_itself) {
            if hash_of(path) == hash {
                self.record_path(path, Proof::Hash);
            }
        }
        if !self.learned.by_hash.contains_key(hash)
            && let Some(common) = common_folder(&hints.tool_paths)
        {
            let guess =
                self.learned.guesses.entry(hash.to_owned()).or_insert_with(|| common.clone());
            if let Some(both) = common_folder(&[format!("{guess}/x"), format!("{common}/x")]) {
                *guess = both;
            }
        }
    }

    /// Returns the project of sessions in `folder` that name a path, or the agent's hash of one.
    pub fn resolve(&mut self, folder: Option<&Path>, named: Option<&str>) -> Arc<Project> {
        let key = (folder.map(|folder| folder.as_os_str().to_owned()), named.map(str::to_owned));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let project = Arc::new(self.resolve_uncached(folder, named));
        self.known.insert(key, project.clone());
        project
    }

    /// Returns the project of a folder, regardless of its sessions.
    pub fn of_folder(&self, folder: &Path) -> Project {
        self.resolve_uncached(Some(folder), None)
    }

    /// Computes the project that [`resolve`](Self::resolve) remembers.
    fn resolve_uncached(&self, folder: Option<&Path>, named: Option<&str>) -> Project {
        let dir = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let recorded = named.filter(|named| is_absolute(named));
        let dir_hash = dir.as_deref().filter(|dir| is_hash(dir));
        let hash = match recorded {
            Some(path) => Some(hash_of(path)),
            None => dir_hash.or(named).map(str::to_owned),
        };
        let (path, proof) = self.path(folder, recorded, dir.as_deref(), hash.as_deref());
        let repository = path.as_deref().filter(|_| proof != Proof::Link);
        let (path, proof) = match repository.and_then(|path| self.in_repository(path)) {
            Some(path) => (Some(path), Proof::Worktree),
            None => (path, proof),
        };
        // On POSIX the recorded hash is that of the path; on Windows it need not be.
        let hash = hash.or_else(|| path.as_deref().map(hash_of));
        let path = path.map(|path| {
            let spelling = drive_key(&path).and_then(|key| self.spellings.get(&key));
            spelling.cloned().unwrap_or(path)
        });
        let label = match (&dir, &hash) {
            (Some(dir), _) if !is_hash(dir) => dir.clone(),
            (_, Some(hash)) => hash.chars().take(8).collect(),
            (Some(dir), None) => dir.clone(),
            (None, None) => "unknown".to_owned(),
        };
        let name = path.as_deref().map_or(label, |path| base_name(path).to_owned());
        Project { name, path, proof, hash, dir }
    }

    fn path(
        &self,
        folder: Option<&Path>,
        recorded: Option<&str>,
        dir: Option<&str>,
        hash: Option<&str>,
    ) -> (Option<String>, Proof) {
        let linked = |(start, _): &&(String, String)| {
            hash.is_some_and(|hash| hash.starts_with(start.as_str())) || dir == Some(start)
        };
        if let Some((_, path)) = self.links.iter().find(linked) {
            return (Some(path.clone()), Proof::Link);
        }
        if let Some(path) = recorded {
            return (Some(path.to_owned()), Proof::Cwd);
        }
        if let Some((path, proof)) =
            folder.and_then(|folder| self.learned.folders.get(&*to_text(folder)))
        {
            return (Some(path.clone()), *proof);
        }
        match hash.and_then(|hash| self.learned.by_hash.get(hash)) {
            // The marker and the registry apply to their own folder; elsewhere the hash is the
            // proof.
            Some((path, Proof::ProjectRoot | Proof::Registry)) => (Some(path.clone()), Proof::Hash),
            Some((path, proof)) => (Some(path.clone()), *proof),
            None => match hash.and_then(|hash| self.learned.guesses.get(hash)) {
                Some(path) => (Some(path.clone()), Proof::ToolPaths),
                None => (None, Proof::None),
            },
        }
    }
}
