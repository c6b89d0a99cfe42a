//! Tests what Codex CLI's own list of threads, a database, adds to its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::archive::{Archive, Foreign, SyncOptions};
use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::env::Env;
use backstory_core::model::{Fate, Session};
use backstory_core::projects::ProjectHints;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::codex::copy;
use crate::support::{Home, discover_at, files_below, testdata};

const THREAD: &str = "01a1e052-b824-7e22-8be3-facf0c5fcd7d";
const FIRST: &str = "rollout-2026-11-15T17-47-59-01a1e052-b824-7e22-8be3-facf0c5fcd7d.jsonl";
const SECRET: &str = "not for the archive";

/// Copies a thread with two files.
fn tree(to: &Path) {
    let from = testdata("codex/0.166.0/life").join("codex");
    copy(&from, to, &|path, bytes| (path.to_owned(), bytes));
}

/// Opens a list of threads in a folder.
fn list(folder: &Path) -> Connection {
    let db = Connection::open(folder.join("state_5.sqlite")).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE IF NOT EXISTS threads (
             id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, title TEXT NOT NULL, name TEXT)",
    )
    .unwrap();
    db
}

fn say(db: &Connection, file: &str, name: Option<&str>) {
    let path = format!("/elsewhere/archived_sessions/{file}");
    let row = params![THREAD, path, SECRET, name];
    db.execute("INSERT OR REPLACE INTO threads VALUES (?1, ?2, ?3, ?4)", row).unwrap();
}

fn sync(archive: &mut Archive, folder: &Path) {
    let candidates = ProjectHints::default();
    archive.sync(&discover_at(folder), &SyncOptions::plain(&candidates), &|_| {}).unwrap();
    archive.capture(&[], None, &|_| {}).unwrap();
}

fn thread(home: &Home) -> (&SessionFacts, &Session) {
    let facts = home.sessions.iter().find(|one| one.session.id == THREAD).unwrap();
    (facts, home.all.get(THREAD).unwrap())
}

/// Returns the name of the file that is loaded, and the number of messages that were left behind.
fn loaded(home: &Home) -> (String, usize) {
    let (facts, _) = thread(home);
    let file = &facts.files[facts.resumable_file.unwrap()];
    let name = file.path.file_name().unwrap().to_str().unwrap().to_owned();
    let rewound = facts.listed().filter(|entry| entry.facts.fate == Fate::Rewound);
    assert_eq!(home.messages(facts, View::Current).len(), facts.session.messages_current);
    (name, rewound.count())
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = files_below(folder).into_iter();
    files.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

#[test]
fn the_list_decides_which_file_of_a_thread_is_current() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let (newest, behind) = loaded(&Home::at(folder.path()));
    assert_ne!(newest, FIRST);
    let db = list(folder.path());
    say(&db, &newest, None);
    assert_eq!(loaded(&Home::at(folder.path())), (newest.clone(), behind));
    say(&db, FIRST, None);
    let home = Home::at(folder.path());
    let (file, left) = loaded(&home);
    assert_eq!(file, FIRST);
    let (facts, _) = thread(&home);
    let of = |entry: &&backstory_core::assemble::MessageEntry, name: &str| {
        entry.places.iter().all(|place| facts.files[place.file].path.ends_with(name))
    };
    let in_newest = facts.listed().filter(|entry| of(entry, &newest)).count();
    assert!(left > 0 && left == in_newest, "{left} of {in_newest}");
    for unusable in ["rollout-x.jsonl", "", FIRST.replace("01a1", "01a2").as_str()] {
        say(&db, unusable, None);
        assert_eq!(loaded(&Home::at(folder.path())), (newest.clone(), behind), "{unusable}");
    }
}

