//! Tests what happens to the files of Codex CLI: they are linked, compressed, unpacked and rewritten in place.

use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::model::{Fate, MessageKind};
use backstory_core::pricing::Table;
use backstory_core::projects::ProjectHints;
use backstory_core::query::limits::limits;
use backstory_core::query::prompts::prompts;
use backstory_core::query::{Filter, Reports};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::codex::{copy, told, totals};
use crate::codex_log::{Log, THREAD};
use crate::support::{Home, discover_at, files_below, testdata};

/// Copies a tree of test data, and returns its rollouts.
fn tree(name: &str, to: &Path) -> Vec<PathBuf> {
    copy(&testdata(name).join("codex"), to, &|path, bytes| (path.to_owned(), bytes));
    let mut files = files_below(to);
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("rollout-"));
    files
}

pub(crate) fn sync(archive: &mut Archive, folder: &Path, is_capturing: bool) {
    archive
        .sync(&discover_at(folder), &SyncOptions::plain(&ProjectHints::default()), &|_| {})
        .unwrap();
    if is_capturing {
        archive.capture(&[], None, &|_| {}).unwrap();
    }
}

/// Rewrites a log as `codex migrate-rollouts` does: with positions, turns and other events, and without the turns
/// that were rolled back.
fn migrated(log: &str) -> String {
    let mut kept: Vec<Value> = Vec::new();
    for line in log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let is_event = |line: &Value, kind: &str| line["payload"]["type"] == kind;
        if is_event(&line, "thread_rolled_back") {
            let typed = kept.iter().rposition(|line| is_event(line, "user_message")).unwrap();
            kept.truncate(typed - 1);
        } else {
            kept.push(line);
        }
    }
    let mut out = Vec::new();
    for mut line in kept {
        if line["payload"]["type"] == "user_message" {
            let at = line["timestamp"].clone();
            let turn = format!("rollout-{}", out.len());
            let started = json!({ "type": "task_started", "turn_id": turn });
            out.push(json!({ "timestamp": at, "type": "event_msg", "payload": started }));
            let content = json!([{ "type": "text", "text": line["payload"]["message"] }]);
            let item = json!({ "type": "UserMessage", "content": content });
            line["payload"] = json!({ "type": "item_completed", "item": item });
        }
        out.push(line);
    }
    for (n, line) in out.iter_mut().enumerate() {
        line["ordinal"] = n.into();
    }
    out.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

#[test]
fn what_a_migration_drops_stays_in_the_archive() {
    for is_capturing in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let files = tree("codex/0.98.0/life", folder.path());
        let mut archive = Archive::in_memory().unwrap();
        sync(&mut archive, folder.path(), is_capturing);
        let before = Home::at(folder.path());
        let (was_counted, was_told) = (totals(&before), told(&before));
        for file in &files {
            fs::write(file, migrated(&fs::read_to_string(file).unwrap())).unwrap();
        }
        let fresh = Home::at(folder.path());
        assert_eq!(totals(&fresh), was_counted, "growth of the total replaces the lost lines");
        sync(&mut archive, folder.path(), is_capturing);
        let after = Home::new(archive, discover_at(folder.path()));
        assert_eq!(totals(&after), was_counted, "{is_capturing}");
        let prompts = |home: &Home| {
            let all = home.sessions.iter().flat_map(SessionFacts::listed);
            let typed = all.filter(|entry| entry.facts.kind == MessageKind::Prompt);
            let mut typed: Vec<_> =
                typed.map(|entry| (entry.facts.typed.clone(), entry.facts.fate)).collect();
            typed.sort_by_key(|(text, _)| text.clone());
            typed
        };
        assert_eq!(prompts(&after), prompts(&before), "{is_capturing}");
        assert!(prompts(&after).iter().any(|(_, fate)| *fate == Fate::Rewound));
        if !is_capturing {
            continue;
        }
        assert_eq!(told(&after), was_told, "both views say the same as before");
        let current = |home: &Home| -> Vec<usize> {
            home.sessions.iter().map(|one| home.messages(one, View::Current).len()).collect()
        };
        assert_eq!(current(&after), current(&fresh));
    }
}

#[test]
fn a_fork_whose_origin_is_missing_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let files = tree("codex/0.166.0/life", folder.path());
    let missing = |home: &Home| {
        let prices = Table::embedded();
        let verified =
            Reports::new(&home.archive, &TimeZone::UTC, &prices).verify(&home.all).unwrap();
        let check = verified.checks.into_iter().find(|check| check.name == "missing").unwrap();
        assert!(check.ok, "the numbers are right all the same");
        check.items
    };
    let mut archive = Archive::in_memory().unwrap();
    let origin = files.iter().find(|path| !path.to_str().unwrap().contains('_')).unwrap();
    let (bytes, id) = (fs::read(origin).unwrap(), origin.file_stem().unwrap().to_str().unwrap());
    let id = id[id.len() - 36..].to_owned();
    fs::remove_file(origin).unwrap();
    sync(&mut archive, folder.path(), true);
    let home = Home::new(archive, discover_at(folder.path()));
    let found = missing(&home);
    assert!(!found.is_empty() && found.iter().all(|item| item.ends_with(&id)), "{found:?}");
    fs::write(origin, bytes).unwrap();
    let mut archive = home.archive;
    sync(&mut archive, folder.path(), true);
    assert!(missing(&Home::new(archive, discover_at(folder.path()))).is_empty());
    assert!(missing(&Home::at(folder.path())).is_empty());
}

