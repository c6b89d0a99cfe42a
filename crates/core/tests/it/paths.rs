//! Tests everything that may be below an agent's folder: odd names, links, special files.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use backstory_core::agent::Agents;
use backstory_core::agent::gemini;
use backstory_core::archive::Archive;
use backstory_core::discover::Discovery;
use backstory_core::env::Env;

use crate::archive::{copy_of, merge, sync};
use crate::support::discover_at;
use crate::support::{Home, seen};

const SESSION: &str = concat!(
    r#"{"sessionId":"s","projectHash":"h","startTime":"2026-03-01T10:00:00Z"}"#,
    "\n",
    r#"{"id":"m","timestamp":"2026-03-01T10:00:01Z","type":"user","content":"hello there"}"#,
    "\n",
);

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[test]
fn a_folder_that_is_not_utf8_is_archived_like_any_other() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("tmp").join(name(b"caf\xE9"));
    write(&project.join("chats/session-1.jsonl"), SESSION);
    write(&project.join(".project_root"), "/code/shop");
    let found = discover_at(root.path());
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, &found, "here");
    archive.capture(&[], None, &|_| {}).unwrap();
    let before = Home::new(archive, found.clone());
    assert_eq!(before.sessions[0].session.parts[0].file, found.sources[0].path);
    assert_eq!(before.sessions[0].session.project.path.as_deref(), Some("/code/shop"));
    let told = seen(&before);
    // Nothing is new, and nothing is gone.
    let mut archive = before.archive;
    let synced = sync(&mut archive, &found, "here");
    assert_eq!((synced.new, synced.changed, synced.gone, synced.unchanged), (0, 0, 0, 1));
    let mut other = Archive::in_memory().unwrap();
    merge(&mut other, &copy_of(&archive));
    fs::remove_dir_all(root.path().join("tmp")).unwrap();
    let mut merged = seen(&Home::new(other, Discovery::default()));
    merged[0]["session"]["captured"] = told[0]["session"]["captured"].clone();
    assert_eq!(merged, told);
    assert_eq!(sync(&mut archive, &Discovery::default(), "here").gone, 1);
    assert_eq!(archive.check(&|_| {}).unwrap().problems, [""; 0]);
}

/// Returns paths below a folder as text.
fn below(folder: &Path, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<String> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    paths.into_iter().map(|path| name(path.as_ref())).collect()
}

fn sources(folder: &Path, found: &Discovery) -> Vec<String> {
    below(folder, found.sources.iter().map(|source| &source.path))
}

#[test]
fn names_that_are_not_utf8_are_read() {
    let root = tempfile::tempdir().unwrap();
    let chats = root.path().join("tmp/shop/chats");
    // Two names that look alike, neither of which names its session.
    for (odd, text) in [(0xFE, "one"), (0xFF, "two")] {
        let record = format!(r#"[{{"role":"user","parts":[{{"text":"{text}"}}]}}]"#);
        write(
            &chats.join("..").join(name(&[b"checkpoint-", &[odd][..], b".json"].concat())),
            &record,
        );
    }
    write(&chats.join(name(b"session-\xE9.jsonl")), SESSION);
    write(&chats.join(name(b"\xE9")).join("agent.jsonl"), &SESSION.replace(":\"s\"", ":\"t\""));
    write(&chats.join(name(b"\xE9.txt")), "");
    let found = discover_at(root.path());
    assert_eq!(found.skipped.len(), 1);
    assert_eq!(found.skipped[0].why, "not JSON by its name");
    let home = Home::of(found);
    let typed: Vec<_> =
        home.sessions.iter().filter_map(|s| s.session.first_prompt.as_deref()).collect();
    assert_eq!(typed.len(), 4, "{typed:?}");
    for text in ["one", "two", "hello there"] {
        assert!(typed.contains(&text), "{typed:?}");
    }
}

#[test]
fn links_that_lead_out_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("session-9.jsonl"), SESSION);
    write(&outside.path().join("deep/plan.md"), "secret");
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join(".gemini");
    let shop = root.join("tmp/shop");
    write(&shop.join("chats/session-1.jsonl"), SESSION);
    for (from, to) in [
        ("plans", outside.path()),
        ("tool-outputs", Path::new("/")),
        ("chats/session-2.jsonl", &outside.path().join("session-9.jsonl")),
        ("chats/parent", home.path()),
        ("../other", outside.path()),
        // Through a link that is inside.
        ("logs.json", &root.join("tmp/shop/plans/session-9.jsonl")),
    ] {
        symlink(to, shop.join(from)).unwrap();
    }
    for found in [discover_at(home.path()), discover_at(&root)] {
        assert_eq!(sources(&shop, &found), ["chats/session-1.jsonl"]);
        assert_eq!(found.problems, []);
        let why = "a link that leads out of the agent's folder";
        assert!(found.skipped.iter().all(|skipped| skipped.why == why), "{:?}", found.skipped);
        assert_eq!(found.skipped.len(), 6);
    }
    // A path that the user names is the root, and a file may be a link.
    let given = discover_at(&shop.join("chats/session-2.jsonl"));
    assert_eq!(given.sources.len(), 1);
}

