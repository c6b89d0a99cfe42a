//! Which project a folder of Gemini CLI's belongs to, and how that is known.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clues::Clues;
use crate::path_text::to_text;
use crate::project::{Project, Proof};
use crate::read::bytes::{MARKER_LIMIT, SETTINGS_LIMIT, read_regular, read_text};

/// What is known before any session is read: the user's word, and paths that may turn out to be
/// projects when their hash is met.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// Hash (or the beginning of it) and path, as the user linked them.
    pub links: Vec<(String, String)>,
    /// Paths to try.
    pub paths: Vec<PathBuf>,
}

/// Finds the project of each folder. Folders of one path are one project.
#[derive(Debug, Default)]
pub struct Projects {
    links: Vec<(String, String)>,
    learned: Learned,
    /// The agent's folders whose registry was read.
    read: HashSet<PathBuf>,
    known: BTreeMap<(Option<PathBuf>, Option<String>), Arc<Project>>,
    /// The spelling to show of paths that begin with a drive, whose case does not matter.
    spellings: HashMap<String, String>,
}

/// What was seen, and stays true when the files that told it are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Learned {
    by_hash: BTreeMap<String, (String, Proof)>,
    /// What a folder's own note says, or the registry beside it. Paths as they are stored.
    folders: BTreeMap<String, (String, Proof)>,
    /// What the paths in tool calls have in common, by hash: no proof.
    guesses: BTreeMap<String, String>,
    /// How many sessions of a hash were looked into.
    asked: BTreeMap<String, u32>,
}

impl Projects {
    pub fn new(candidates: &Candidates) -> Self {
        let mut projects = Self { links: candidates.links.clone(), ..Self::default() };
        for path in &candidates.paths {
            projects.propose(&path.to_string_lossy(), Proof::Hash);
        }
        projects
    }

    /// Adds what an earlier run learned.
    pub fn recall(&mut self, stored: &[u8]) {
        let Ok(earlier) = postcard::from_bytes::<Learned>(stored) else { return };
        for (path, proof) in earlier.by_hash.into_values() {
            self.propose(&path, proof);
        }
        for (path, _) in earlier.folders.values() {
            self.spell(path);
        }
        self.learned.folders.extend(earlier.folders);
        self.learned.guesses.extend(earlier.guesses);
        self.learned.asked.extend(earlier.asked);
    }

    /// What was learned, to be recalled.
    pub fn store(&self) -> Vec<u8> {
        // Plain data in memory always serializes.
        postcard::to_stdvec(&self.learned).unwrap_or_default()
    }

    /// Takes over paths whose hashes are those of projects.
    pub fn prove(&mut self, paths: &[String]) {
        for path in paths {
            self.propose(path, Proof::Hash);
        }
    }

    /// Remembers how a path is spelled.
    fn spell(&mut self, path: &str) {
        let Some(key) = drive_key(path) else { return };
        let known = self.spellings.entry(key).or_insert_with(|| path.to_owned());
        let capitals = |path: &str| path.chars().filter(|c| c.is_uppercase()).count();
        if (capitals(path), known.as_str()) > (capitals(known), path) {
            path.clone_into(known);
        }
    }

    /// Remembers a path that may explain a hash.
    pub(super) fn propose(&mut self, path: &str, proof: Proof) {
        self.known.clear();
        self.spell(path);
        let by_hash = &mut self.learned.by_hash;
        let known = by_hash.entry(hash_of(path)).or_insert_with(|| (path.to_owned(), proof));
        if proof < known.1 {
            known.1 = proof;
        }
    }

    /// Takes over what a folder and the registry beside it say.
    pub fn learn_folder(&mut self, folder: &Path) {
        let Some(tmp) = folder.parent() else { return };
        let Some(root) = tmp.parent() else { return };
        self.known.clear();
        if self.read.insert(tmp.to_owned()) {
            for (slug, path) in read_registry(&root.join("projects.json")) {
                self.propose(&path, Proof::Registry);
                let folder = to_text(&tmp.join(slug)).into_owned();
                self.learned.folders.insert(folder, (path, Proof::Registry));
            }
            for path in trusted_folders(&root.join("trustedFolders.json")) {
                self.propose(&path, Proof::Hash);
            }
        }
        if let Some(path) = marker(folder) {
            self.propose(&path, Proof::ProjectRoot);
            let folder = to_text(folder).into_owned();
            self.learned.folders.insert(folder, (path, Proof::ProjectRoot));
        }
    }

    /// The hash by which a project that nothing has named could still be found.
    pub(super) fn unresolved(&self, folder: Option<&Path>, hash: Option<&str>) -> Option<String> {
        let project = self.find(folder, hash);
        project.hash.filter(|_| project.path.is_none())
    }

    /// A few sessions that tell anything tell as much as all of them.
    pub(super) fn wants_clues(&self, hash: &str) -> bool {
        self.learned.asked.get(hash).is_none_or(|asked| *asked < 5)
    }

