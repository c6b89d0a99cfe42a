//! Tests the laws of the archive: in any order, in any steps and on any machines, the same files
//! give the same sessions; and captured content stays when the files are gone.

use std::fs;
use std::path::Path;

use backstory_core::archive::{Archive, Foreign, Machine, SyncOptions, SyncStats};
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::model::SessionId;
use backstory_core::projects::ProjectHints;
use backstory_core::read::bytes::Bytes;
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::expected::differences;
use crate::support::discover_at;
use crate::support::{Home, files_below, seen, testdata, trees_below};
use crate::trees::{Tree, tree};

pub(crate) fn sync(archive: &mut Archive, found: &Discovery, machine: &str) -> SyncStats {
    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This(machine), ..SyncOptions::plain(&candidates) };
    archive.sync(found, &setup, &|_| {}).unwrap()
}

/// Returns a copy of an archive, to be merged into others.
pub(crate) fn copy_of(archive: &Archive) -> Foreign {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    archive.backup(&file, Timestamp::UNIX_EPOCH).unwrap();
    // An open file stays readable after it is deleted.
    Foreign::open(&file).unwrap()
}

pub(crate) fn merge(archive: &mut Archive, other: &Foreign) {
    let candidates = ProjectHints::default();
    let setup = SyncOptions::plain(&candidates);
    let merged = archive.merge(other, &setup, Timestamp::UNIX_EPOCH, &|_| {}).unwrap();
    assert_eq!((merged.lost, merged.refused), (Vec::new(), Vec::new()));
}

/// Returns everything that a reader would see, except the place of the archive.
fn told(home: &Home) -> Value {
    let mut told = seen(home);
    for session in told.as_array_mut().unwrap() {
        for key in ["state", "captured"] {
            session["session"].as_object_mut().unwrap().remove(key);
        }
    }
    told
}

fn assert_same(a: &Value, b: &Value, what: &str) {
    let differences = differences(a, b) + &differences(b, a);
    assert!(differences.is_empty(), "{what}\n{differences}");
}

/// Writes each file up to a share of its length.
fn grow(folder: &Path, tree: &Tree, shares: &[Index], step: usize, steps: usize) {
    for (n, (name, text)) in tree.files.iter().enumerate() {
        let is_whole = step + 1 == steps || !name.ends_with(".jsonl");
        let cut = shares[(n + step) % shares.len()].index(text.len() + 1);
        let path = folder.join(name);
        let known = fs::metadata(&path).map_or(0, |about| about.len());
        let length = if is_whole { text.len() } else { cut };
        // Gemini CLI only ever appends.
        if length as u64 >= known {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &text.as_bytes()[..length]).unwrap();
        }
    }
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_steps_end_in_the_same(tree in tree(), shares in prop::collection::vec(any::<Index>(), 7), steps in 1..4_usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Archive::in_memory().unwrap();
        for step in 0..steps {
            grow(folder.path(), &tree, &shares, step, steps);
            sync(&mut archive, &discover_at(folder.path()), "");
        }
        let found = discover_at(folder.path());
        sync(&mut archive, &found, "");
        let stepwise = told(&Home::new(archive, found));
        assert_same(&told(&Home::at(folder.path())), &stepwise, "in steps");
    }

    #[test]
    fn merging_is_the_same_whichever_way_round(tree in tree(), side in any::<u16>()) {
        let folder = tempfile::tempdir().unwrap();
        tree.plant(folder.path());
        let found = discover_at(folder.path());
        let part = |which: bool| {
            let mut part = found.clone();
            let mut n = 0;
            part.sources.retain(|_| { n += 1; (side >> (n % 16) & 1 == 1) == which });
            let mut archive = Archive::in_memory().unwrap();
            sync(&mut archive, &part, if which { "a" } else { "b" });
            archive.capture(&[], None, &|_| {}).unwrap();
            archive
        };
        let (mut ab, mut ba) = (part(true), part(false));
        let (a, b) = (copy_of(&ab), copy_of(&ba));
        merge(&mut ab, &b);
        merge(&mut ba, &a);
        merge(&mut ba, &a);
        let (ab, ba) = (Home::new(ab, Discovery::default()), Home::new(ba, Discovery::default()));
        assert_same(&told(&ab), &told(&ba), "the other way round");
        assert_same(&told(&Home::at(folder.path())), &told(&ab), "merged");
    }
}

