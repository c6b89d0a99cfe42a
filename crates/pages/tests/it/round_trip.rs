//! Rows survive, whatever way their pages take to the file.

use std::time::Duration;

use backstory_pages::is_checked;
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use crate::support::{
    Folder, MODES, Random, add, assert_stamped, create, digest, faults, open, schema, sound,
};

#[test]
fn a_database_is_read_again_with_and_without_checks() {
    for mode in MODES {
        let folder = Folder::new();
        let path = folder.path("a.db");
        let db = open(&path);
        db.pragma_update(None, "journal_mode", mode).unwrap();
        schema(&db);
        add(&db, &mut Random(1), 5000).unwrap();
        assert!(is_checked(&db).unwrap());
        let before = sound(&db);
        db.close().unwrap();
        assert_stamped(&path);

        let db = open(&path);
        assert!(is_checked(&db).unwrap());
        assert_eq!(sound(&db), before);
        db.close().unwrap();

        let db = Connection::open(&path).unwrap();
        assert!(!is_checked(&db).unwrap());
        assert_eq!(sound(&db), before);
    }
}

#[test]
fn a_database_can_be_opened_by_uri_and_read_only() {
    let folder = Folder::new();
    let path = folder.path("a b.db");
    create(&path, "WAL", 200);
    let digest = sound(&open(&path));
    let uri = format!("file:{}?immutable=1", path.to_str().unwrap().replace(' ', "%20"));
    for (path, flags) in [
        (uri.as_ref(), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI),
        (path.as_path(), OpenFlags::SQLITE_OPEN_READ_ONLY),
        (path.as_path(), OpenFlags::default() | OpenFlags::SQLITE_OPEN_NO_MUTEX),
    ] {
        let db = backstory_pages::open(path, flags).unwrap();
        assert!(is_checked(&db).unwrap());
        assert_eq!(sound(&db), digest);
    }
}

#[test]
fn a_missing_database_cannot_be_opened_read_only() {
    let folder = Folder::new();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    assert!(backstory_pages::open(&folder.path("none.db"), flags).is_err());
    assert!(backstory_pages::open(&folder.path("no/folder.db"), OpenFlags::default()).is_err());
}

#[test]
fn a_database_in_memory_works_without_checks() {
    let db = backstory_pages::open(":memory:".as_ref(), OpenFlags::default()).unwrap();
    schema(&db);
    add(&db, &mut Random(1), 100).unwrap();
    sound(&db);
    assert!(!is_checked(&db).unwrap());
}

#[test]
fn an_empty_database_gets_checks_when_it_is_written_by_any_connection() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    let (first, second) = (open(&path), open(&path));
    assert!(!is_checked(&first).unwrap() && !is_checked(&second).unwrap());
    second.pragma_update(None, "journal_mode", "WAL").unwrap();
    schema(&second);
    add(&second, &mut Random(1), 50).unwrap();
    assert!(is_checked(&first).unwrap() && is_checked(&second).unwrap());
    // The first connection has not read a page of the file itself when it copies the log into it.
    first.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    assert_stamped(&path);
    assert_eq!(sound(&first), sound(&second));
}

#[test]
fn memory_is_not_mapped() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    create(&path, "WAL", 50);
    let db = open(&path);
    let mapped = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(mapped("PRAGMA mmap_size = 100000000"), 0);
    assert_eq!(mapped("PRAGMA mmap_size"), 0);
}

#[test]
fn a_first_transaction_larger_than_the_cache_is_stamped() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    let db = open(&path);
    db.pragma_update(None, "cache_size", 10).unwrap();
    db.execute_batch("BEGIN").unwrap();
    schema(&db);
    db.execute_batch("SAVEPOINT one").unwrap();
    let mut insert = db.prepare("INSERT INTO notes (text, data) VALUES ('a', ?1)").unwrap();
    let mut random = Random(1);
    for _ in 0..300 {
        insert.execute([random.bytes(3000)]).unwrap();
    }
    drop(insert);
    let before = digest(&db).unwrap();
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(sound(&db), before);
    assert_stamped(&path);
}

#[test]
fn a_first_transaction_larger_than_the_cache_can_be_rolled_back() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    let db = open(&path);
    db.pragma_update(None, "cache_size", 10).unwrap();
    for (rows, end) in [(300, "ROLLBACK"), (1, "COMMIT")] {
        db.execute_batch("BEGIN").unwrap();
        schema(&db);
        db.execute_batch(&format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})
             INSERT INTO notes (text, data) SELECT i, randomblob(3000) FROM n;
             {end};"
        ))
        .unwrap();
    }
    sound(&db);
    assert!(is_checked(&db).unwrap());
    assert_stamped(&path);
}

/// Fills two tables and empties one of them in the same transaction, so that SQLite does not write
/// pages that are before others or at the end of the file.
fn leave_holes(db: &Connection, emptied: &str) {
    db.execute_batch(&format!(
        "BEGIN;
         INSERT INTO x VALUES (randomblob(400000));
         INSERT INTO y VALUES (randomblob(400000));
         DELETE FROM {emptied};
         COMMIT;"
    ))
    .unwrap();
}