    /// Tries what a session of the project lets slip; a path counts when its hash is the one.
    pub(super) fn follow(&mut self, hash: &str, clues: &Clues) {
        if clues.is_empty() {
            return;
        }
        self.known.clear();
        *self.learned.asked.entry(hash.to_owned()).or_default() += 1;
        for path in &clues.workspace {
            if hash_of(path) == hash {
                self.propose(path, Proof::SessionContext);
            }
        }
        let with_itself = |path| std::iter::once(path).chain(ancestors(path));
        for path in clues.tool_paths.iter().map(String::as_str).flat_map(with_itself) {
            if hash_of(path) == hash {
                self.propose(path, Proof::Hash);
            }
        }
        if !self.learned.by_hash.contains_key(hash)
            && let Some(common) = common_folder(&clues.tool_paths)
        {
            let guess =
                self.learned.guesses.entry(hash.to_owned()).or_insert_with(|| common.clone());
            if let Some(both) = common_folder(&[format!("{guess}/x"), format!("{common}/x")]) {
                *guess = both;
            }
        }
    }

    /// The project of sessions in `folder` that name `hash`.
    pub fn resolve(&mut self, folder: Option<&Path>, hash: Option<&str>) -> Arc<Project> {
        let key = (folder.map(Path::to_owned), hash.map(str::to_owned));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let project = Arc::new(self.find(folder, hash));
        self.known.insert(key, project.clone());
        project
    }

    /// The project of a folder, whatever its sessions say.
    pub(super) fn of_folder(&self, folder: &Path) -> Project {
        self.find(Some(folder), None)
    }

    fn find(&self, folder: Option<&Path>, hash: Option<&str>) -> Project {
        let dir = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let dir_hash = dir.as_deref().filter(|dir| is_hash(dir));
        let hash = dir_hash.or(hash).map(str::to_owned);
        let (path, proof) = self.path(folder, dir.as_deref(), hash.as_deref());
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
        dir: Option<&str>,
        hash: Option<&str>,
    ) -> (Option<String>, Proof) {
        let linked = |(start, _): &&(String, String)| {
            hash.is_some_and(|hash| hash.starts_with(start.as_str())) || dir == Some(start)
        };
        if let Some((_, path)) = self.links.iter().find(linked) {
            return (Some(path.clone()), Proof::Link);
        }
        if let Some((path, proof)) =
            folder.and_then(|folder| self.learned.folders.get(&*to_text(folder)))
        {
            return (Some(path.clone()), *proof);
        }
        match hash.and_then(|hash| self.learned.by_hash.get(hash)) {
            // The marker and the registry speak of their own folder; elsewhere the hash is the proof.
            Some((path, Proof::ProjectRoot | Proof::Registry)) => (Some(path.clone()), Proof::Hash),
            Some((path, proof)) => (Some(path.clone()), *proof),
            None => match hash.and_then(|hash| self.learned.guesses.get(hash)) {
                Some(path) => (Some(path.clone()), Proof::ToolPaths),
                None => (None, Proof::None),
            },
        }
    }
}

/// Returns whether a path is one of Windows.
pub(super) fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

/// Returns what is the same for all spellings of a path that begins with a drive.
fn drive_key(path: &str) -> Option<String> {
    has_drive(path).then(|| path.to_lowercase().replace('/', "\\"))
}

/// Returns a path with its drive in the other case, if it begins with one.
pub(super) fn other_drive_case(path: &str) -> Option<String> {
    let drive = path.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = path[1..].strip_prefix(':')?;
    let other = if drive.is_ascii_lowercase() {
        drive.to_ascii_uppercase()
    } else {
        drive.to_ascii_lowercase()
    };
    Some(format!("{other}:{rest}"))
}

/// The folders above an absolute path, of either kind of system, the innermost first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let at = rest.rfind(['/', '\\'])?;
        rest = &rest[..at];
        (!rest.is_empty()).then_some(rest)
    })
}

/// The folder that several files have in common, if it is deeper than a home folder.
fn common_folder(paths: &[String]) -> Option<String> {
    let (first, rest) = paths.split_first()?;
    let common = ancestors(first).find(|folder| {
        let inside = |path: &String| {
            path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
        };
        rest.iter().all(inside)
    })?;
    let depth = common.split(['/', '\\']).filter(|part| !part.is_empty()).count();
    (depth > 2 && !rest.is_empty()).then(|| common.to_owned())
}

/// What a folder alone tells of its project.
pub fn folder_project(folder: &Path) -> Project {
    let mut projects = Projects::default();
    projects.learn_folder(folder);
    projects.find(Some(folder), None)
}

/// The path in the folder's `.project_root`.
pub(super) fn marker(folder: &Path) -> Option<String> {
    let file = folder.join(".project_root");
    // Gemini CLI writes it itself, so a link to another file is not its word.
    let is_file = file.symlink_metadata().is_ok_and(|about| about.is_file());
    let text = is_file.then(|| read_text(&file, MARKER_LIMIT).ok()).flatten()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|path| !path.is_empty())
}

/// Slug to path.
fn read_registry(file: &Path) -> HashMap<String, String> {
    #[derive(Deserialize)]
    struct Registry {
        projects: BTreeMap<String, String>,
    }
    let bytes = read_regular(file, SETTINGS_LIMIT).unwrap_or_default();
    let registry: Option<Registry> = serde_json::from_slice(&bytes).ok();
    let projects = registry.map(|registry| registry.projects).unwrap_or_default();
    projects.into_iter().map(|(path, slug)| (slug, path)).collect()
}

fn trusted_folders(file: &Path) -> Vec<String> {
    let bytes = read_regular(file, SETTINGS_LIMIT).unwrap_or_default();
    let folders: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&bytes).unwrap_or_default();
    folders.into_keys().collect()
}

/// Gemini CLI's hash of a project path.
pub fn hash_of(path: &str) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(path) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The last part of a path of either kind of system.
pub(super) fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches(['/', '\\']);
    trimmed.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}
