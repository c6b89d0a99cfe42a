//! Tests damaged archives: everything that can be read is saved, and everything else is named.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, ArchiveError, Machine, Rebuild, Rebuilt, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::discover::{Discovery, SourceState};
use backstory_core::projects::ProjectHints;
use backstory_core::query::prompts::prompts;
use backstory_core::read::bytes::Bytes;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::support::discover_at;

const MIB: usize = 1 << 20;

struct Lab(TempDir);

impl Lab {
    /// Creates a home with `count` plans of two and a half pieces each, and its archive.
    fn new(count: usize) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        for n in 0..count {
            let path = lab.plan(n);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content(n)).unwrap();
        }
        lab.sync();
        lab
    }

    fn plan(&self, n: usize) -> PathBuf {
        self.0.path().join(format!("home/.gemini/tmp/app/plans/{n}.md"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("archive.db")
    }

    fn sync(&self) {
        let mut archive = Archive::open(&self.file()).unwrap();
        let found = discover_at(&self.0.path().join("home"));
        let candidates = ProjectHints::default();
        archive.sync(&found, &setup(&candidates), &|_| {}).unwrap();
        archive.capture(&[], None, &|_| {}).unwrap();
    }

    fn rebuild(&self) -> Rebuilt {
        let candidates = ProjectHints::default();
        Rebuild::begin(&self.file()).unwrap().run(&setup(&candidates), &|_| {}).unwrap()
    }

    /// Changes the archive as the program would, so that its pages stay consistent.
    fn change(&self, sql: &str) {
        backstory_pages::open(&self.file(), OpenFlags::default())
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    }

    /// Damages the path of one file. A connection without checksums leaves pages that do not match
    /// theirs.
    fn rename_behind_its_back(&self) {
        let db = Connection::open(self.file()).unwrap();
        db.execute("UPDATE sources SET path = replace(path, '0.md', '7.md')", []).unwrap();
    }

    fn captured(&self, path: &Path) -> Vec<u8> {
        let archive = Archive::open(&self.file()).unwrap();
        let mut row =
            archive.files().unwrap().into_iter().find(|row| row.source.path == path).unwrap();
        row.source.archived.as_mut().unwrap().state = SourceState::Replaced;
        let mut bytes = Vec::new();
        archive.open(&row.source).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn problems(&self) -> Vec<String> {
        Archive::open(&self.file()).unwrap().check(&|_| {}).unwrap().problems
    }
}

fn setup(candidates: &ProjectHints) -> SyncOptions<'_> {
    SyncOptions { machine: Machine::This("host"), ..SyncOptions::plain(candidates) }
}

/// Returns text that compresses badly.
fn content(n: usize) -> Vec<u8> {
    let mut state = n as u64 + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'a' + (state >> 60) as u8
    };
    (0..MIB * 5 / 2).map(|_| next()).collect()
}

fn zero_page(file: &Path, page: u64) {
    let mut file = File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
    file.write_all(&[0; 4096]).unwrap();
}

