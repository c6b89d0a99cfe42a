//! Reads the settings files of agents.

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::read::bytes::{SETTINGS_LIMIT, read_regular};

/// The settings files that exist.
#[derive(Debug, Default)]
pub(super) struct SettingsFiles {
    /// The files that could be read, and their content.
    pub(super) texts: Vec<(PathBuf, String)>,
    /// The files that could not be read, each with the reason.
    pub(super) unusable: Vec<(String, String)>,
}

/// Reads those of the files that exist.
pub(super) fn read(files: impl IntoIterator<Item = PathBuf>) -> SettingsFiles {
    let mut out = SettingsFiles::default();
    for file in files {
        match read_regular(&file, SETTINGS_LIMIT) {
            Ok(bytes) => out.texts.push((file, String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if is_absent(&error) => {}
            Err(error) => out.unusable.push((file.display().to_string(), error.to_string())),
        }
    }
    out
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Iterates over the commands that run at the end of a session, each with its settings:
/// `hooks.SessionEnd` is a list of groups, each with a list of hooks.
pub(super) fn session_end_hooks(settings: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let groups = settings["hooks"]["SessionEnd"].as_array().into_iter().flatten();
    let hooks = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    let is_command = |hook: &&Value| hook["type"] == "command";
    hooks.filter(is_command).map(|hook| (hook["command"].as_str().unwrap_or_default(), hook))
}

/// Returns whether a command syncs the archive.
pub(super) fn syncs(command: &str) -> bool {
    command.contains("backstory") && command.contains("sync")
}