#[test]
fn the_agents_folder_and_tmp_may_be_on_another_disk() {
    let disk = tempfile::tempdir().unwrap();
    write(&disk.path().join("gemini/projects.json"), "{}");
    write(&disk.path().join("sessions/shop/chats/session-1.jsonl"), SESSION);
    symlink(disk.path().join("sessions"), disk.path().join("gemini/tmp")).unwrap();
    let home = tempfile::tempdir().unwrap();
    symlink(disk.path().join("gemini"), home.path().join(".gemini")).unwrap();
    let link = home.path().join("link");
    symlink(home.path(), &link).unwrap();
    let env = Env { home: Some(home.path().to_owned()), ..Env::default() };
    let by_home = Agents::default().discover(&env);
    assert_eq!(sources(home.path(), &by_home), [".gemini/tmp/shop/chats/session-1.jsonl"]);
    for given in
        [home.path(), &home.path().join(".gemini"), &home.path().join(".gemini/tmp"), &link]
    {
        let found = discover_at(given);
        assert_eq!(found.sources.len(), 1, "{given:?}");
        assert!(found.sources[0].path.starts_with(given));
        assert_eq!((found.skipped.len(), found.problems.len()), (0, 0));
    }
    // The same folder found in two ways is one.
    let mut both = by_home;
    both.add(discover_at(&disk.path().join("sessions/shop")));
    both.settle();
    assert_eq!(both.sources.len(), 1);
}

#[test]
fn a_link_within_the_folder_is_followed_once() {
    let root = tempfile::tempdir().unwrap();
    let tmp = root.path().join("tmp");
    write(&tmp.join("shop/chats/session-1.jsonl"), SESSION);
    fs::create_dir(tmp.join("tools")).unwrap();
    write(&root.path().join("attic/session-2.jsonl"), SESSION);
    write(&root.path().join("attic/deep/session-3.jsonl"), SESSION);
    for (from, to) in [
        // A project under another name, which sorts first.
        ("a-shop", tmp.join("shop")),
        ("shop/chats/session-0.jsonl", tmp.join("shop/chats/session-1.jsonl")),
        // Only links lead there, and there are two.
        ("shop/chats/old", root.path().join("attic")),
        ("shop/chats/older", root.path().join("attic")),
        ("shop/chats/session-4.jsonl", root.path().join("attic/session-2.jsonl")),
        // To nothing, in a circle, and back.
        ("tools/session-5.jsonl", root.path().join("gone")),
        ("tools/session-6.jsonl", tmp.join("tools/session-6.jsonl")),
        ("tools/again", tmp.clone()),
        ("gone", root.path().join("gone")),
    ] {
        symlink(to, tmp.join(from)).unwrap();
    }
    let found = discover_at(root.path());
    let expected = [
        "shop/chats/old/deep/session-3.jsonl",
        "shop/chats/old/session-2.jsonl",
        "shop/chats/session-1.jsonl",
    ];
    assert_eq!(sources(&tmp, &found), expected);
    let problems = below(&tmp, found.problems.iter().map(|problem| &problem.path));
    let expected = ["gone", "tools/again", "tools/session-5.jsonl", "tools/session-6.jsonl"];
    assert_eq!(problems, expected);
    assert_eq!(found.problems[0].what, "a link to something that is not there");
    assert!(found.problems[1].what.starts_with("a link that leads back to `"));
}

#[test]
fn only_regular_files_are_sources() {
    let root = tempfile::tempdir().unwrap();
    let shop = root.path().join("tmp/shop");
    write(&shop.join("chats/session-1.jsonl"), SESSION);
    for fifo in ["chats/session-2.jsonl", "logs.json", ".project_root", "../../projects.json"] {
        let made = std::process::Command::new("mkfifo").arg(shop.join(fifo)).status().unwrap();
        assert!(made.success());
    }
    let _socket = UnixListener::bind(shop.join("chats/session-3.json")).unwrap();
    symlink("session-2.jsonl", shop.join("chats/session-4.jsonl")).unwrap();
    let found = discover_at(root.path());
    assert_eq!(sources(&shop, &found), ["chats/session-1.jsonl"]);
    let skipped = found.skipped.iter().filter(|skipped| skipped.why == "not a regular file");
    let skipped = below(&shop, skipped.map(|skipped| &skipped.path));
    let expected = [
        ".project_root",
        "chats/session-2.jsonl",
        "chats/session-3.json",
        "chats/session-4.jsonl",
        "logs.json",
    ];
    assert_eq!(skipped, expected);
    // Special files with the names of markers are not waited for either.
    assert_eq!(Home::of(found).sessions.len(), 1);
    assert_eq!(discover_at(&shop.join("logs.json")).sources, []);
}

/// A marker is a small regular file that Gemini CLI writes; a link or a large file is not one.
#[test]
fn a_note_is_a_small_file_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let shop = root.path().join("tmp/shop");
    let note = shop.join(".project_root");
    write(&note, "/code/shop\n");
    assert_eq!(gemini::folder_project(&shop).path.as_deref(), Some("/code/shop"));
    write(&note, &"x".repeat((1 << 20) + 1));
    assert_eq!(gemini::folder_project(&shop).path, None);
    fs::remove_file(&note).unwrap();
    write(&root.path().join("secret"), "/secret");
    symlink(root.path().join("secret"), &note).unwrap();
    assert_eq!(gemini::folder_project(&shop).path, None);
}
