//! Writers that are killed leave a sound database.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use backstory_pages::is_checked;

use crate::support::{
    Folder, MODES, Random, add, assert_stamped, create, digest, faults, open, schema, sound,
};

/// Not a test but the writer: the tests below run it in a process of its own. It reads what to do
/// from its standard input, so that it does nothing when it is run with the other ignored tests.
#[test]
#[ignore = "the writer for the tests in this file"]
fn writer() {
    let mut task = String::new();
    std::io::stdin().read_to_string(&mut task).unwrap();
    let Some((seed, path)) = task.split_once(' ') else { return };
    let db = open(path.as_ref());
    db.pragma_update(None, "cache_size", 10).unwrap();
    db.pragma_update(None, "wal_autocheckpoint", 30).unwrap();
    if seed == "vacuum" {
        loop {
            db.execute_batch("VACUUM").unwrap();
        }
    }
    let mut random = Random(seed.parse().unwrap());
    if !db.table_exists(None, "notes").unwrap() {
        db.execute_batch("BEGIN").unwrap();
        schema(&db);
        for _ in 0..5000 {
            let data = random.bytes(2000);
            db.execute("INSERT INTO notes (text, data) VALUES ('new', ?1)", [data]).unwrap();
        }
        db.execute_batch("COMMIT").unwrap();
    }
    loop {
        match random.below(5) {
            0 => db.execute_batch("VACUUM").unwrap(),
            1 => {
                let sql = format!("DELETE FROM notes WHERE id % 3 = {}", random.below(3));
                db.execute_batch(&sql).unwrap();
            }
            _ => {
                let rows = random.below(60);
                add(&db, &mut random, rows).unwrap();
            }
        }
    }
}

/// The process of a writer, which is killed when it goes out of scope.
struct Writer(Child);

impl Writer {
    /// Starts a writer that makes random changes by a seed, or nothing but `vacuum`.
    fn start(path: &Path, seed: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::writer", "--ignored"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Dropping the pipe ends the input.
        let mut input = child.stdin.take().unwrap();
        write!(input, "{seed} {}", path.to_str().unwrap()).unwrap();
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_a_sound_database() {
    let mut random = Random(11);
    for (mode, journal) in [("DELETE", "a.db-journal"), ("WAL", "a.db-wal")] {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, mode, 100);
        let mut interrupted = 0;
        for round in 0..20 {
            let writer = Writer::start(&path, &round.to_string());
            sleep(Duration::from_millis(10 + random.below(150) as u64));
            drop(writer);
            interrupted += u32::from(folder.path(journal).exists());
            let db = open(&path);
            assert!(is_checked(&db).unwrap());
            sound(&db);
            db.close().unwrap();
            assert_stamped(&path);
        }
        assert_ne!(interrupted, 0, "no transaction was interrupted");
    }
}

#[test]
fn a_killed_vacuum_changes_nothing() {
    let mut random = Random(13);
    for mode in MODES {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, mode, 300);
        let before = sound(&open(&path));
        for _ in 0..15 {
            let writer = Writer::start(&path, "vacuum");
            sleep(Duration::from_millis(10 + random.below(60) as u64));
            drop(writer);
            let db = open(&path);
            assert_eq!(sound(&db), before);
            db.close().unwrap();
            assert_stamped(&path);
        }
    }
}

#[test]
fn a_writer_killed_while_it_creates_a_database_leaves_a_sound_one_or_none() {
    let mut random = Random(12);
    let mut created = 0;
    for round in 0..20 {
        let folder = Folder::new();
        let path = folder.path("a.db");
        let writer = Writer::start(&path, &round.to_string());
        sleep(Duration::from_millis(5 + random.below(400) as u64));
        drop(writer);
        let db = open(&path);
        if db.table_exists(None, "notes").unwrap() {
            sound(&db);
            created += 1;
        } else {
            assert!(!is_checked(&db).unwrap());
            schema(&db);
        }
        add(&db, &mut Random(1), 20).unwrap();
        sound(&db);
        db.close().unwrap();
        assert_stamped(&path);
    }
    assert!(created < 20, "the writer was never killed early enough");
}

#[test]
fn a_reader_in_another_process_sees_only_sound_states() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    create(&path, "WAL", 100);
    let db = open(&path);
    for round in 0..3 {
        let writer = Writer::start(&path, &round.to_string());
        for _ in 0..40 {
            // A query refreshes what FTS5 keeps in memory of its index. Its integrity check does
            // not, and would compare that with what another process has written since.
            db.execute_batch("BEGIN").unwrap();
            digest(&db).unwrap();
            assert_eq!(faults(&db).unwrap(), [""; 0]);
            db.execute_batch("COMMIT").unwrap();
        }
        drop(writer);
    }
    drop(db);
    sound(&open(&path));
}
