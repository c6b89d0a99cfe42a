//! Which project a folder of Gemini CLI's belongs to, and how that is known.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// How a project's path is known, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// The `.project_root` file in the folder.
    ProjectRoot,
    /// `projects.json`.
    Registry,
    None,
}

impl Proof {
    pub fn name(self) -> &'static str {
        match self {
            Self::ProjectRoot => "project_root",
            Self::Registry => "registry",
            Self::None => "none",
        }
    }
}

/// A project as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// What to call it: the last part of its path, else the slug, else the beginning of the hash.
    pub name: String,
    pub path: Option<String>,
    pub proof: Proof,
    /// Gemini CLI's hash of the path.
    pub hash: Option<String>,
    /// The name of its folder below `tmp`.
    pub dir: String,
}

impl Project {
    /// Asks the folder's marker, then the registry beside `tmp`.
    pub fn of_folder(folder: &Path) -> Self {
        let dir = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let marker = fs::read_to_string(folder.join(".project_root")).ok();
        let marker = marker.map(|text| text.trim_end_matches(['\n', '\r']).to_owned());
        let (path, proof) = match marker.filter(|path| !path.is_empty()) {
            Some(path) => (Some(path), Proof::ProjectRoot),
            None => match registry(folder, &dir) {
                Some(path) => (Some(path), Proof::Registry),
                None => (None, Proof::None),
            },
        };
        let hash = if is_hash(&dir) { Some(dir.clone()) } else { path.as_deref().map(hash_of) };
        let name = match &path {
            Some(path) => base_name(path).to_owned(),
            None if is_hash(&dir) => dir[..8].to_owned(),
            None => dir.clone(),
        };
        Self { name, path, proof, hash, dir }
    }
}

/// The path that `projects.json` gives a slug.
fn registry(folder: &Path, slug: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Registry {
        projects: HashMap<String, String>,
    }
    let file = folder.parent()?.parent()?.join("projects.json");
    let registry: Registry = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    registry.projects.into_iter().find(|(_, known)| known == slug).map(|(path, _)| path)
}

/// Gemini CLI's hash of a project path.
pub fn hash_of(path: &str) -> String {
    Sha256::digest(path).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The last part of a path of either kind of system.
fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches(['/', '\\']);
    trimmed.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}
