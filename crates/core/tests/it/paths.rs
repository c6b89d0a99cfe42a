//! Whatever lies below an agent's folder: names, links, files that are not files.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use backstory_core::agent::gemini;
use backstory_core::archive::Archive;
use backstory_core::discover::Found;

use crate::archive::{copy_of, merge, sync};
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
    let found = gemini::discover_given(root.path());
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
    let mut merged = seen(&Home::new(other, Found::default()));
    merged[0]["session"]["captured"] = told[0]["session"]["captured"].clone();
    assert_eq!(merged, told);
    assert_eq!(sync(&mut archive, &Found::default(), "here").gone, 1);
    assert_eq!(archive.check(&|_| {}).unwrap().problems, [""; 0]);
}
