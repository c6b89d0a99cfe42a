//! Tests that the text of a session is read once for reports, and again after it has changed.

use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::projects::ProjectHints;
use backstory_core::query::commands::commands;
use backstory_core::query::failures::failures;
use backstory_core::time::Period;
use serde_json::json;
use tempfile::TempDir;

use crate::support::discover_at;

const ID: &str = "00000001-0000-4000-8000-000000000001";

struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(lab.log().parent().unwrap()).unwrap();
        let header =
            json!({ "sessionId": ID, "projectHash": "h", "startTime": "2026-03-01T10:00:00.000Z" });
        fs::write(lab.log(), format!("{header}\n")).unwrap();
        lab
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("home/.gemini/tmp/app/chats/session-2026-03-01T10-00-00000001.jsonl")
    }

    /// Adds a shell call that failed.
    fn run(&self, n: usize, command: &str) {
        let call = json!({ "id": format!("c{n}"), "name": "run_shell_command", "status": "error",
            "args": { "command": command }, "resultDisplay": format!("error {n}") });
        let reply = json!({ "id": format!("m{n}"), "type": "gemini", "content": "",
            "timestamp": format!("2026-03-01T10:0{n}:00.000Z"), "toolCalls": [call] });
        let log = fs::read_to_string(self.log()).unwrap();
        fs::write(self.log(), format!("{log}{reply}\n")).unwrap();
    }

    /// Opens the archive and brings it up to date, without capturing anything.
    fn sync(&self) -> Archive {
        let mut archive = Archive::open(&self.0.path().join("archive.db")).unwrap();
        let candidates = ProjectHints::default();
        let found = discover_at(&self.home());
        archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
        archive
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }
}

fn programs(archive: &Archive, period: &Period) -> Vec<String> {
    let rows = commands(archive, &[ID.to_owned()], period, false).unwrap();
    rows.into_iter().map(|row| row.program).collect()
}

fn errors(archive: &Archive) -> u64 {
    let rows = failures(archive, &[ID.to_owned()], &Period::default()).unwrap();
    rows.iter().map(|row| row.count).sum()
}

#[test]
fn commands_are_stored_once_they_were_read() {
    let lab = Lab::new();
    lab.run(1, "make");
    let archive = lab.sync();
    assert_eq!(programs(&archive, &Period::default()), ["make"]);
    drop(archive);
    fs::remove_file(lab.log()).unwrap();
    let archive = lab.sync();
    assert_eq!(programs(&archive, &Period::default()), ["make"]);
    assert_eq!(errors(&archive), 1);
    assert_eq!(archive.unread(), 0);
}

#[test]
fn commands_of_a_session_that_grew_are_read_again() {
    let lab = Lab::new();
    lab.run(1, "make");
    assert_eq!(programs(&lab.sync(), &Period::default()), ["make"]);
    lab.run(2, "cargo test");
    let archive = lab.sync();
    assert_eq!(programs(&archive, &Period::default()), ["cargo", "make"]);
    assert_eq!(errors(&archive), 2);
    let since = "2026-03-01T10:01:30Z".parse().unwrap();
    let period = Period { since: Some(since), until: None };
    assert_eq!(programs(&archive, &period), ["cargo"]);
}

#[test]
fn commands_that_can_no_longer_be_read_are_counted() {
    let lab = Lab::new();
    lab.run(1, "make");
    let archive = lab.sync();
    fs::remove_file(lab.log()).unwrap();
    assert_eq!(programs(&archive, &Period::default()), Vec::<String>::new());
    assert_eq!(archive.unread(), 1);
}

#[test]
fn forgotten_commands_are_gone_from_the_file() {
    let lab = Lab::new();
    lab.run(1, "unmistakable-program");
    let mut archive = lab.sync();
    assert_eq!(programs(&archive, &Period::default()), ["unmistakable-program"]);
    let candidates = ProjectHints::default();
    let now = "2026-03-02T10:00:00Z".parse().unwrap();
    archive.forget(&[ID.to_owned()], &SyncOptions::plain(&candidates), now).unwrap();
    assert_eq!(programs(&archive, &Period::default()), Vec::<String>::new());
    drop(archive);
    for file in fs::read_dir(lab.0.path()).unwrap() {
        assert_lacks(&file.unwrap().path());
    }
}

fn assert_lacks(path: &Path) {
    if path.is_file() {
        let bytes = fs::read(path).unwrap();
        let word = b"unmistakable-program";
        assert!(!bytes.windows(word.len()).any(|part| part == word), "{}", path.display());
    }
}