#[test]
fn a_page_that_was_never_written_is_stamped() {
    for (mode, emptied) in MODES.into_iter().flat_map(|mode| [(mode, "x"), (mode, "y")]) {
        let folder = Folder::new();
        let (path, copy) = (folder.path("a.db"), folder.path("copy.db"));
        create(&path, mode, 20);
        let db = open(&path);
        db.execute_batch("CREATE TABLE x (data); CREATE TABLE y (data)").unwrap();
        leave_holes(&db, emptied);
        let mut copied = open(&copy);
        // This reads free pages too.
        let backup = Backup::new(&db, &mut copied).unwrap();
        backup.run_to_completion(1000, Duration::ZERO, None).unwrap();
        drop(backup);
        assert_eq!(sound(&copied), sound(&db));
        drop((copied, db));
        assert_stamped(&path);
        assert_stamped(&copy);
    }
}

#[test]
fn a_page_that_was_never_written_is_stamped_after_another_connection_cut_the_file() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    create(&path, "DELETE", 20);
    let (first, second) = (open(&path), open(&path));
    first.execute_batch("CREATE TABLE x (data); CREATE TABLE y (data)").unwrap();
    first.execute("INSERT INTO x VALUES (randomblob(4000000))", []).unwrap();
    second.execute_batch("DELETE FROM x; VACUUM").unwrap();
    leave_holes(&first, "x");
    assert_stamped(&path);
}

/// Performs a random change. All of them are the same on any database with the same content.
fn change(db: &Connection, random: &mut Random, depth: usize) {
    let id = random.below(400);
    let (low, len) = (random.below(300), random.below(30));
    let sql = match random.below(12) {
        0..4 => {
            add_one(db, random);
            return;
        }
        4 => format!("DELETE FROM notes WHERE id % 400 BETWEEN {low} AND {}", low + len),
        5 => format!("UPDATE notes SET text = text || {id} WHERE id % 50 = {}", id % 50),
        6 => format!("UPDATE notes SET data = zeroblob({}) WHERE id % 40 = {}", id * 50, id % 40),
        7 => format!("CREATE TABLE IF NOT EXISTS t{} AS SELECT * FROM notes", id % 3),
        8 => format!("DROP TABLE IF EXISTS t{}", id % 3),
        9 if depth == 0 => "VACUUM".into(),
        10 if depth == 0 => "PRAGMA incremental_vacuum(7)".into(),
        11 if depth == 0 && id < 200 => format!("PRAGMA journal_mode = {}", MODES[id % 2]),
        _ if depth < 3 => {
            let (begin, undo, end) = if depth == 0 {
                ("BEGIN", "ROLLBACK", "COMMIT")
            } else {
                ("SAVEPOINT s", "ROLLBACK TO s; RELEASE s", "RELEASE s")
            };
            db.execute_batch(begin).unwrap();
            for _ in 0..random.below(12) {
                change(db, random, depth + 1);
            }
            if random.below(3) == 0 { undo } else { end }.into()
        }
        _ => return,
    };
    db.execute_batch(&sql).unwrap();
}

fn add_one(db: &Connection, random: &mut Random) {
    let text = format!("word{}", random.below(500));
    let len = [50, 500, 5000, 50_000][random.below(4)];
    let data = vec![u8::try_from(random.below(256)).unwrap(); random.below(len)];
    db.execute("INSERT INTO notes (text, data) VALUES (?1, ?2)", (&text, data)).unwrap();
    db.execute("INSERT INTO words (text) VALUES (?1)", [&text]).unwrap();
}

#[test]
fn any_changes_give_the_same_rows_as_without_checks() {
    for seed in 0..12 {
        let folder = Folder::new();
        let path = folder.path("a.db");
        let setup = format!(
            "PRAGMA page_size = {}; PRAGMA auto_vacuum = {}; PRAGMA journal_mode = {};
             PRAGMA synchronous = {}; PRAGMA cache_size = 20;",
            [512, 4096, 65536][seed % 3],
            [0, 1, 2][seed / 3 % 3],
            ["DELETE", "WAL", "PERSIST", "TRUNCATE", "MEMORY"][seed % 5],
            seed % 2,
        );
        let (checked, plain) = (open(&path), Connection::open(folder.path("plain.db")).unwrap());
        for db in [&checked, &plain] {
            db.execute_batch(&setup).unwrap();
            schema(db);
            let mut random = Random(seed as u64);
            for _ in 0..60 {
                change(db, &mut random, 0);
            }
        }
        assert!(is_checked(&checked).unwrap());
        assert_eq!(sound(&checked), sound(&plain), "seed {seed}");
        checked.close().unwrap();
        assert_stamped(&path);
    }
}

#[test]
#[ignore = "needs 4 GB of disk"]
fn a_database_larger_than_the_lock_page_is_stamped() {
    for mode in MODES {
        let folder = Folder::new();
        let (path, copy) = (folder.path("a.db"), folder.path("copy.db"));
        let db = open(&path);
        db.execute_batch(&format!(
            "PRAGMA page_size = 65536; PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF;
             BEGIN;
             CREATE TABLE t (data);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1100)
             INSERT INTO t SELECT randomblob(1000000) FROM n;
             COMMIT;"
        ))
        .unwrap();
        db.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        db.execute("DELETE FROM t WHERE rowid % 3 = 0", []).unwrap();
        db.execute_batch("VACUUM").unwrap();
        db.close().unwrap();
        for path in [&path, &copy] {
            assert_eq!(faults(&open(path)).unwrap(), [""; 0]);
            assert_stamped(path);
        }
    }
}
