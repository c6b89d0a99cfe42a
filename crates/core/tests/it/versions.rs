//! Tests that captured bytes are the bytes that were read, and that older versions stay while they
//! contain something that newer ones lack.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::{Discovery, SourceState};
use backstory_core::projects::ProjectHints;
use backstory_core::query::prompts::prompts;
use backstory_core::read::bytes::Bytes;
use tempfile::TempDir;

use crate::support::Home;
use crate::support::discover_at;

const ID: &str = "11111111-0000-4000-8000-000000000000";

/// A home with one project, and an archive of it.
struct Lab {
    folder: TempDir,
    archive: Archive,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(&folder.path().join("archive.db")).unwrap();
        let lab = Self { folder, archive };
        lab.write(".project_root", "/code/app");
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("home/.gemini/tmp/app").join(name)
    }

    fn chat(&self) -> PathBuf {
        self.path("chats/session-2026-03-01T10-00-11111111.jsonl")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn found(&self) -> Discovery {
        discover_at(&self.folder.path().join("home"))
    }

    fn read(&mut self) {
        let found = self.found();
        let candidates = ProjectHints::default();
        self.archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
    }

    fn sync(&mut self) {
        self.read();
        self.archive.capture(&[], None, &|_| {}).unwrap();
        let checked = self.archive.check(&|_| {}).unwrap();
        assert_eq!(checked.problems, Vec::<String>::new());
    }

    /// Returns the captured versions of a file, the current one first.
    fn versions(&self, path: &Path) -> Vec<Vec<u8>> {
        let mut rows = self.archive.files().unwrap();
        rows.retain(|row| row.source.path == path);
        rows.sort_by_key(|row| row.source.is_replaced());
        let mut out = Vec::new();
        for mut row in rows {
            // Forces the capture to be read instead of the file.
            let state = &mut row.source.archived.as_mut().unwrap().state;
            *state = SourceState::Replaced;
            let mut bytes = Vec::new();
            self.archive.open(&row.source).unwrap().read_to_end(&mut bytes).unwrap();
            out.push(bytes);
        }
        out
    }

    fn texts(self) -> Vec<String> {
        let found = self.found();
        let home = Home::new(self.archive, found);
        let session = home.sessions.iter().find(|s| s.session.id == ID).unwrap();
        home.messages(session, View::Full).into_iter().map(|message| message.text).collect()
    }

    fn prompts(&self) -> Vec<String> {
        let all = Collection::new(&self.archive, Discovery::default()).unwrap();
        prompts(&self.archive, &all).unwrap().into_iter().map(|prompt| prompt.text).collect()
    }
}

fn log(texts: &[&str]) -> String {
    let mut out = format!(
        "{{\"sessionId\":\"{ID}\",\"projectHash\":\"ab\",\"startTime\":\"2026-03-01T10:00:00Z\",\"lastUpdated\":\"2026-03-01T10:00:00Z\"}}\n"
    );
    for (n, text) in texts.iter().enumerate() {
        let line = r#""timestamp":"2026-03-01T10:00:00Z","type":"user","content""#;
        writeln!(out, r#"{{"id":"u{n}",{line}:"{text}"}}"#).unwrap();
    }
    out
}

fn document(texts: &[&str]) -> String {
    let messages: Vec<String> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| {
            format!(r#"{{"id":"u{n}","timestamp":"2026-03-01T10:00:00Z","type":"user","content":"{text}"}}"#)
        })
        .collect();
    format!(
        r#"{{"sessionId":"{ID}","projectHash":"ab","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z","messages":[{}]}}"#,
        messages.join(",")
    )
}

fn typed(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(n, text)| {
            format!(r#"{{"sessionId":"x1","messageId":{n},"type":"user","message":"{text}","timestamp":"2026-03-01T10:0{n}:00Z"}}"#)
        })
        .collect();
    format!("[{}]", lines.join(","))
}

/// Rewrites a file and restores its size and time.
fn change_silently(path: &Path, content: &str) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), content.len() as u64);
    // The clock of the file system may be coarse.
    std::thread::sleep(Duration::from_millis(20));
    File::options().write(true).open(path).unwrap().write_all(content.as_bytes()).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

