//! Databases without checksums work as they do without this crate.

use std::fs;
use std::path::Path;

use backstory_pages::is_checked;
use rusqlite::{Connection, ffi};

use crate::support::{Folder, MODES, Random, add, open, schema, sound};

/// Creates a database with a number of reserved bytes per page.
fn create_with_reserve(path: &Path, mut reserved: i32, mode: &str) {
    let db = Connection::open(path).unwrap();
    // SAFETY: the connection is open, and this control takes a pointer to an integer.
    let code = unsafe {
        let argument = (&raw mut reserved).cast();
        ffi::sqlite3_file_control(
            db.handle(),
            std::ptr::null(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            argument,
        )
    };
    assert_eq!(code, ffi::SQLITE_OK);
    db.pragma_update(None, "journal_mode", mode).unwrap();
    schema(&db);
    add(&db, &mut Random(1), 100).unwrap();
}

/// Changes a database in every way that concerns pages.
fn work(db: Connection) -> u64 {
    add(&db, &mut Random(2), 200).unwrap();
    db.execute("DELETE FROM notes WHERE id % 3 = 0", []).unwrap();
    db.execute_batch("VACUUM").unwrap();
    add(&db, &mut Random(3), 50).unwrap();
    let digest = sound(&db);
    db.close().unwrap();
    digest
}

#[test]
fn a_database_without_checks_is_written_the_same_to_the_byte() {
    for mode in MODES {
        for reserved in [0, 4, 12, 32] {
            let folder = Folder::new();
            let (ours, theirs) = (folder.path("ours.db"), folder.path("theirs.db"));
            create_with_reserve(&ours, reserved, mode);
            fs::copy(&ours, &theirs).unwrap();
            let db = open(&ours);
            assert!(!is_checked(&db).unwrap());
            assert_eq!(work(db), work(Connection::open(&theirs).unwrap()));
            assert_eq!(fs::read(&ours).unwrap(), fs::read(&theirs).unwrap());
            assert!(!is_checked(&open(&ours)).unwrap());
        }
    }
}

#[test]
fn the_page_size_of_a_database_without_checks_can_change() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    create_with_reserve(&path, 0, "DELETE");
    let db = open(&path);
    let before = sound(&db);
    for size in [512, 8192, 4096] {
        db.pragma_update(None, "page_size", size).unwrap();
        db.execute_batch("VACUUM").unwrap();
        assert_eq!(sound(&db), before);
    }
}

#[test]
fn an_attached_database_is_checked_if_it_has_checksums() {
    let folder = Folder::new();
    crate::support::create(&folder.path("a.db"), "WAL", 50);
    let mut file = fs::read(folder.path("a.db")).unwrap();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    fs::write(folder.path("damaged.db"), file).unwrap();
    let db = open(&folder.path("a.db"));
    for name in ["damaged.db", "new.db"] {
        let path = folder.path(name);
        db.execute("ATTACH ?1 AS other", [path.to_str().unwrap()]).unwrap();
        db.execute_batch("CREATE TABLE IF NOT EXISTS other.notes AS SELECT * FROM main.notes")
            .unwrap();
        let check: String =
            db.query_row("PRAGMA other.integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check == "ok", name == "new.db", "{check}");
        db.execute_batch("DETACH other").unwrap();
    }
    assert!(!is_checked(&open(&folder.path("new.db"))).unwrap());
}

#[test]
fn a_file_that_is_not_a_database_is_not_taken_for_one() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    fs::write(&path, Random(1).bytes(10_000)).unwrap();
    let db = open(&path);
    assert!(!is_checked(&db).unwrap());
    let error = db.execute_batch("CREATE TABLE t (a)").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::NotADatabase));
}
