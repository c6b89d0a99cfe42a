//! Several connections at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::{Folder, MODES, Random, add, assert_stamped, create, digest, faults, open};

#[test]
fn connections_write_and_read_at_once() {
    for mode in MODES {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, mode, 50);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (1..3)
                .map(|seed| {
                    let path = &path;
                    scope.spawn(move || {
                        let (db, mut random) = (open(path), Random(seed));
                        db.pragma_update(None, "wal_autocheckpoint", 20).unwrap();
                        db.pragma_update(None, "synchronous", "OFF").unwrap();
                        for round in 0..40 {
                            add(&db, &mut random, 10).unwrap();
                            if round % 10 == 5 {
                                db.execute("DELETE FROM notes WHERE id % 7 = 0", []).unwrap();
                            }
                        }
                    })
                })
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    let db = open(&path);
                    while !done.load(Ordering::Relaxed) {
                        db.execute_batch("BEGIN").unwrap();
                        assert_eq!(digest(&db).unwrap(), digest(&db).unwrap());
                        assert_eq!(faults(&db).unwrap(), [""; 0]);
                        db.execute_batch("COMMIT").unwrap();
                        thread::yield_now();
                    }
                });
            }
            let results: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            done.store(true, Ordering::Relaxed);
            assert!(results.iter().all(Result::is_ok));
        });
        let db = open(&path);
        assert_eq!(faults(&db).unwrap(), [""; 0]);
        let words: u32 = db.query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
        assert_eq!(words, 50 + 2 * 40 * 10);
        db.close().unwrap();
        assert_stamped(&path);
    }
}

#[test]
fn a_reader_keeps_its_view_while_the_log_is_copied() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    create(&path, "WAL", 100);
    let (reader, writer) = (open(&path), open(&path));
    let mut random = Random(1);
    for _ in 0..10 {
        add(&writer, &mut random, 20).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        let view = digest(&reader).unwrap();
        add(&writer, &mut random, 20).unwrap();
        writer.execute("UPDATE notes SET data = randomblob(700) WHERE id % 4 = 0", []).unwrap();
        writer.pragma_update(None, "wal_checkpoint", "PASSIVE").unwrap();
        assert_eq!(digest(&reader).unwrap(), view);
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(digest(&reader).unwrap(), digest(&writer).unwrap());
    }
    drop((reader, writer));
    assert_stamped(&path);
}