#[test]
fn a_large_file_that_changed_at_its_beginning_is_captured_as_it_is() {
    for is_renamed in [false, true] {
        let mut lab = Lab::new();
        let long = "y".repeat(1_500_000);
        let path = lab.chat();
        lab.write(
            "chats/session-2026-03-01T10-00-11111111.jsonl",
            log(&["key AAAA", &long, "end"]),
        );
        lab.sync();
        let changed = log(&["key ****", &long, "end"]);
        if is_renamed {
            let new = lab.write("new", &changed);
            fs::rename(new, &path).unwrap();
        } else {
            change_silently(&path, &changed);
        }
        lab.sync();
        let versions = lab.versions(&path);
        assert!(versions[0] == changed.as_bytes(), "the old beginning is still captured");
        // The words of the older one are nowhere else.
        assert_eq!(versions.len(), 2);
    }
}

#[test]
fn a_log_whose_beginning_changed_while_it_grew_is_read_again() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["one", "two"]));
    lab.sync();
    let changed = log(&["ONE", "two", "three"]);
    let mut file = File::options().write(true).open(&path).unwrap();
    file.write_all(changed.as_bytes()).unwrap();
    lab.sync();
    assert_eq!(lab.versions(&path)[0], changed.as_bytes());
    assert_eq!(lab.texts(), ["ONE", "two", "three"]);
}

#[test]
fn a_change_that_keeps_size_and_time_is_noticed() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["aaaa"]));
    lab.sync();
    change_silently(&path, &log(&["bbbb"]));
    lab.sync();
    assert_eq!(lab.versions(&path)[0], log(&["bbbb"]).as_bytes());
    assert_eq!(lab.texts(), ["bbbb"]);
}

#[test]
fn what_is_captured_is_what_was_read() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["what was read"]));
    lab.read();
    fs::write(&path, log(&["written later"])).unwrap();
    let captured = lab.archive.capture(&[], None, &|_| {}).unwrap();
    assert_eq!((captured.files, captured.changed), (0, 1));
    // It grew, but the bytes that were read are still there.
    lab.sync();
    fs::write(&path, log(&["written later", "and more"])).unwrap();
    lab.read();
    fs::write(&path, log(&["written later", "and more", "still more"])).unwrap();
    let captured = lab.archive.capture(&[], None, &|_| {}).unwrap();
    assert_eq!((captured.files, captured.changed), (1, 0));
    assert_eq!(lab.versions(&path)[0], log(&["written later", "and more"]).as_bytes());
}

#[test]
fn a_document_that_only_gained_messages_replaces_its_older_version() {
    let mut lab = Lab::new();
    let name = "chats/session-2026-03-01T10-00-11111111.json";
    let path = lab.write(name, document(&["one"]));
    lab.sync();
    lab.write(name, document(&["one", "two"]));
    lab.sync();
    assert_eq!(lab.versions(&path), [document(&["one", "two"]).as_bytes()]);
    assert_eq!(lab.texts(), ["one", "two"]);
}

#[test]
fn a_document_that_lost_words_keeps_its_older_version() {
    for shorter in [document(&["one", "tw"]), document(&["one", "other"]), document(&["one"])] {
        let mut lab = Lab::new();
        let name = "chats/session-2026-03-01T10-00-11111111.json";
        let whole = document(&["one", "two"]);
        let path = lab.write(name, &whole);
        lab.sync();
        lab.write(name, &shorter);
        lab.sync();
        assert_eq!(lab.versions(&path), [shorter.as_bytes(), whole.as_bytes()]);
    }
}

