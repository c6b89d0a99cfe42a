//! Tests merging archives: the result is the union, whatever the others are like.

use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, Foreign, Imported, Machine, SyncOptions};
use backstory_core::discover::Discovery;
use backstory_core::projects::ProjectHints;
use backstory_core::read::bytes::Bytes;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::support::discover_at;

const ID: &str = "11111111-0000-4000-8000-000000000000";
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A home and the archives of machines that have one at the same path.
struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", &log("hello"));
        lab.write(&format!("tool-outputs/session-{ID}/out.txt"), "PRECIOUS");
        lab
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join("home/.gemini/tmp/app").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn found(&self) -> Discovery {
        discover_at(&self.0.path().join("home"))
    }

    /// Returns an archive of the current home.
    fn archive(&self, name: &str) -> Archive {
        let mut archive = Archive::open(&self.file(name)).unwrap();
        let candidates = ProjectHints::default();
        let setup =
            SyncOptions { machine: Machine::This("host"), ..SyncOptions::plain(&candidates) };
        archive.sync(&self.found(), &setup, &|_| {}).unwrap();
        archive.capture(&[], None, &|_| {}).unwrap();
        archive
    }

    /// Returns a copy of an archive, changed deliberately.
    fn copy(&self, archive: &Archive, name: &str, change: &str) -> PathBuf {
        let file = self.file(name);
        archive.backup(&file, NOW).unwrap();
        let db = backstory_pages::open(&file, OpenFlags::default()).unwrap();
        db.execute_batch(change).unwrap();
        file
    }
}

fn log(text: &str) -> String {
    format!(
        "{{\"sessionId\":\"{ID}\",\"projectHash\":\"ab\",\"startTime\":\"2026-03-01T10:00:00Z\",\"lastUpdated\":\"2026-03-01T10:00:00Z\"}}\n\
         {{\"id\":\"u\",\"timestamp\":\"2026-03-01T10:00:00Z\",\"type\":\"user\",\"content\":\"{text}\"}}\n"
    )
}

fn merge(archive: &mut Archive, file: &Path) -> Imported {
    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This("host"), ..SyncOptions::plain(&candidates) };
    archive.merge(&Foreign::open(file).unwrap(), &setup, NOW, &|_| {}).unwrap()
}

/// Returns the captured content of every file and version, sorted.
fn contents(archive: &Archive) -> Vec<String> {
    let rows = archive.files().unwrap().into_iter().filter(|row| row.captured > 0);
    let read = |row: backstory_core::archive::FileRow| {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut archive.open(&row.source).unwrap(), &mut text).unwrap();
        text
    };
    let mut out: Vec<String> = rows.map(read).collect();
    out.sort();
    assert_eq!(archive.check(&|_| {}).unwrap().problems, Vec::<String>::new());
    out
}

#[test]
fn a_rotten_copy_makes_nothing_worse() {
    let lab = Lab::new();
    let mut archive = lab.archive("a.db");
    let rotten =
        lab.copy(&archive, "rotten.db", "UPDATE captures SET data = zeroblob(length(data))");
    fs::remove_dir_all(lab.file("home")).unwrap();
    let before = contents(&archive);
    let merged = merge(&mut archive, &rotten);
    assert_eq!(merged.lost.len(), 2, "{:?}", merged.lost);
    assert_eq!(contents(&archive), before);
}

#[test]
fn an_older_copy_changes_nothing() {
    let lab = Lab::new();
    lab.write("logs.json", &typed(&["one"]));
    let older = lab.copy(&lab.archive("a.db"), "older.db", "");
    lab.write("logs.json", &typed(&["one", "two"]));
    lab.write(&format!("tool-outputs/session-{ID}/out.txt"), "NEW");
    let mut archive = lab.archive("a.db");
    fs::remove_dir_all(lab.file("home")).unwrap();
    let before = contents(&archive);
    merge(&mut archive, &older);
    merge(&mut archive, &older);
    assert_eq!(contents(&archive), before);
    assert_eq!(before.iter().filter(|text| text.contains("two")).count(), 1);
}

fn typed(lines: &[&str]) -> String {
    let line = |(n, text): (usize, &&str)| {
        format!(
            r#"{{"sessionId":"x1","messageId":{n},"type":"user","message":"{text}","timestamp":"2026-03-01T10:00:00Z"}}"#
        )
    };
    let lines: Vec<String> = lines.iter().enumerate().map(line).collect();
    format!("[{}]", lines.join(","))
}

#[test]
fn machines_with_one_name_and_one_home_stay_apart() {
    let lab = Lab::new();
    let laptop = lab.copy(&lab.archive("laptop.db"), "copy.db", "");
    lab.write(&format!("tool-outputs/session-{ID}/out.txt"), "of the desktop");
    let mut desktop = lab.archive("desktop.db");
    merge(&mut desktop, &laptop);
    let outputs: Vec<String> =
        contents(&desktop).into_iter().filter(|text| !text.contains("sessionId")).collect();
    assert_eq!(outputs, ["PRECIOUS", "of the desktop"]);
    let mut machines = desktop.info().unwrap().machines;
    machines.sort();
    assert_eq!(machines, ["host", "host-2"]);
}

#[test]
fn the_order_of_merging_does_not_matter() {
    let lab = Lab::new();
    let mut copies = Vec::new();
    for (n, text) in ["first", "second", "third"].iter().enumerate() {
        lab.write("chats/session-2026-03-01T10-00-11111111.jsonl", &log(text));
        let archive = lab.archive(&format!("{n}.db"));
        copies.push(lab.copy(&archive, &format!("copy{n}.db"), ""));
    }
    let mut results = Vec::new();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let mut archive = Archive::in_memory().unwrap();
        for n in order.into_iter().chain(order) {
            merge(&mut archive, &copies[n]);
        }
        results.push(contents(&archive));
    }
    assert_eq!(results[0].len(), 6);
    assert!(results.iter().all(|result| *result == results[0]), "{results:#?}");
}

