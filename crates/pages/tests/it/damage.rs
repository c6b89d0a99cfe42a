//! Damage to a database file is noticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_pages::is_checked;
use rusqlite::{OpenFlags, Result};

use crate::support::{
    Folder, Random, assert_stamped, create, digest, faults, is_mismatch, open, page_size, sound,
};

/// A closed database, its content, and its digest.
struct Sample {
    folder: Folder,
    path: PathBuf,
    file: Vec<u8>,
    digest: u64,
}

impl Sample {
    fn new(rows: usize) -> Self {
        let folder = Folder::new();
        let path = folder.path("a.db");
        create(&path, "WAL", rows);
        let db = open(&path);
        db.execute("DELETE FROM notes WHERE id % 5 = 0 OR length(data) > 15000", []).unwrap();
        let digest = sound(&db);
        db.close().unwrap();
        let file = fs::read(&path).unwrap();
        Self { folder, path, file, digest }
    }

    fn pages(&self) -> usize {
        self.file.len() / page_size(&self.file)
    }

    fn page(&self, number: usize) -> std::ops::Range<usize> {
        let size = page_size(&self.file);
        (number - 1) * size..number * size
    }

    /// Writes a damaged version of the file.
    fn damage(&self, damage: impl FnOnce(&mut Vec<u8>)) {
        let mut file = self.file.clone();
        damage(&mut file);
        assert_ne!(file, self.file);
        fs::write(&self.path, file).unwrap();
    }

    /// Asserts that nobody who reads everything takes the file for sound, and that no wrong row is
    /// returned.
    fn assert_noticed(&self, what: &str) {
        match read_all(&self.path) {
            Ok((faults, digest)) => {
                assert!(!faults.is_empty(), "{what}: not noticed");
                assert_eq!(digest, self.digest, "{what}: wrong rows");
            }
            Err(error) => assert_ne!(error.to_string(), "", "{what}"),
        }
    }

    /// Returns the pages that are on the list of free ones and do not list others. Nothing that is
    /// stored is on them, and neither queries nor the integrity check read them.
    fn free(&self) -> BTreeSet<usize> {
        let number =
            |at: usize| u32::from_be_bytes(self.file[at..at + 4].try_into().unwrap()) as usize;
        let (mut free, mut trunk) = (BTreeSet::new(), number(32));
        while trunk != 0 {
            let start = self.page(trunk).start;
            free.extend((0..number(start + 4)).map(|leaf| number(start + 8 + leaf * 4)));
            trunk = number(start);
        }
        free
    }
}

/// Opens a database, checks it and reads all of it.
fn read_all(path: &Path) -> Result<(Vec<String>, u64)> {
    let db = backstory_pages::open(path, OpenFlags::default())?;
    let faults = faults(&db);
    Ok((faults?, digest(&db)?))
}

#[test]
fn every_flipped_bit_in_a_used_page_is_noticed() {
    let sample = Sample::new(400);
    let size = page_size(&sample.file);
    let free = sample.free();
    assert!(!free.is_empty(), "the sample must have free pages");
    let mut random = Random(7);
    let header = (0..100).map(|byte| (byte, random.below(8))).collect::<Vec<_>>();
    let anywhere = (0..400).map(|_| (random.below(sample.file.len()), random.below(8)));
    let anywhere = anywhere.collect::<Vec<_>>();
    let checksums = (0..40).map(|_| {
        let number = random.below(sample.pages()) + 1;
        (sample.page(number).end - 1 - random.below(8), random.below(8))
    });
    let (mut noticed, mut allowed) = (0, 0);
    for (byte, bit) in header.into_iter().chain(anywhere).chain(checksums) {
        // Free pages are the only exception.
        if free.contains(&(byte / size + 1)) {
            allowed += 1;
            continue;
        }
        sample.damage(|file| file[byte] ^= 1 << bit);
        sample.assert_noticed(&format!("bit {bit} of byte {byte}"));
        noticed += 1;
    }
    assert!(noticed >= 400, "{noticed} noticed, {allowed} in free pages");
}

#[test]
fn a_flipped_bit_in_a_free_page_is_noticed_by_a_copy() {
    let sample = Sample::new(400);
    let free = *sample.free().last().unwrap();
    sample.damage(|file| file[sample.page(free).start + 1000] ^= 1);
    assert_eq!(read_all(&sample.path).unwrap(), (vec![], sample.digest));
    let (db, mut copy) = (open(&sample.path), open(&sample.folder.path("copy.db")));
    let backup = rusqlite::backup::Backup::new(&db, &mut copy).unwrap();
    assert!(is_mismatch(&backup.run_to_completion(1000, std::time::Duration::ZERO, None)));
}

#[test]
fn every_flipped_bit_in_the_count_of_reserved_bytes_is_a_mismatch() {
    let sample = Sample::new(20);
    for bit in 0..8 {
        sample.damage(|file| file[20] ^= 1 << bit);
        assert!(is_mismatch(&read_all(&sample.path)), "bit {bit}");
    }
}