#[test]
fn what_the_first_versions_logged_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    tree("codex/0.1.2505291658/ancient", folder.path());
    let log = folder.path().join("history.json");
    let mut lines: Vec<Value> = serde_json::from_slice(&fs::read(&log).unwrap()).unwrap();
    let logged = lines.len();
    lines.push(json!({ "command": "only here", "timestamp": 1_794_765_400_000_i64 }));
    lines.push(json!({ "command": "", "timestamp": -1 }));
    lines.push(json!("odd"));
    fs::write(&log, serde_json::to_vec_pretty(&lines).unwrap()).unwrap();
    let home = Home::at(folder.path());
    let typed = prompts(&home.archive, &home.all).unwrap();
    let typed: Vec<_> =
        typed.iter().map(|one| (one.text.as_str(), one.session.as_deref())).collect();
    assert_eq!(typed.len(), logged + 1, "{typed:?}");
    assert!(typed.contains(&("only here", None)), "{typed:?}");
}

#[test]
fn compressing_and_unpacking_a_file_changes_nothing() {
    for name in ["codex/0.98.0/life", "codex/0.166.0/life"] {
        let folder = tempfile::tempdir().unwrap();
        let files = tree(name, folder.path());
        let mut archive = Archive::in_memory().unwrap();
        sync(&mut archive, folder.path(), true);
        let before = Home::at(folder.path());
        let (was_counted, was_told) = (totals(&before), told(&before));
        for file in &files {
            let packed = zstd::encode_all(fs::read(file).unwrap().as_slice(), 3).unwrap();
            fs::write(format!("{}.zst", file.display()), packed).unwrap();
            fs::remove_file(file).unwrap();
        }
        sync(&mut archive, folder.path(), true);
        let mut home = Home::new(archive, discover_at(folder.path()));
        assert_eq!((totals(&home), told(&home)), (was_counted.clone(), was_told.clone()), "{name}");
        for file in &files {
            let packed = PathBuf::from(format!("{}.zst", file.display()));
            fs::write(file, zstd::decode_all(fs::read(&packed).unwrap().as_slice()).unwrap())
                .unwrap();
            fs::remove_file(packed).unwrap();
        }
        sync(&mut home.archive, folder.path(), true);
        let home = Home::new(home.archive, discover_at(folder.path()));
        assert_eq!((totals(&home), told(&home)), (was_counted, was_told), "{name}");
    }
}

#[test]
fn a_compressed_file_that_is_cut_off_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = tree("codex/0.98.0/life", folder.path()).swap_remove(0);
    let packed = zstd::encode_all(fs::read(&file).unwrap().as_slice(), 3).unwrap();
    fs::remove_file(&file).unwrap();
    let path = PathBuf::from(format!("{}.zst", file.display()));
    let faults = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let rows = Home::at(folder.path()).archive.files().unwrap();
        let row = rows.into_iter().find(|row| row.source.path == path).unwrap();
        row.about.faults.count()
    };
    assert_eq!(faults(&packed), 0);
    assert!(faults(&packed[..packed.len() - 9]) > 0);
}

#[test]
fn a_folder_with_nothing_but_a_log_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let line = json!({ "session_id": "a", "ts": 1_794_765_400, "text": "only here" });
    let root = folder.path().join(".codex");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("history.jsonl"), line.to_string() + "\n").unwrap();
    for path in [folder.path(), &root] {
        let home = Home::at(path);
        let typed = prompts(&home.archive, &home.all).unwrap();
        assert_eq!(typed.len(), 1, "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_never_to_a_secret() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join(".codex");
    let files = tree("codex/0.125.0/life", &root);
    fs::write(root.join("auth.json"), "{\"id\":\"x\",\"timestamp\":\"2026-01-01T00:00:00Z\"}")
        .unwrap();
    let found = || {
        let mut found = discover_at(folder.path());
        found.sources.retain(|source| source.kind.is_session());
        found
    };
    let count = found().sources.len();
    let name = |n: u32| {
        format!("rollout-2026-01-01T00-00-00-0000000{n}-0000-4000-8000-000000000000.jsonl")
    };
    symlink(&files[0], root.join("sessions").join(name(1))).unwrap();
    symlink(&files[0], root.join("sessions").join(name(2))).unwrap();
    symlink("../auth.json", root.join("sessions").join(name(3))).unwrap();
    symlink(folder.path(), root.join("sessions/2027")).unwrap();
    let found = found();
    assert_eq!(found.sources.len(), count, "{:?}", found.sources);
    let skipped: Vec<_> = found.skipped.iter().map(|one| one.path.file_name().unwrap()).collect();
    assert!(skipped.contains(&name(3).as_ref()), "{skipped:?}");
}

/// Adds what editors and crashes leave in a file: a mark at its beginning, zeros before lines, and other line endings.
fn padded(bytes: &[u8], is_log: bool) -> Vec<u8> {
    let mut out = "\u{FEFF}".as_bytes().to_vec();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(if is_log { b"\0\0" } else { b"" });
        out.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        out.extend_from_slice(if line.ends_with(b"\n") { b"\r\n" } else { b"" });
    }
    out
}

