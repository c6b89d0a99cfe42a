//! Databases that are written as a whole: `VACUUM` and the backup API.

use std::fs;
use std::path::Path;
use std::time::Duration;

use backstory_pages::is_checked;
use rusqlite::backup::Backup;
use rusqlite::{Connection, Error, Result, ffi};

use crate::support::{
    Folder, MODES, Random, add, assert_stamped, create, digest, open, schema, sound,
};

fn copy(from: &Connection, to: &mut Connection) -> Result<()> {
    Backup::new(from, to)?.run_to_completion(50, Duration::ZERO, None)
}

/// Returns whether something failed because a format may not change.
fn is_refused(result: &Result<()>) -> bool {
    matches!(result, Err(Error::SqliteFailure(error, _))
        if error.extended_code == ffi::SQLITE_IOERR_WRITE)
}

/// Creates a database without checksums.
fn create_plain(path: &Path, mode: &str, rows: usize) -> u64 {
    let db = Connection::open(path).unwrap();
    db.pragma_update(None, "journal_mode", mode).unwrap();
    schema(&db);
    add(&db, &mut Random(2), rows).unwrap();
    sound(&db)
}

#[test]
fn vacuum_keeps_the_checks() {
    for mode in MODES {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, mode, 400);
        let db = open(&path);
        // So small a cache is written to the file before the first page is.
        db.pragma_update(None, "cache_size", 10).unwrap();
        db.execute("DELETE FROM notes WHERE id % 3 = 0", []).unwrap();
        let (before, size) = (sound(&db), fs::metadata(&path).unwrap().len());
        db.execute_batch("VACUUM").unwrap();
        assert_eq!(sound(&db), before);
        assert!(is_checked(&db).unwrap());
        db.close().unwrap();
        assert!(fs::metadata(&path).unwrap().len() < size);
        assert_stamped(&path);
    }
}

#[test]
fn vacuum_into_makes_a_copy_with_checks() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("a.db"), folder.path("copy.db"));
    create(&path, "WAL", 400);
    let db = open(&path);
    db.pragma_update(None, "cache_size", 10).unwrap();
    db.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    let copied = open(&copy);
    assert!(is_checked(&copied).unwrap());
    assert_eq!(sound(&copied), sound(&db));
    assert_stamped(&copy);
}

#[test]
fn a_backup_into_a_new_file_is_like_its_source() {
    for mode in MODES {
        let folder = Folder::new();
        create(&folder.path("checked.db"), mode, 400);
        create_plain(&folder.path("plain.db"), mode, 400);
        for (source, checked) in [("checked.db", true), ("plain.db", false)] {
            let from = open(&folder.path(source));
            // Some pages are only in the log.
            add(&from, &mut Random(3), 10).unwrap();
            let path = folder.path(&format!("copy of {source}"));
            let mut to = open(&path);
            to.pragma_update(None, "cache_size", 10).unwrap();
            copy(&from, &mut to).unwrap();
            assert_eq!(sound(&to), sound(&from));
            assert_eq!(is_checked(&to).unwrap(), checked);
            to.close().unwrap();
            assert_eq!(sound(&open(&path)), sound(&from));
            if checked {
                assert_stamped(&path);
            }
        }
    }
}

#[test]
fn a_backup_over_a_database_with_checks_has_checks() {
    for mode in MODES {
        let folder = Folder::new();
        let (from, to) = (folder.path("from.db"), folder.path("to.db"));
        create(&from, mode, 400);
        create(&to, mode, 100);
        let (from, mut copied) = (open(&from), open(&to));
        copied.pragma_update(None, "cache_size", 10).unwrap();
        copy(&from, &mut copied).unwrap();
        assert_eq!(sound(&copied), sound(&from));
        copied.close().unwrap();
        assert_stamped(&to);
    }
}

#[test]
fn a_backup_into_another_vfs_has_the_same_rows() {
    let folder = Folder::new();
    create(&folder.path("a.db"), "WAL", 400);
    let db = open(&folder.path("a.db"));
    for mut to in
        [Connection::open(folder.path("copy.db")).unwrap(), Connection::open_in_memory().unwrap()]
    {
        copy(&db, &mut to).unwrap();
        assert_eq!(sound(&to), sound(&db));
    }
}

#[test]
fn a_backup_over_a_database_of_the_other_kind_is_refused_and_changes_nothing() {
    for mode in MODES {
        for cache in [10, 5000] {
            let folder = Folder::new();
            create(&folder.path("checked.db"), mode, 300);
            create_plain(&folder.path("plain.db"), mode, 300);
            for (from, to) in [("checked.db", "plain.db"), ("plain.db", "checked.db")] {
                let (from, mut db) = (open(&folder.path(from)), open(&folder.path(to)));
                db.pragma_update(None, "cache_size", cache).unwrap();
                let before = sound(&db);
                let result = copy(&from, &mut db);
                assert!(is_refused(&result), "{result:?}");
                assert_eq!(sound(&db), before);
                add(&db, &mut Random(5), 10).unwrap();
                let before = sound(&db);
                db.close().unwrap();
                assert_eq!(sound(&open(&folder.path(to))), before);
            }
            assert_stamped(&folder.path("checked.db"));
        }
    }
}

#[test]
fn the_page_size_of_a_database_with_checks_cannot_change() {
    for (size, cache) in [(1024, 10), (1024, 5000), (8192, 10), (8192, 5000)] {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, "DELETE", 200);
        let db = open(&path);
        let before = sound(&db);
        db.pragma_update(None, "cache_size", cache).unwrap();
        db.pragma_update(None, "page_size", size).unwrap();
        let result = db.execute_batch("VACUUM");
        assert!(is_refused(&result), "{result:?}");
        assert_eq!(digest(&db).unwrap(), before);
        db.close().unwrap();
        assert_eq!(sound(&open(&path)), before);
        assert_stamped(&path);
    }
}

#[test]
fn a_first_page_of_another_size_is_refused() {
    let folder = Folder::new();
    let (path, empty) = (folder.path("a.db"), folder.path("empty.db"));
    create(&path, "DELETE", 1);
    let page = fs::read(&path).unwrap();
    let db = open(&empty);
    let mut file = std::ptr::null_mut::<ffi::sqlite3_file>();
    // SAFETY: the connection is open while its file is used, the control takes a pointer to a
    // pointer, and the page is longer than what is written of it.
    let codes = unsafe {
        let argument = (&raw mut file).cast();
        let control = ffi::SQLITE_FCNTL_FILE_POINTER;
        ffi::sqlite3_file_control(db.handle(), std::ptr::null(), control, argument);
        let write = (*(*file).pMethods).xWrite.unwrap();
        [512, 4096].map(|amount| write(file, page.as_ptr().cast(), amount, 0))
    };
    assert_eq!(codes, [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_OK]);
    assert_eq!(fs::metadata(&empty).unwrap().len(), 4096);
}