#[test]
fn the_list_may_be_in_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("elsewhere"));
    let root = home.join(".codex");
    tree(&root);
    fs::write(root.join("session_index.jsonl"), "").unwrap();
    fs::create_dir(&elsewhere).unwrap();
    say(&list(&elsewhere), FIRST, Some("renamed"));
    let name = |variable: Option<(&str, &Path)>| {
        let vars = variable.into_iter().map(|(name, path)| (name.to_owned(), path.into()));
        let env = Env { home: Some(home.clone()), vars: vars.collect() };
        thread(&Home::of(Agents::default().discover(&env))).1.summary.clone()
    };
    assert_eq!(name(None), None);
    assert_eq!(name(Some(("CODEX_SQLITE_HOME", elsewhere.as_path()))).as_deref(), Some("renamed"));
    // The configuration takes precedence over the variable.
    for setting in ["../../elsewhere", "~/../elsewhere"] {
        let text = format!("model = \"x\"\nsqlite_home = \"{setting}\"\n");
        fs::write(root.join("config.toml"), text).unwrap();
        assert_eq!(name(None).as_deref(), Some("renamed"), "{setting}");
        assert_eq!(name(Some(("CODEX_SQLITE_HOME", home.as_path()))).as_deref(), Some("renamed"));
    }
}

#[test]
fn a_list_is_followed_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let db = list(folder.path());
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, folder.path());
    let (newest, _) = loaded(&Home::at(folder.path()));
    let home = &mut Home::new(archive, discover_at(folder.path()));
    for (file, name) in [(FIRST, "a"), (&newest, "b"), (FIRST, "a"), (FIRST, "a"), (&newest, "a")] {
        say(&db, file, Some(name));
        sync(&mut home.archive, folder.path());
        let archive = std::mem::replace(&mut home.archive, Archive::in_memory().unwrap());
        *home = Home::new(archive, discover_at(folder.path()));
        assert_eq!(loaded(home), loaded(&Home::at(folder.path())), "{file} {name}");
    }
}

#[test]
fn a_list_names_what_nothing_else_names() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let summary = |folder: &Path| thread(&Home::at(folder)).1.summary.clone();
    let index = folder.path().join("session_index.jsonl");
    let entry = format!(
        r#"{{"id":"{THREAD}","thread_name":"indexed","updated_at":"2026-11-16T00:00:00Z"}}"#
    );
    fs::write(&index, "").unwrap();
    let db = list(folder.path());
    say(&db, FIRST, Some(" "));
    assert_eq!(summary(folder.path()), None);
    say(&db, FIRST, Some("listed"));
    assert_eq!(summary(folder.path()).as_deref(), Some("listed"));
    fs::write(&index, entry).unwrap();
    assert_eq!(summary(folder.path()).as_deref(), Some("indexed"));
}

#[test]
fn the_newest_rows_are_read_without_touching_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    fs::write(folder.path().join("session_index.jsonl"), "").unwrap();
    let db = list(folder.path());
    say(&db, FIRST, Some("in the log"));
    // A copy, as a program that was killed leaves it: nobody has the database open.
    let copy = tempfile::tempdir().unwrap();
    for path in
        files_below(folder.path()).iter().filter(|path| !path.ends_with("state_5.sqlite-shm"))
    {
        let to = copy.path().join(path.strip_prefix(folder.path()).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(path, to).unwrap();
    }
    let log = copy.path().join("state_5.sqlite-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    let before = contents(copy.path());
    let home = Home::at(copy.path());
    assert_eq!(thread(&home).1.summary.as_deref(), Some("in the log"));
    assert!(contents(copy.path()) == before, "nothing is written");
}

#[test]
fn only_an_extract_of_the_list_is_archived_and_it_outlives_the_list() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    fs::write(folder.path().join("session_index.jsonl"), "").unwrap();
    say(&list(folder.path()), FIRST, Some("kept"));
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one.db"), place.path().join("two.db"));
    let mut archive = Archive::open(&one).unwrap();
    sync(&mut archive, folder.path());
    for file in ["state_5.sqlite", "state_5.sqlite-wal"] {
        let _ = fs::remove_file(folder.path().join(file));
    }
    sync(&mut archive, folder.path());
    let source = archive.files().unwrap().into_iter().find(|row| row.source.kind.is_extract());
    let source = source.unwrap();
    assert_eq!(source.captured, source.source.size);
    let mut text = String::new();
    let mut input = backstory_core::read::bytes::Bytes::open(&archive, &source.source).unwrap();
    std::io::Read::read_to_string(&mut input, &mut text).unwrap();
    drop(input);
    let line = format!(r#"{{"file":"{FIRST}","name":"kept","session":"{THREAD}"}}"#);
    assert_eq!(text, line + "\n", "no other column, such as `{SECRET}`");
    let mut other = Archive::open(&two).unwrap();
    drop(archive);
    let foreign = Foreign::open(&one).unwrap();
    let candidates = ProjectHints::default();
    let options = SyncOptions::plain(&candidates);
    other.merge(&foreign, &options, Timestamp::UNIX_EPOCH, &|_| {}).unwrap();
    for archive in [Archive::open(&one).unwrap(), other] {
        let home = Home::new(archive, discover_at(folder.path()));
        assert_eq!(loaded(&home).0, FIRST);
        assert_eq!(thread(&home).1.summary.as_deref(), Some("kept"));
    }
}

#[test]
fn a_forgotten_thread_is_in_no_list() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    say(&list(folder.path()), FIRST, Some("forgotten"));
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, folder.path());
    let candidates = ProjectHints::default();
    let options = SyncOptions::plain(&candidates);
    archive.forget(&[THREAD.into()], &options, Timestamp::UNIX_EPOCH).unwrap();
    for _ in 0..2 {
        let row = archive.files().unwrap().into_iter().find(|row| row.source.kind.is_extract());
        assert_eq!(row.unwrap().captured, 0);
        sync(&mut archive, folder.path());
    }
    let home = Home::new(archive, discover_at(folder.path()));
    assert!(home.all.get(THREAD).is_none());
    let mut archive = home.archive;
    archive.unforget(&[THREAD.into()]).unwrap();
    sync(&mut archive, folder.path());
    let row = archive.files().unwrap().into_iter().find(|row| row.source.kind.is_extract());
    assert!(row.is_some_and(|row| row.captured > 0 && row.captured == row.source.size));
    assert_eq!(loaded(&Home::new(archive, discover_at(folder.path()))).0, FIRST);
}