#[test]
fn a_damaged_page_of_one_table_costs_no_other() {
    let lab = Lab::new(3);
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    let root = |table: &str| -> u64 {
        let db = Connection::open(lab.file()).unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        db.query_row(sql, [table], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned()
    };
    for table in ["names", "notes", "sessions", "rollup", "sources_path"] {
        let page = root(table);
        zero_page(&lab.file(), page);
        // Derived tables are rebuilt; only damage to the rest is worth setting a file aside.
        let is_derived = !matches!(table, "names" | "notes");
        assert_eq!(lab.rebuild().aside.is_none(), is_derived, "{table}");
        for n in 0..3 {
            assert!(lab.captured(&lab.plan(n)) == content(n), "{table}");
        }
        assert_eq!(lab.problems(), Vec::<String>::new());
    }
    // The second damaged archive did not replace the first.
    for n in ["damaged", "damaged-2"] {
        assert!(lab.file().with_extension(n).exists(), "{n}");
    }
}

#[test]
fn a_row_that_cannot_be_right_is_listed_and_does_not_stop_a_rebuild() {
    let lab = Lab::new(2);
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    lab.change("UPDATE sources SET folder = '/elsewhere' WHERE path LIKE '%0.md'");
    let rebuilt = lab.rebuild();
    assert_eq!(rebuilt.imported.refused.len(), 1);
    assert!(rebuilt.aside.is_some(), "what was not imported is still somewhere");
    assert!(lab.captured(&lab.plan(1)) == content(1));
}

#[test]
fn files_whose_rows_are_on_damaged_pages_are_saved_and_named() {
    let lab = Lab::new(2);
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    lab.rename_behind_its_back();
    let rebuilt = lab.rebuild();
    assert_eq!(rebuilt.imported.doubtful.len(), 2);
    assert!(rebuilt.aside.is_some());
    assert!(lab.captured(&lab.plan(7)) == content(0));
    assert_eq!(lab.problems(), Vec::<String>::new());
}

#[test]
fn a_damaged_path_is_not_kept_where_the_file_is_there() {
    let lab = Lab::new(2);
    lab.rename_behind_its_back();
    assert_eq!(lab.rebuild().imported.doubtful, [lab.plan(1).display().to_string()]);
    lab.sync();
    let archive = Archive::open(&lab.file()).unwrap();
    let paths: Vec<_> = archive.files().unwrap().into_iter().map(|row| row.source.path).collect();
    assert_eq!(paths, [lab.plan(0), lab.plan(1)]);
}

#[test]
fn a_damaged_row_of_many_costs_only_itself() {
    let lab = Lab::new(8);
    let before: Vec<Vec<u8>> = (0..8).map(|n| lab.captured(&lab.plan(n))).collect();
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    let pages = fs::metadata(lab.file()).unwrap().len() / 4096;
    // Somewhere in the bytes of a captured piece.
    zero_page(&lab.file(), pages / 2);
    let rebuilt = lab.rebuild();
    assert_eq!(rebuilt.imported.lost.len(), 1, "{:?}", rebuilt.imported.lost);
    let whole = (0..8).filter(|n| lab.captured(&lab.plan(*n)) == before[*n]).count();
    assert_eq!(whole, 7);
    assert_eq!(lab.problems().len(), 1, "what was lost stays known");
}

#[test]
fn what_follows_a_lost_piece_is_kept_in_its_place() {
    let lab = Lab::new(1);
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    lab.change("UPDATE captures SET data = x'00' WHERE start = 1048576");
    let rebuilt = lab.rebuild();
    assert!(rebuilt.imported.lost[0].starts_with("1048576 of 2621440 bytes of "));
    let (captured, whole) = (lab.captured(&lab.plan(0)), content(0));
    assert!(captured[..MIB] == whole[..MIB] && captured[2 * MIB..] == whole[2 * MIB..]);
    assert!(captured[MIB..2 * MIB].iter().all(|byte| *byte == b'\n'));
}

#[test]
fn a_damaged_piece_is_healed_from_the_agents_file() {
    let lab = Lab::new(2);
    lab.change("UPDATE captures SET data = x'00' WHERE start = 0");
    assert_eq!(lab.problems().len(), 2);
    let rebuilt = lab.rebuild();
    assert_eq!(rebuilt.imported.lost, Vec::<String>::new());
    assert_eq!(lab.problems(), Vec::<String>::new());
    assert!(lab.captured(&lab.plan(1)) == content(1));
}

#[test]
fn a_damaged_piece_is_healed_from_an_older_version() {
    let lab = Lab::new(1);
    let mut changed = content(0);
    changed.truncate(2 * MIB);
    changed.extend(b"and another end");
    fs::write(lab.plan(0), &changed).unwrap();
    lab.sync();
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    lab.change("UPDATE captures SET data = x'00' WHERE start = 0 AND source = (SELECT max(source) FROM captures)");
    assert_eq!(lab.rebuild().imported.lost, Vec::<String>::new());
    assert_eq!(lab.problems(), Vec::<String>::new());
}

#[test]
fn damaged_pages_are_errors_and_never_answers() {
    let lab = Lab::new(1);
    // Rows of every kind, changed without the program.
    for sql in [
        "UPDATE sources SET size = size + 1",
        "UPDATE notes SET value = x'00' WHERE key = 'projects'",
        "UPDATE captures SET hash = zeroblob(32)",
    ] {
        let copy = fs::read(lab.file()).unwrap();
        Connection::open(lab.file()).unwrap().execute_batch(sql).unwrap();
        let problems =
            Archive::open(&lab.file()).map(|archive| archive.check(&|_| {}).unwrap().problems);
        assert!(problems.is_err() || !problems.unwrap().is_empty(), "{sql}");
        fs::write(lab.file(), copy).unwrap();
    }
    assert_eq!(lab.problems(), Vec::<String>::new());
}

#[test]
fn a_truncated_or_emptied_archive_is_not_taken_for_a_new_one() {
    for length in [0, 1000, 4096, 50_000] {
        let lab = Lab::new(1);
        File::options().write(true).open(lab.file()).unwrap().set_len(length).unwrap();
        let opened =
            Archive::open(&lab.file()).map(|archive| archive.check(&|_| {}).unwrap().problems);
        assert!(opened.is_err() || !opened.unwrap().is_empty(), "{length} bytes left");
        lab.rebuild();
        lab.sync();
        assert!(lab.captured(&lab.plan(0)) == content(0));
    }
}

#[test]
fn a_damaged_log_is_noticed() {
    let lab = Lab::new(0);
    // An archive that is not closed leaves its log.
    let archive = Archive::open(&lab.file()).unwrap();
    drop(archive);
    let writer = backstory_pages::open(&lab.file(), OpenFlags::default()).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    for n in 0..20 {
        writer.execute("INSERT INTO names VALUES (?1, 'a name', 0)", [n.to_string()]).unwrap();
    }
    let copy = lab.0.path().join("copy.db");
    let log = lab.0.path().join("copy.db-wal");
    let mut bytes = fs::read(lab.0.path().join("archive.db-wal")).unwrap();
    fs::copy(lab.file(), &copy).unwrap();
    fs::write(&log, &bytes).unwrap();
    assert!(Archive::open_to_read(&copy).is_ok());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    assert!(matches!(Archive::open(&copy), Err(ArchiveError::Corrupt(_))));
}

#[test]
fn a_stored_scan_that_cannot_be_decoded_is_made_again() {
    let lab = Lab::new(0);
    let chats = lab.0.path().join("home/.gemini/tmp/app/chats");
    fs::create_dir_all(&chats).unwrap();
    let header = r#"{"sessionId":"11111111-0000-4000-8000-000000000000","projectHash":"ab","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z"}"#;
    let reply = |id: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-03-01T10:00:00Z","type":"gemini","content":"x","model":"m","tokens":{{"input":1,"output":1,"cached":0,"thoughts":0,"tool":0,"total":2}}}}"#
        )
    };
    for n in 1..=2 {
        let name = format!("session-2026-03-01T10-0{n}-11111111.jsonl");
        fs::write(chats.join(name), format!("{header}\n{}\n", reply(&n.to_string()))).unwrap();
    }
    lab.sync();
    let calls = || Archive::open(&lab.file()).unwrap().sessions().unwrap()[0].calls;
    assert_eq!(calls(), 2);
    lab.change("UPDATE scans SET facts = x'0001' WHERE source = (SELECT min(source) FROM scans)");
    let grown = chats.join("session-2026-03-01T10-02-11111111.jsonl");
    let mut file = File::options().append(true).open(grown).unwrap();
    writeln!(file, "{}", reply("3")).unwrap();
    lab.sync();
    assert_eq!(calls(), 3);
}

#[test]
fn answers_count_what_they_cannot_read() {
    let lab = Lab::new(1);
    let history = lab.0.path().join("home/.gemini/tmp/app/shell_history");
    fs::write(&history, "make harbour").unwrap();
    lab.sync();
    fs::remove_dir_all(lab.0.path().join("home")).unwrap();
    lab.change("UPDATE captures SET data = x'00' WHERE length = 12");
    let archive = Archive::open(&lab.file()).unwrap();
    let all = Collection::new(&archive, Discovery::default()).unwrap();
    assert!(prompts(&archive, &all).unwrap().is_empty());
    assert_eq!(archive.unread(), 1);
}
