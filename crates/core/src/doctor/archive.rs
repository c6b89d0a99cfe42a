//! Whether the archive keeps what the agent will delete, and what to do where it does not.

use std::path::Path;

use crate::agent::Agents;
use crate::archive::Info;
use crate::env::Env;
use serde::Serialize;
use serde_json::value::RawValue;

use super::report::{Check, Report};

/// The archive as the doctor sees it.
#[derive(Debug, Serialize)]
pub struct ArchiveReport {
    pub path: String,
    /// Files that are there, and how many of them are captured as they are.
    pub files: u64,
    pub captured_files: u64,
    pub sessions: u64,
    /// Sessions that are kept though their files are gone.
    pub gone: u64,
    /// Whether `backstory watch` is running.
    pub watched: bool,
    /// Whether the agents sync at the end of each session.
    pub hook: bool,
    pub advice: Option<Advice>,
}

/// What would keep the archive fresh.
#[derive(Debug, Serialize)]
pub struct Advice {
    pub command: &'static str,
    pub settings_file: String,
    pub settings: Option<&'static RawValue>,
    /// The same, as it should be written.
    #[serde(skip)]
    pub settings_text: &'static str,
}

impl Report {
    /// Adds what there is to say of the archive. It is needed only where something will be deleted.
    pub fn add_archive(
        &mut self,
        agents: Agents,
        env: &Env,
        path: String,
        info: &Info,
        watched: bool,
    ) {
        let hook = !self.retention.is_empty() && self.retention.iter().all(|project| project.hook);
        let is_whole = info.captured_files == info.files;
        let is_safe = self.deletions.is_empty() || (is_whole && (watched || hook));
        let root = self.roots.first().map(Path::new).filter(|_| !is_safe);
        let hook_of =
            |root: &Path| agents.iter().find_map(|agent| agent.lifecycle()?.sync_hook(root, env));
        let advice = root.and_then(hook_of).map(|hook| Advice {
            command: "backstory watch",
            settings_file: hook.file.display().to_string(),
            settings: serde_json::from_str(hook.settings).ok(),
            settings_text: hook.settings,
        });
        self.checks.push(Check {
            name: "archive",
            ok: is_safe,
            detail: format!("{} of {} files captured", info.captured_files, info.files),
        });
        self.archive = Some(ArchiveReport {
            path,
            files: info.files,
            captured_files: info.captured_files,
            sessions: info.sessions,
            gone: info.gone,
            watched,
            hook,
            advice,
        });
    }
}