#[test]
fn a_document_cut_inside_a_prompt_leaves_its_words_in_every_answer() {
    let mut lab = Lab::new();
    let name = "chats/session-2026-03-01T10-00-11111111.json";
    let whole = document(&["one", "two"]);
    lab.write(name, &whole);
    lab.sync();
    lab.write(name, &whole[..=whole.find("two").unwrap()]);
    lab.sync();
    assert_eq!(lab.prompts(), ["one", "two"]);
    assert_eq!(lab.texts(), ["one", "two"]);
}

#[test]
fn a_message_that_was_changed_shows_its_newest_text() {
    let mut lab = Lab::new();
    let name = "chats/session-2026-03-01T10-00-11111111.json";
    for text in ["b", "c", "a"] {
        lab.write(name, document(&["one", text]));
        lab.sync();
        assert_eq!(lab.prompts(), ["one", text]);
    }
    assert_eq!(lab.texts(), ["one", "a"]);
}

#[test]
fn prompts_of_a_log_that_was_begun_again_stay() {
    let mut lab = Lab::new();
    let path = lab.write("logs.json", typed(&["first", "second"]));
    lab.sync();
    lab.write("logs.json", typed(&["first", "second", "third"]));
    lab.sync();
    assert_eq!(lab.versions(&path).len(), 1, "a longer log replaces a shorter one");
    lab.write("logs.json", "[]");
    lab.sync();
    assert_eq!(lab.prompts(), ["first", "second", "third"]);
    lab.write("logs.json", typed(&["new"]));
    lab.sync();
    fs::remove_file(&path).unwrap();
    lab.sync();
    let mut prompts = lab.prompts();
    prompts.sort();
    assert_eq!(prompts, ["first", "new", "second", "third"]);
    assert_eq!(lab.versions(&path).len(), 2 + 1, "three versions: whole, empty, new");
}

#[test]
fn plans_outputs_and_histories_keep_what_was_overwritten() {
    for name in [
        format!("{ID}/plans/plan.md"),
        format!("tool-outputs/session-{ID}/out.txt"),
        "shell_history".to_owned(),
    ] {
        let mut lab = Lab::new();
        let path = lab.write(&name, "old and long\n");
        lab.sync();
        lab.write(&name, "new\n");
        lab.sync();
        assert_eq!(lab.versions(&path), [b"new\n".to_vec(), b"old and long\n".to_vec()], "{name}");
        lab.write(&name, "new\nand more\n");
        lab.sync();
        assert_eq!(
            lab.versions(&path),
            [b"new\nand more\n".to_vec(), b"old and long\n".to_vec()],
            "{name} only grew"
        );
    }
}

#[test]
fn a_file_that_was_emptied_is_empty() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&[]));
    lab.sync();
    fs::write(&path, "").unwrap();
    lab.sync();
    assert_eq!(lab.versions(&path), [Vec::new(), log(&[]).into_bytes()]);
}

#[test]
fn a_file_that_cannot_be_read_for_a_while_loses_nothing() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["hello"]));
    let mut found = lab.found();
    lab.sync();
    // It is found, but gone when it is opened.
    fs::remove_file(&path).unwrap();
    for source in &mut found.sources {
        source.modified = Some(SystemTime::UNIX_EPOCH);
    }
    let candidates = ProjectHints::default();
    lab.archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
    assert_eq!(lab.versions(&path), [log(&["hello"]).as_bytes()]);
    lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["hello", "again"]));
    lab.sync();
    assert_eq!(lab.versions(&path), [log(&["hello", "again"]).as_bytes()]);
    assert_eq!(lab.texts(), ["hello", "again"]);
}

#[test]
fn a_file_that_becomes_readable_is_read() {
    let mut lab = Lab::new();
    let path = lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", log(&["hello"]));
    let found = lab.found();
    let away = lab.folder.path().join("away");
    fs::rename(&path, &away).unwrap();
    let candidates = ProjectHints::default();
    lab.archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
    // The same file, with the same times.
    fs::rename(&away, &path).unwrap();
    lab.archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
    assert_eq!(lab.texts(), ["hello"]);
}