#[test]
fn padding_around_lines_changes_nothing() {
    for name in ["0.1.2505291658/ancient", "0.27.0/tools-old", "0.98.0/life", "0.166.0/life"] {
        let name = format!("codex/{name}");
        let folder = tempfile::tempdir().unwrap();
        copy(&testdata(&name).join("codex"), folder.path(), &|path, bytes| {
            let is_log = path.extension().is_some_and(|ending| ending == "jsonl");
            let is_text = is_log || path.extension().is_some_and(|ending| ending == "json");
            (path.to_owned(), if is_text { padded(&bytes, is_log) } else { bytes })
        });
        let typed = |home: &Home| {
            let rows = prompts(&home.archive, &home.all).unwrap();
            rows.into_iter().map(|row| row.text).collect::<Vec<_>>()
        };
        let (padded, plain) = (Home::at(folder.path()), Home::at(&testdata(&name).join("codex")));
        assert_eq!(told(&padded), told(&plain), "{name}");
        assert_eq!(typed(&padded), typed(&plain), "{name}");
    }
}

#[test]
fn a_path_at_the_beginning_of_a_typed_line_is_not_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let line = |text: &str| json!({ "session_id": THREAD, "ts": 1_772_359_200, "text": text });
    let lines =
        ["/src/a.rs does not build", "!make", "? why"].map(|text| format!("{}\n", line(text)));
    fs::write(folder.path().join("history.jsonl"), lines.concat()).unwrap();
    let home = Home::at(folder.path());
    let kinds = home.sessions[0].messages.iter().map(|entry| entry.facts.kind);
    assert!(kinds.eq([MessageKind::Prompt, MessageKind::Shell, MessageKind::Prompt]));
}

#[test]
fn a_command_in_a_session_and_in_the_prompt_log_was_typed_once() {
    let folder = tempfile::tempdir().unwrap();
    let shell = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>";
    let item = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": shell }] });
    let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({}));
    log.line("response_item", item).write(folder.path(), THREAD);
    let line = json!({ "session_id": THREAD, "ts": 1_772_359_201, "text": "!ls" });
    fs::write(folder.path().join("history.jsonl"), format!("{line}\n")).unwrap();
    let home = Home::at(folder.path());
    assert_eq!(prompts(&home.archive, &home.all).unwrap().len(), 1);
}

#[test]
fn a_session_is_found_although_its_first_lines_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for file in tree("codex/0.125.0/exec-resume", folder.path()) {
        let text = fs::read_to_string(&file).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        fs::write(file, format!("{}\n[]\n{rest}", &first[..100])).unwrap();
    }
    let home = Home::at(folder.path());
    let whole = Home::at(&testdata("codex/0.125.0/exec-resume").join("codex"));
    assert_eq!(totals(&home), totals(&whole));
}

#[test]
fn the_limits_of_a_plan_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    tree("codex/0.125.0/life", folder.path());
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, folder.path(), true);
    let answer = limits(&archive, &Filter::default()).unwrap();
    let newest: Vec<_> =
        answer.newest.iter().map(|one| (one.agent.as_str(), one.facts.window)).collect();
    assert_eq!(newest, [("codex", Some(300)), ("codex", Some(10_080))]);
    assert!(answer.history.len() > 2);
    assert!(answer.history.is_sorted_by_key(|one| one.facts.seen));
    let last = answer.history.iter().rfind(|one| one.facts.window == Some(300)).unwrap();
    assert_eq!(&answer.newest[0], last);
    // A copy of the files, and reading them again, adds nothing; they survive the files.
    let sessions = folder.path().join("sessions");
    copy(&sessions, &folder.path().join("archived_sessions"), &|path, bytes| {
        (path.file_name().unwrap().into(), bytes)
    });
    sync(&mut archive, folder.path(), true);
    fs::remove_dir_all(sessions).unwrap();
    sync(&mut archive, folder.path(), true);
    assert_eq!(limits(&archive, &Filter::default()).unwrap().history, answer.history);
    let other = Filter { agents: vec!["gemini".to_owned()], ..Filter::default() };
    assert!(limits(&archive, &other).unwrap().history.is_empty());
}