#[test]
fn a_damaged_header_is_replaced_by_the_one_in_the_log() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("a.db"), folder.path("copy.db"));
    create(&path, "WAL", 100);
    let db = open(&path);
    db.execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE new (a)").unwrap();
    let digest = sound(&db);
    let mut file = fs::read(&path).unwrap();
    file[20] = 0;
    fs::write(&copy, file).unwrap();
    fs::copy(folder.path("a.db-wal"), folder.path("copy.db-wal")).unwrap();

    let copied = open(&copy);
    assert_eq!(sound(&copied), digest);
    copied.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(is_checked(&copied).unwrap());
    assert_eq!(sound(&copied), digest);
    copied.close().unwrap();
    assert_stamped(&copy);
}

#[test]
fn a_zeroed_page_is_noticed() {
    let sample = Sample::new(100);
    let free = sample.free();
    for number in (1..=sample.pages()).filter(|number| !free.contains(number)) {
        sample.damage(|file| file[sample.page(number)].fill(0));
        sample.assert_noticed(&format!("page {number}"));
    }
}

#[test]
fn two_swapped_pages_are_noticed() {
    let sample = Sample::new(200);
    let free = sample.free();
    let used: Vec<_> = (1..=sample.pages()).filter(|number| !free.contains(number)).collect();
    let mut random = Random(3);
    for _ in 0..60 {
        let (a, b) = (used[random.below(used.len())], used[random.below(used.len())]);
        if a == b {
            continue;
        }
        sample.damage(|file| {
            let old = file[sample.page(a)].to_vec();
            file.copy_within(sample.page(b), sample.page(a).start);
            file[sample.page(b)].copy_from_slice(&old);
        });
        sample.assert_noticed(&format!("pages {a} and {b}"));
    }
}

#[test]
fn an_older_version_of_another_page_is_noticed() {
    let mut sample = Sample::new(200);
    let old = sample.file.clone();
    let db = open(&sample.path);
    db.execute_batch("UPDATE notes SET data = randomblob(length(data)), text = text || ' changed'")
        .unwrap();
    sample.digest = sound(&db);
    db.close().unwrap();
    sample.file = fs::read(&sample.path).unwrap();
    let free = sample.free();
    let pages = old.len() / page_size(&old);
    let mut random = Random(4);
    for _ in 0..60 {
        let (from, to) = (random.below(pages) + 1, random.below(sample.pages()) + 1);
        if from == to || free.contains(&to) {
            continue;
        }
        sample.damage(|file| file[sample.page(to)].copy_from_slice(&old[sample.page(from)]));
        sample.assert_noticed(&format!("old page {from} in the place of page {to}"));
    }
}

#[test]
fn a_file_that_ends_early_is_noticed() {
    let sample = Sample::new(100);
    for cut in [1, 8, 100, 4000, 4096, 5000, sample.file.len() - 5000, sample.file.len() - 50] {
        sample.damage(|file| file.truncate(file.len() - cut));
        sample.assert_noticed(&format!("{cut} bytes cut off"));
    }
}

#[test]
fn a_damaged_page_is_named_and_the_others_can_be_read() {
    let sample = Sample::new(400);
    let db = open(&sample.path);
    let page = db
        .query_row(
            "SELECT pageno FROM dbstat WHERE name = 'notes' AND pagetype = 'overflow' LIMIT 1",
            [],
            |row| row.get::<_, u32>(0),
        )
        .unwrap();
    let page = page as usize;
    db.close().unwrap();
    sample.damage(|file| file[sample.page(page).start + 2000] ^= 4);

    let db = open(&sample.path);
    assert!(is_mismatch(&digest(&db)));
    let faults = faults(&db).unwrap();
    assert!(faults.iter().any(|line| line.contains(&format!("page {page}"))), "{faults:?}");
    db.query_row("SELECT count(*), sum(length(text)) FROM notes", [], |_| Ok(())).unwrap();
    db.execute("INSERT INTO words (text) VALUES ('still writable')", []).unwrap();
}

#[test]
fn damage_is_noticed_in_any_page_size() {
    for size in [512_u32, 1024, 8192, 65536] {
        let folder = Folder::new();
        let path = folder.path("a.db");
        let db = open(&path);
        db.pragma_update(None, "page_size", size).unwrap();
        db.execute_batch("CREATE TABLE t AS SELECT randomblob(500000) AS data").unwrap();
        db.close().unwrap();
        let mut file = fs::read(&path).unwrap();
        assert_eq!(page_size(&file), size as usize);
        let middle = file.len() / 2;
        file[middle] ^= 1;
        fs::write(&path, file).unwrap();
        let read = open(&path).query_row("SELECT data FROM t", [], |row| row.get::<_, Vec<u8>>(0));
        assert!(is_mismatch(&read), "{size}");
    }
}
