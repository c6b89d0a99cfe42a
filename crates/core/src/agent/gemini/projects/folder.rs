//! Determines the project of a Gemini CLI folder from its own marker and from the registry next to
//! it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;

use crate::project::{Project, Proof};
use crate::projects::Projects;
use crate::read::bytes::{MARKER_LIMIT, SETTINGS_LIMIT, read_regular, read_text};

/// Learns projects from a folder's marker and from the registry next to it.
pub(in crate::agent::gemini) fn learn(folder: &Path, projects: &mut Projects) {
    let Some(tmp) = folder.parent() else { return };
    let Some(root) = tmp.parent() else { return };
    if projects.visit(tmp) {
        for (slug, path) in read_registry(&root.join("projects.json")) {
            projects.set_folder(&tmp.join(slug), path, Proof::Registry);
        }
        for path in trusted_folders(&root.join("trustedFolders.json")) {
            projects.record_path(&path, Proof::Hash);
        }
    }
    if let Some(path) = marker(folder) {
        projects.set_folder(folder, path, Proof::ProjectRoot);
    }
}

/// Returns the project of a folder as far as the folder alone reveals it.
pub fn folder_project(folder: &Path) -> Project {
    let mut projects = Projects::default();
    learn(folder, &mut projects);
    projects.of_folder(folder)
}

/// Returns the path in the folder's `.project_root`.
pub(in crate::agent::gemini) fn marker(folder: &Path) -> Option<String> {
    let file = folder.join(".project_root");
    // Gemini CLI writes a regular file, so a link is not to be trusted.
    let is_file = file.symlink_metadata().is_ok_and(|about| about.is_file());
    let text = is_file.then(|| read_text(&file, MARKER_LIMIT).ok()).flatten()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|path| !path.is_empty())
}

/// Returns the registered paths by slug.
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
