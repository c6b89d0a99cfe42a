//! Reads the hooks in Gemini CLI's settings files (0.61: `hooks.SessionEnd`, a list of groups, each
//! with a list of commands; `hooksConfig` disables all or some of them).

use serde_json::Value;

use super::retention::{Settings, strip_comments};
use crate::agent::settings::session_end_hooks;

/// Returns whether the file configures a wanted command for the end of a session.
pub(super) fn at_session_end(file: &Settings, is_wanted: impl Fn(&str) -> bool) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(&strip_comments(&file.text)) else {
        return false;
    };
    let config = &value["hooksConfig"];
    if config["enabled"] == false {
        return false;
    }
    let disabled = config["disabled"].as_array().map_or(&[][..], Vec::as_slice);
    session_end_hooks(&value).any(|(command, hook)| {
        let name = hook["name"].as_str().unwrap_or(command);
        is_wanted(command) && !disabled.iter().any(|off| off == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_at_the_end() {
        let runs = |text: &str| {
            let file = Settings { name: String::new(), text: text.to_owned() };
            at_session_end(&file, |command| command.contains("keep"))
        };
        let hook =
            r#""hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "keep it"}]}]}"#;
        assert!(runs(&format!("{{{hook}}} // mine")));
        assert!(!runs(&format!(r#"{{{hook}, "hooksConfig": {{"enabled": false}}}}"#)));
        assert!(!runs(&format!(r#"{{{hook}, "hooksConfig": {{"disabled": ["keep it"]}}}}"#)));
        assert!(!runs(&format!("{{{}}}", hook.replace("SessionEnd", "SessionStart"))));
        assert!(!runs(&format!("{{{}}}", hook.replace("keep", "drop"))));
        for odd in ["", "[]", r#"{"hooks": {"SessionEnd": {"hooks": 5}}}"#] {
            assert!(!runs(odd), "{odd}");
        }
    }
}