#[test]
fn what_a_lost_list_said_about_others_outlives_a_forgotten_thread() {
    let other = "01a1e053-46d2-7643-8981-f0ebeb02901f";
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    fs::write(folder.path().join("session_index.jsonl"), "").unwrap();
    let db = list(folder.path());
    say(&db, FIRST, Some("forgotten"));
    let row = params![other, "", SECRET, "another"];
    db.execute("INSERT INTO threads VALUES (?1, ?2, ?3, ?4)", row).unwrap();
    drop(db);
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, folder.path());
    let candidates = ProjectHints::default();
    let options = SyncOptions::plain(&candidates);
    archive.forget(&[THREAD.into()], &options, Timestamp::UNIX_EPOCH).unwrap();
    // Nothing is left that could take the place of the list.
    let is_lost = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains(THREAD) || name.starts_with("state_5")
    };
    files_below(folder.path())
        .iter()
        .filter(is_lost)
        .for_each(|path| fs::remove_file(path).unwrap());
    sync(&mut archive, folder.path());
    archive.unforget(&[THREAD.into()]).unwrap();
    sync(&mut archive, folder.path());
    let home = Home::new(archive, discover_at(folder.path()));
    assert_eq!(home.all.get(other).unwrap().summary.as_deref(), Some("another"));
}

#[test]
fn a_list_that_cannot_be_read_is_a_fault_and_costs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let want = loaded(&Home::at(folder.path()));
    let path = folder.path().join("state_5.sqlite");
    let fault = |folder: &Path| {
        let rows = Home::at(folder).archive.files().unwrap();
        let row = rows.into_iter().find(|row| row.source.kind.is_extract()).unwrap();
        row.about.faults.count()
    };
    fs::write(&path, "SQLite format 3\0 and nothing else").unwrap();
    assert_eq!(fault(folder.path()), 1);
    assert_eq!(loaded(&Home::at(folder.path())), want);
    fs::remove_file(&path).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE VIEW threads AS SELECT 1 AS id, 2 AS rollout_path").unwrap();
    assert_eq!(fault(folder.path()), 0);
    db.execute_batch("DROP VIEW threads; CREATE TABLE threads (id, rollout_path); INSERT INTO threads VALUES (x'ff', 7), (NULL, NULL), (5, 'a')").unwrap();
    assert_eq!(fault(folder.path()), 0);
    assert_eq!(loaded(&Home::at(folder.path())), want);
}