#[test]
fn what_either_side_forgot_is_in_neither() {
    for is_forgotten_here in [true, false] {
        let lab = Lab::new();
        let holder = lab.archive("holder.db");
        let mut forgetter = lab.archive("forgetter.db");
        let candidates = ProjectHints::default();
        forgetter.forget(&[ID.into()], &SyncOptions::plain(&candidates), NOW).unwrap();
        let (mut archive, other) = if is_forgotten_here {
            (forgetter, lab.copy(&holder, "other.db", ""))
        } else {
            (holder, lab.copy(&forgetter, "other.db", ""))
        };
        merge(&mut archive, &other);
        assert_eq!(contents(&archive), Vec::<String>::new());
        assert_eq!(archive.sessions().unwrap().len(), 0);
        let file = archive.path().unwrap().to_owned();
        drop(archive);
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(8).any(|window| window == b"PRECIOUS"), "here: {is_forgotten_here}");
    }
}

#[test]
fn paths_that_climb_are_refused() {
    let lab = Lab::new();
    let archive = lab.archive("a.db");
    for change in [
        "UPDATE sources SET path = folder || '/tool-outputs/x/../../../../../.bash_login' WHERE path LIKE '%out.txt'",
        "UPDATE sources SET path = '/etc/passwd' WHERE path LIKE '%out.txt'",
        "UPDATE sources SET folder = '/home/../etc' WHERE path LIKE '%out.txt'",
        "UPDATE sources SET size = 1 << 62, captured = 1 << 62 WHERE path LIKE '%out.txt'",
        "UPDATE sources SET size = -1 WHERE path LIKE '%out.txt'",
        "UPDATE sources SET kind = 'no such kind' WHERE path LIKE '%out.txt'",
    ] {
        let evil = lab.copy(&archive, "evil.db", change);
        let mut into = Archive::in_memory().unwrap();
        let merged = merge(&mut into, &evil);
        assert_eq!((merged.sources, merged.refused.len()), (1, 1), "{change}: {merged:?}");
        fs::remove_file(evil).unwrap();
    }
}

#[test]
fn a_piece_that_unpacks_to_something_else_is_refused() {
    let lab = Lab::new();
    let archive = lab.archive("a.db");
    let evil = lab.copy(&archive, "evil.db", "");
    let bomb = zstd::bulk::compress(&vec![0; 256 << 20], 1).unwrap();
    assert!(bomb.len() < 100_000);
    let db = backstory_pages::open(&evil, OpenFlags::default()).unwrap();
    db.execute("UPDATE captures SET data = ?1, length = 256 << 20", [bomb]).unwrap();
    drop(db);
    let mut into = Archive::in_memory().unwrap();
    let merged = merge(&mut into, &evil);
    assert_eq!(merged.bytes, 0);
    assert_eq!(contents(&into), Vec::<String>::new());
}

#[test]
fn databases_with_anything_else_in_them_are_refused() {
    let lab = Lab::new();
    let archive = lab.archive("a.db");
    for change in [
        "DROP TABLE names; CREATE VIEW names AS SELECT 'x' AS session, 'y' AS name, 0 AS at",
        "CREATE TRIGGER t AFTER INSERT ON names BEGIN DELETE FROM names; END",
        "CREATE TABLE more (x)",
    ] {
        let evil = lab.copy(&archive, "evil.db", change);
        let error = Foreign::open(&evil).err().unwrap().to_string();
        assert!(error.ends_with("it has other tables"), "{error}");
        fs::remove_file(evil).unwrap();
    }
    fs::write(lab.file("letter.db"), "dear mother").unwrap();
    assert!(Foreign::open(&lab.file("letter.db")).is_err());
    Connection::open(lab.file("other.db")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(Foreign::open(&lab.file("other.db")).is_err());
}

#[test]
fn the_other_file_does_not_change() {
    let lab = Lab::new();
    let other = lab.archive("other.db");
    // One whose log is not empty, as in a copy of an archive in use.
    let folder = lab.file("copied");
    fs::create_dir(&folder).unwrap();
    for ending in ["", "-wal"] {
        fs::copy(lab.file(&format!("other.db{ending}")), folder.join(format!("o.db{ending}")))
            .unwrap();
    }
    let read = || -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = read();
    let mut into = Archive::in_memory().unwrap();
    merge(&mut into, &folder.join("o.db"));
    assert_eq!(contents(&into).len(), 2);
    assert!(read() == before, "the merged file or its folder changed");
    drop(other);
}

#[test]
fn names_and_tags_that_were_removed_stay_removed() {
    let lab = Lab::new();
    let mut archive = lab.archive("a.db");
    let at = |second| Timestamp::from_second(second).unwrap();
    archive.set_name(ID, Some("mine"), at(1)).unwrap();
    archive.add_tag(ID, "red", at(1)).unwrap();
    archive.add_tag(ID, "blue", at(1)).unwrap();
    let older = lab.copy(&archive, "older.db", "");
    archive.set_name(ID, None, at(2)).unwrap();
    assert!(archive.remove_tag(ID, "red", at(2)).unwrap());
    merge(&mut archive, &older);
    let session = archive.sessions().unwrap().remove(0);
    assert_eq!((session.name, session.tags), (None, vec!["blue".to_owned()]));
    let mut other = Archive::in_memory().unwrap();
    merge(&mut other, &older);
    merge(&mut other, &lab.copy(&archive, "newer.db", ""));
    let session = other.sessions().unwrap().remove(0);
    assert_eq!((session.name, session.tags), (None, vec!["blue".to_owned()]));
}