/// Every tree that the real program wrote is captured, rebuilt, and then deleted.
#[test]
fn what_was_captured_stays() {
    let mut files = 0;
    for tree in trees_below(&testdata("gemini")) {
        let name = tree.display().to_string();
        let folder = tempfile::tempdir().unwrap();
        copy(&tree, folder.path());
        let found = discover_at(folder.path());
        let mut archive = Archive::open(&folder.path().join("a.db")).unwrap();
        sync(&mut archive, &found, "here");
        archive.capture(&[], None, &|_| {}).unwrap();
        let before = Home::new(archive, found.clone());
        let told_before = told(&before);
        let bytes: Vec<Vec<u8>> =
            found.sources.iter().map(|s| fs::read(&s.path).unwrap()).collect();

        let mut again = Archive::in_memory().unwrap();
        merge(&mut again, &copy_of(&before.archive));
        assert_same(
            &told_before,
            &told(&Home::new(again, found.clone())),
            &format!("{name} rebuilt"),
        );

        let Home { mut archive, .. } = before;
        for source in &found.sources {
            fs::remove_file(&source.path).unwrap();
        }
        sync(&mut archive, &discover_at(folder.path()), "here");
        let checked = archive.check(&|_| {}).unwrap();
        assert_eq!(checked.problems, Vec::<String>::new(), "{name}");
        for row in archive.files().unwrap() {
            let at = found.sources.iter().position(|s| s.path == row.source.path).unwrap();
            let mut kept = Vec::new();
            std::io::copy(&mut archive.open(&row.source).unwrap(), &mut kept).unwrap();
            assert_eq!(kept, bytes[at], "{}", row.source.path.display());
            files += 1;
        }
        let after = Home::new(archive, Discovery::default());
        assert_same(&told_before, &told(&after), &format!("{name} deleted"));
    }
    assert!(files > 180, "only {files} files");
}

fn copy(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

const SECRET: &str = "the plan for the moon";

/// Creates a home with one session that contains a unique text.
fn home_with_secret(folder: &Path) -> Discovery {
    let chats = folder.join("tmp/app/chats");
    fs::create_dir_all(&chats).unwrap();
    fs::write(folder.join("tmp/app/.project_root"), "/code/app").unwrap();
    for (id, text) in [("11111111", SECRET), ("22222222", "hello there")] {
        let header = format!(
            r#"{{"sessionId":"{id}-0000-4000-8000-000000000000","projectHash":"ab","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z"}}"#
        );
        let prompt = format!(
            r#"{{"id":"u{id}","timestamp":"2026-03-01T10:00:00Z","type":"user","content":"{text}"}}"#
        );
        let name = format!("session-2026-03-01T10-00-{id}.jsonl");
        fs::write(chats.join(name), format!("{header}\n{prompt}\n")).unwrap();
    }
    let typed = format!(
        r#"[{{"sessionId":"11111111-0000-4000-8000-000000000000","messageId":0,"type":"user","message":"{SECRET}","timestamp":"2026-03-01T10:00:00Z"}}]"#
    );
    fs::write(folder.join("tmp/app/logs.json"), typed).unwrap();
    discover_at(folder)
}

#[test]
fn what_is_forgotten_is_gone_and_stays_gone() {
    let folder = tempfile::tempdir().unwrap();
    let found = home_with_secret(&folder.path().join("home"));
    let file = folder.path().join("archive.db");
    let mut archive = Archive::open(&file).unwrap();
    sync(&mut archive, &found, "here");
    archive.capture(&[], None, &|_| {}).unwrap();
    let id = "11111111-0000-4000-8000-000000000000".into();
    let ids = |archive: &Archive| -> Vec<SessionId> {
        archive.sessions().unwrap().into_iter().map(|session| session.id).collect()
    };
    assert!(ids(&archive).contains(&id));
    archive.add_tag(&id, "moon", Timestamp::UNIX_EPOCH).unwrap();

    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This("here"), ..SyncOptions::plain(&candidates) };
    archive.forget(std::slice::from_ref(&id), &setup, Timestamp::UNIX_EPOCH).unwrap();
    assert!(!ids(&archive).contains(&id));
    // Uncompressed text must not be there in any form; compressed text is no longer in any row.
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "{} still says it", path.display());
        }
    }
    sync(&mut archive, &discover_at(&folder.path().join("home")), "here");
    archive.capture(&[], None, &|_| {}).unwrap();
    assert!(!ids(&archive).contains(&id), "the next sync must not bring it back");
    let mut rebuilt = Archive::in_memory().unwrap();
    merge(&mut rebuilt, &copy_of(&archive));
    sync(&mut rebuilt, &found, "here");
    assert!(!ids(&rebuilt).contains(&id), "nor a rebuild");
    assert_eq!(archive.check(&|_| {}).unwrap().problems, Vec::<String>::new());

    assert_eq!(archive.unforget(std::slice::from_ref(&id)).unwrap(), 1);
    sync(&mut archive, &found, "here");
    assert!(ids(&archive).contains(&id));
}

