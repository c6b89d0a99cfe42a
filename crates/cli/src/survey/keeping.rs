//! Whether the archive keeps what the agent will delete, and what to do where it does not.

use std::path::Path;

use backstory_core::archive::Info;
use backstory_core::env::Env;
use serde::Serialize;
use serde_json::value::RawValue;

use super::report::{Check, Report};
use super::settings;

/// What Gemini CLI must be told to sync by itself.
pub(crate) const HOOK: &str = r#"{
  "hooks": {
    "SessionEnd": [
      {
        "hooks": [
          { "name": "backstory", "type": "command", "command": "backstory sync --quiet" }
        ]
      }
    ]
  }
}"#;

/// The archive as the doctor sees it.
#[derive(Debug, Serialize)]
pub(crate) struct Keeping {
    pub(crate) path: String,
    /// Files that are there, and how many of them are captured as they are.
    pub(crate) files: u64,
    pub(crate) captured_files: u64,
    pub(crate) sessions: u64,
    /// Sessions that are kept though their files are gone.
    pub(crate) gone: u64,
    /// Whether `backstory watch` is running.
    pub(crate) watched: bool,
    /// Whether Gemini CLI syncs at the end of each session.
    pub(crate) hook: bool,
    pub(crate) advice: Option<Advice>,
}

/// What would keep the archive fresh.
#[derive(Debug, Serialize)]
pub(crate) struct Advice {
    pub(crate) command: &'static str,
    pub(crate) settings_file: String,
    pub(crate) settings: Option<&'static RawValue>,
}

impl Report {
    /// Adds what there is to say of the archive. It is needed only where something will be deleted.
    pub(crate) fn keep(&mut self, env: &Env, path: String, info: &Info, watched: bool) {
        let hook = !self.retention.is_empty() && self.retention.iter().all(|project| project.hook);
        let is_whole = info.captured_files == info.files;
        let is_safe = self.deletions.is_empty() || (is_whole && (watched || hook));
        let root = self.roots.first().map(Path::new).filter(|_| !is_safe);
        let advice = root.map(|root| Advice {
            command: "backstory watch",
            settings_file: settings::users_own(env, root).display().to_string(),
            settings: serde_json::from_str(HOOK).ok(),
        });
        self.checks.push(Check {
            name: "archive",
            ok: is_safe,
            detail: format!("{} of {} files captured", info.captured_files, info.files),
        });
        self.archive = Some(Keeping {
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
