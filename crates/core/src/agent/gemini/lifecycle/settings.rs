//! Reads the settings files of Gemini CLI that control how long it keeps sessions.

use std::path::{Path, PathBuf};

use super::hooks;
use super::retention::{Retention, Settings};
use crate::agent::lifecycle::Policy;
use crate::agent::settings::{self, SettingsFiles};
use crate::env::Env;

/// The settings that make Gemini CLI sync by itself.
pub(super) const HOOK: &str = r#"{
  "hooks": {
    "SessionEnd": [{
      "hooks": [{
        "name": "backstory",
        "type": "command",
        "command": "backstory sync --quiet"
      }]
    }]
  }
}"#;

/// Reads the files that Gemini CLI would read if started in the project.
pub(super) fn decide(env: &Env, root: &Path, project: Option<&Path>) -> (Retention, Policy) {
    let SettingsFiles { texts, mut unusable } = settings::read(candidates(env, root, project));
    let files = texts.iter().map(|(path, _)| path.clone()).collect();
    let named =
        |(path, text): (PathBuf, String)| Settings { name: path.display().to_string(), text };
    let texts: Vec<Settings> = texts.into_iter().map(named).collect();
    let (retention, broken) = Retention::decide(&texts);
    for what in broken {
        // The text names the file; here it has a separate field.
        let named = texts.iter().find_map(|file| {
            let rest = what.strip_prefix(&format!("`{}` ", file.name))?;
            Some((file.name.clone(), rest.to_owned()))
        });
        unusable.push(named.unwrap_or((String::new(), what)));
    }
    let has_hook = texts.iter().any(|file| hooks::at_session_end(file, settings::syncs));
    let policy = Policy {
        is_active: retention.is_active(),
        is_enabled: retention.enabled,
        max_age: retention.max_age.clone(),
        max_count: retention.max_count,
        min_retention: Some(retention.min_retention.clone()),
        decided_by: retention.from.clone(),
        invalid: retention.invalid.clone(),
        settings: files,
        unusable,
        has_hook,
        occasion: "when it is started in the project",
    };
    (retention, policy)
}

/// Returns the files in ascending order of precedence: system defaults, user, project, system.
fn candidates(env: &Env, root: &Path, project: Option<&Path>) -> Vec<PathBuf> {
    let system = env
        .var("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
        .map_or_else(|| system_folder().join("settings.json"), PathBuf::from);
    let defaults = env.var("GEMINI_CLI_SYSTEM_DEFAULTS_PATH").map_or_else(
        || system.parent().unwrap_or(Path::new("")).join("system-defaults.json"),
        PathBuf::from,
    );
    let user = users_own(env, root);
    let project = project.map(|path| path.join(".gemini/settings.json"));
    // In the home folder, the project's file is the user's own.
    let project = project.filter(|file| *file != user);
    [Some(defaults), Some(user), project, Some(system)].into_iter().flatten().collect()
}

/// Returns the user's settings file. The macOS sandbox moves the sessions, but not the settings.
pub(super) fn users_own(env: &Env, root: &Path) -> PathBuf {
    match (&env.home, root.ends_with(".cache/.gemini")) {
        (Some(home), true) if root.starts_with(home) => home.join(".gemini/settings.json"),
        _ => root.join("settings.json"),
    }
}

fn system_folder() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli"
    } else if cfg!(windows) {
        r"C:\ProgramData\gemini-cli"
    } else {
        "/etc/gemini-cli"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_files_in_which_order() {
        let mut env = Env { home: Some("/home/dev".into()), ..Env::default() };
        let list = |env: &Env, root: &str, project: Option<&str>| {
            let files = candidates(env, Path::new(root), project.map(Path::new));
            files
                .iter()
                .map(|file| file.display().to_string().replace('\\', "/"))
                .collect::<Vec<_>>()
        };
        env.vars.insert("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), "/s/settings.json".into());
        assert_eq!(
            list(&env, "/home/dev/.gemini", Some("/p")),
            [
                "/s/system-defaults.json",
                "/home/dev/.gemini/settings.json",
                "/p/.gemini/settings.json",
                "/s/settings.json"
            ]
        );
        assert_eq!(list(&env, "/home/dev/.gemini", Some("/home/dev")).len(), 3);
        let sandbox = list(&env, "/home/dev/.cache/.gemini", None);
        assert_eq!(sandbox[1], "/home/dev/.gemini/settings.json");
        env.vars.insert("GEMINI_CLI_SYSTEM_DEFAULTS_PATH".into(), "/d.json".into());
        assert_eq!(list(&env, "/r", None)[0], "/d.json");
    }
}