#[test]
fn a_file_that_lost_something_keeps_its_older_version() {
    let folder = tempfile::tempdir().unwrap();
    home_with_secret(folder.path());
    let file = folder.path().join("tmp/app/chats/session-2026-03-01T10-00-11111111.jsonl");
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, &discover_at(folder.path()), "");
    archive.capture(&[], None, &|_| {}).unwrap();
    // The program rewrites it, shorter.
    let header = fs::read_to_string(&file).unwrap().lines().next().unwrap().to_owned();
    fs::write(&file, format!("{header}\n")).unwrap();
    let found = discover_at(folder.path());
    sync(&mut archive, &found, "");
    archive.capture(&[], None, &|_| {}).unwrap();
    let home = Home::new(archive, found);
    let session = home.sessions.iter().find(|s| s.session.id.starts_with("1111")).unwrap();
    let texts: Vec<String> =
        home.messages(session, View::Full).into_iter().map(|message| message.text).collect();
    assert_eq!(texts, [SECRET]);
    assert_eq!(home.archive.check(&|_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn other_files_are_not_taken_for_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.db");
    fs::write(&file, "this is a letter to my mother, and no database at all").unwrap();
    let error = Archive::open(&file).err().unwrap();
    assert_eq!(error.to_string(), format!("`{}` is damaged", file.display()));
    let other = folder.path().join("y.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let error = Archive::open(&other).err().unwrap();
    assert_eq!(error.to_string(), format!("`{}` is not an archive of backstory", other.display()));
}

#[test]
fn forgetting_what_only_a_log_knows_leaves_the_rest_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("tmp/app/logs.json");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let id = |n: u8| format!("{n:08x}-0000-4000-8000-000000000000");
    let line = |n: u8| {
        format!(
            r#"{{"sessionId":"{}","messageId":0,"type":"user","message":"word {n}","timestamp":"2026-03-01T10:00:00Z"}}"#,
            id(n)
        )
    };
    fs::write(&log, format!("[{},{}]", line(1), line(2))).unwrap();
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, &discover_at(folder.path()), "");
    fs::remove_file(&log).unwrap();
    let candidates = ProjectHints::default();
    let setup = SyncOptions::plain(&candidates);
    archive.forget(&[id(1).into()], &setup, Timestamp::UNIX_EPOCH).unwrap();
    archive.unforget(&[id(1).into()]).unwrap();
    sync(&mut archive, &discover_at(folder.path()), "");
    let home = Home::new(archive, Discovery::default());
    let kept: Vec<&str> = home.sessions.iter().map(|s| s.session.id.as_str()).collect();
    assert_eq!(kept, [id(2)]);
    assert_eq!(home.sessions[0].session.prompts, 1);
}
