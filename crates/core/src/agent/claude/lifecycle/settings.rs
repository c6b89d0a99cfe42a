//! Reads the settings files of Claude Code that control how long it keeps sessions.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use serde_json::Value;

use crate::agent::lifecycle::Policy;
use crate::agent::settings::{self, SettingsFiles, session_end_hooks};

/// The name of a settings file.
pub(super) const NAME: &str = "settings.json";

/// The settings that make Claude Code sync by itself.
pub(super) const HOOK: &str = r#"{
  "hooks": {
    "SessionEnd": [{
      "hooks": [{
        "type": "command",
        "command": "backstory sync --quiet"
      }]
    }]
  }
}"#;

/// The number of days for which sessions are kept by default.
const DEFAULT_DAYS: i64 = 30;

const KEY: &str = "cleanupPeriodDays";

/// Reads the files that Claude Code would read if started in the project. Returns the age at which it
/// deletes files; `None` if it deletes nothing.
pub(super) fn decide(root: &Path, project: Option<&Path>) -> (Option<SignedDuration>, Policy) {
    let managed = managed(managed_folder());
    let files = own_files(root, project).into_iter().chain(managed.iter().cloned());
    let SettingsFiles { texts, mut unusable } = settings::read(files);
    let mut decision = Decision { has_errors: !unusable.is_empty(), ..Decision::default() };
    let mut has_hook = false;
    for (path, text) in &texts {
        match serde_json::from_str::<Value>(text.trim_start_matches('\u{FEFF}')) {
            Ok(value) => {
                decision.take(&value, path, managed.contains(path));
                has_hook |= value["disableAllHooks"] != true
                    && session_end_hooks(&value).any(|(command, _)| settings::syncs(command));
            }
            Err(_) if text.trim().is_empty() => {}
            Err(error) => {
                decision.has_errors = true;
                unusable.push((path.display().to_string(), format!("is not JSON: {error}")));
            }
        }
    }
    let invalid = decision.invalid();
    let days = decision.days.unwrap_or(DEFAULT_DAYS);
    let policy = Policy {
        is_active: invalid.is_none(),
        is_enabled: true,
        max_age: Some(format!("{days}d")),
        decided_by: decision.decided_by.clone(),
        settings: texts.into_iter().map(|(path, _)| path).collect(),
        unusable,
        has_hook,
        occasion: "when it is used in any project",
        invalid,
        ..Policy::default()
    };
    let hours = policy.is_active.then(|| days.saturating_mul(24).min(LONGEST_HOURS));
    (hours.map(SignedDuration::from_hours), policy)
}

/// The longest period in hours, some ten thousand years.
const LONGEST_HOURS: i64 = 10_000 * 366 * 24;

/// The outcome of all files.
#[derive(Debug, Default)]
struct Decision {
    days: Option<i64>,
    decided_by: Option<String>,
    /// The last value that is not a number of days.
    wrong: Option<String>,
    is_set: bool,
    is_managed: bool,
    has_errors: bool,
}

impl Decision {
    /// Adds a file, which overrides the earlier ones.
    fn take(&mut self, value: &Value, path: &Path, is_managed: bool) {
        let Some(value) = value.get(KEY) else { return };
        self.is_set = true;
        self.decided_by = Some(path.display().to_string());
        match days(value) {
            Some(days) => {
                self.days = Some(days);
                self.is_managed = is_managed;
            }
            None => self.wrong = Some(value.to_string()),
        }
    }

    /// Returns why Claude Code does not clean up: it prefers that to deleting by the wrong setting,
    /// unless an administrator decided.
    fn invalid(&self) -> Option<String> {
        if self.is_managed {
            return None;
        }
        let wrong = self.wrong.as_ref();
        let wrong = wrong.map(|value| format!("`{KEY}` is {value}, not a number of days"));
        wrong.or_else(|| {
            let is_unsure = self.has_errors && self.is_set;
            is_unsure.then(|| "a settings file cannot be used".to_owned())
        })
    }
}

/// Returns a whole number of days, at least one.
fn days(value: &Value) -> Option<i64> {
    let text = value.as_number()?.to_string();
    let whole = text.strip_suffix(".0").unwrap_or(&text);
    whole.parse().ok().filter(|days| *days > 0)
}

