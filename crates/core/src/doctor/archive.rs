//! Checks whether the archive has everything that the agent will delete, and gives advice if it
//! does not.

use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;

use super::report::{Check, Report};
use crate::agent::{Agent, Agents};
use crate::archive::ArchiveCounts;
use crate::env::Env;

/// The state of the archive in the report.
#[derive(Debug, Serialize)]
pub struct ArchiveReport {
    /// The path of the archive.
    pub path: String,
    /// Files that exist.
    pub files: u64,
    /// Files among them that are captured completely.
    pub captured_files: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// Sessions that are archived although their files are gone.
    pub gone: u64,
    /// Whether `backstory watch` is running.
    pub watched: bool,
    /// Whether the agents sync at the end of each session.
    pub hook: bool,
    /// Advice for keeping the archive up to date.
    pub advice: Option<Advice>,
}

/// The ways to keep the archive up to date.
#[derive(Debug, Serialize)]
pub struct Advice {
    /// The name of the agent whose settings to change.
    #[serde(skip)]
    pub agent: &'static str,
    /// A command to run.
    pub command: &'static str,
    /// The settings file to change.
    pub settings_file: String,
    /// The settings to add.
    pub settings: Option<&'static RawValue>,
    /// The settings as text to show.
    #[serde(skip)]
    pub settings_text: &'static str,
}

impl Report {
    /// Adds the state of the archive, with advice only if something will be deleted.
    pub fn add_archive(
        &mut self,
        agents: Agents,
        env: &Env,
        path: String,
        kept: &ArchiveCounts,
        watched: bool,
    ) {
        let hook = !self.retention.is_empty() && self.retention.iter().all(|project| project.hook);
        let is_whole = kept.captured_files == kept.files;
        let is_safe = self.deletions.is_empty() || (is_whole && (watched || hook));
        let deletes = |agent: &&dyn Agent| {
            self.deletions.iter().any(|deletion| deletion.agent == agent.id().as_str())
        };
        let mut deleting: Vec<&dyn Agent> = agents.iter().filter(deletes).collect();
        // An agent without a hook comes first.
        deleting.sort_by_key(|agent| {
            let mut own = self.retention.iter().filter(|known| known.agent == agent.id().as_str());
            own.all(|known| known.hook)
        });
        let hook_of = |agent: &dyn Agent| {
            let lifecycle = agent.lifecycle()?;
            let mut roots = self.roots.iter().map(Path::new);
            Some((agent.name(), roots.find_map(|root| lifecycle.sync_hook(root, env))?))
        };
        let needed = deleting.into_iter().filter(|_| !is_safe).find_map(hook_of);
        let advice = needed.map(|(agent, hook)| Advice {
            agent,
            command: "backstory watch",
            settings_file: hook.file.display().to_string(),
            settings: serde_json::from_str(hook.settings).ok(),
            settings_text: hook.settings,
        });
        self.checks.push(Check {
            name: "archive",
            ok: is_safe,
            detail: format!("{} of {} files captured", kept.captured_files, kept.files),
        });
        self.archive = Some(ArchiveReport {
            path,
            files: kept.files,
            captured_files: kept.captured_files,
            sessions: kept.sessions,
            gone: kept.gone,
            watched,
            hook,
            advice,
        });
    }
}
