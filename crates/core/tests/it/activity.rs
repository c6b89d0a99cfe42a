//! Tests that the text of a session is read once for reports, and again after it has changed.

use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::Collection;
use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::projects::ProjectHints;
use backstory_core::query::commands::commands;
use backstory_core::query::failures::failures;
use backstory_core::query::files::{self, by_file, files};
use backstory_core::query::log::log;
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

    /// Adds a call that reads a file.
    fn reads(&self, n: usize, path: &str) {
        let call = json!({ "id": format!("c{n}"), "name": "read_file", "status": "success",
            "args": { "absolute_path": path }, "resultDisplay": "x" });
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

    fn all(&self, archive: &Archive) -> Collection {
        Collection::new(archive, discover_at(&self.home())).unwrap()
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }
}

fn programs(archive: &Archive, period: &Period) -> Vec<String> {
    let rows = commands(archive, &[ID.into()], period, false, usize::MAX).unwrap();
    rows.into_iter().map(|row| row.program).collect()
}

fn errors(archive: &Archive) -> u64 {
    let rows = failures(archive, &[ID.into()], &Period::default()).unwrap();
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

/// Sums answer most questions; a period that splits a session is answered from single runs and uses.
#[test]
fn sums_agree_with_single_runs_and_uses() {
    let lab = Lab::new();
    for (n, command) in [(1, "make"), (2, "make test && ls"), (3, "ls -l"), (5, "make all")] {
        lab.run(n, command);
    }
    for (n, path) in [(4, "/work/app/a.rs"), (6, "b.rs"), (7, "/work/app/a.rs")] {
        lab.reads(n, path);
    }
    let archive = lab.sync();
    let (ids, all) = ([ID.into()], lab.all(&archive));
    let minute = |n: i64| Some(format!("2026-03-01T10:0{n}:00Z").parse().unwrap());
    for since in 0..9 {
        for until in since..9 {
            let period = Period { since: minute(since), until: minute(until) };
            let lines = log(&archive, &ids, &period).unwrap();
            let texts = lines.iter().flat_map(|run| run.command.split(" && "));
            let rows = commands(&archive, &ids, &period, false, usize::MAX).unwrap();
            assert_eq!(rows.iter().map(|row| row.runs).sum::<u64>(), texts.clone().count() as u64);
            for row in rows {
                let runs = texts.clone().filter(|text| text.starts_with(&row.program));
                let runs: Vec<&str> = runs.collect();
                assert_eq!((row.runs, row.failures), (runs.len() as u64, runs.len() as u64));
                assert_eq!(Some(&*row.example), runs.last().copied(), "{period:?}");
            }
            let single = by_file(&files(&archive, &all, &ids, &period, None).unwrap());
            let summed = files::list(&archive, &all, &ids, &period, false).unwrap();
            assert_eq!(format!("{summed:?}"), format!("{single:?}"));
        }
    }
    let one = commands(&archive, &ids, &Period::default(), false, 1).unwrap();
    assert_eq!((one.len(), &*one[0].program, &*one[0].example), (1, "make", "make all"));
}

#[test]
fn command_lines_and_files_are_stored_once_they_were_read() {
    let lab = Lab::new();
    lab.run(1, "make && make test");
    lab.reads(2, "/work/app/src/lib.rs");
    let read = |archive: &Archive| {
        let (ids, all) = ([ID.into()], lab.all(archive));
        let lines = log(archive, &ids, &Period::default()).unwrap();
        let files = files(archive, &all, &ids, &Period::default(), Some("src/lib.rs")).unwrap();
        let lines: Vec<String> = lines.into_iter().map(|run| run.command).collect();
        let files: Vec<String> = files.into_iter().map(|used| used.path).collect();
        (lines, files)
    };
    let want = (vec!["make && make test".to_owned()], vec!["/work/app/src/lib.rs".to_owned()]);
    assert_eq!(read(&lab.sync()), want);
    fs::remove_file(lab.log()).unwrap();
    let archive = lab.sync();
    assert_eq!(read(&archive), want);
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
    archive.forget(&[ID.into()], &SyncOptions::plain(&candidates), now).unwrap();
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