/// Returns the files of the user and the project, in ascending order of precedence.
fn own_files(root: &Path, project: Option<&Path>) -> Vec<PathBuf> {
    let user = root.join(NAME);
    let folder = project.map(|project| project.join(".claude"));
    let of_project =
        folder.iter().flat_map(|folder| [folder.join(NAME), folder.join("settings.local.json")]);
    // In the home folder, the project's file is the user's own.
    let of_project: Vec<PathBuf> = of_project.filter(|file| *file != user).collect();
    [user].into_iter().chain(of_project).collect()
}

/// Returns the files by which an administrator decides for all users, in ascending order of precedence.
fn managed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("managed-settings.d")).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut more: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    more.sort();
    [folder.join("managed-settings.json")].into_iter().chain(more).collect()
}

fn managed_folder() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        r"C:\Program Files\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn decided(user: &str, local: &str) -> (Option<i64>, Policy) {
        let home = tempfile::tempdir().unwrap();
        let (root, project) = (home.path().join(".claude"), home.path().join("shop"));
        fs::create_dir_all(project.join(".claude")).unwrap();
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join(NAME), user).unwrap();
        fs::write(project.join(".claude/settings.local.json"), local).unwrap();
        let (period, policy) = decide(&root, Some(&project));
        (period.map(|period| period.as_hours() / 24), policy)
    }

    #[test]
    fn the_files_of_the_project_override_those_of_the_user() {
        assert_eq!(decided("", "").0, Some(30));
        assert_eq!(decided(r#"{"cleanupPeriodDays": 90}"#, "{}").0, Some(90));
        let (days, policy) =
            decided(r#"{"cleanupPeriodDays": 90}"#, "\u{FEFF}{\"cleanupPeriodDays\": 7.0}");
        assert_eq!(days, Some(7));
        assert_eq!(policy.max_age.as_deref(), Some("7d"));
        assert!(policy.decided_by.unwrap().ends_with("settings.local.json"));
        assert_eq!(policy.settings.len(), 2);
    }

    #[test]
    fn nothing_is_deleted_by_a_wrong_setting() {
        for wrong in ["0", "-1", "1.5", "\"30\"", "null", "[]", "1e30"] {
            let (days, policy) = decided(&format!(r#"{{"cleanupPeriodDays": {wrong}}}"#), "");
            assert_eq!(days, None, "{wrong}");
            assert!(policy.invalid.is_some() && !policy.is_active, "{wrong}");
        }
        // A file that cannot be used may have set another number, but by default there is none.
        let (days, policy) = decided(r#"{"cleanupPeriodDays": 90}"#, "{,}");
        assert_eq!((days, policy.unusable.len()), (None, 1));
        assert_eq!(decided("{}", "{,}").0, Some(30));
        assert_eq!(decided(r#"{"cleanupPeriodDays": 9223372036854775807}"#, "").1.invalid, None);
    }

    #[test]
    fn an_administrator_has_the_last_word() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "notes.txt"] {
            fs::create_dir_all(folder.path().join("managed-settings.d")).unwrap();
            fs::write(folder.path().join("managed-settings.d").join(name), "").unwrap();
        }
        let names: Vec<_> = managed(folder.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["managed-settings.json", "a.json", "b.json"]);
        let mut decision = Decision { has_errors: true, ..Decision::default() };
        decision.take(&serde_json::json!({ KEY: 0 }), Path::new("user"), false);
        assert!(decision.invalid().is_some());
        decision.take(&serde_json::json!({ KEY: 5 }), Path::new("managed"), true);
        assert_eq!((decision.invalid(), decision.days), (None, Some(5)));
    }

    #[test]
    fn a_hook_is_recognized() {
        assert!(decided(HOOK, "").1.has_hook);
        assert!(!decided(&HOOK.replacen('{', r#"{"disableAllHooks": true,"#, 1), "").1.has_hook);
        assert!(!decided(&HOOK.replace("SessionEnd", "Stop"), "").1.has_hook);
    }
}
