//! Tests parcels: what one machine hands to another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backstory_core::archive::{
    Archive, ArchiveError, Foreign, Machine, Rebuild, Shareable, ShareableFile, SyncOptions,
};
use backstory_core::discover::Discovery;
use backstory_core::projects::ProjectHints;
use jiff::Timestamp;
use proptest::prelude::*;
use rusqlite::OpenFlags;
use tempfile::TempDir;

use crate::support::{Home, discover_at, seen, testdata, trees_below};

/// Returns the archive of a machine that has all recorded homes of a version of Gemini CLI.
fn archive(folder: &TempDir, name: &str, version: &str) -> Archive {
    let mut archive = Archive::open(&folder.path().join(name).join("archive.db")).unwrap();
    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This(name), ..SyncOptions::plain(&candidates) };
    let mut found = Discovery::default();
    // Imported paths must be plain ones.
    for home in trees_below(&testdata("gemini").join(version).canonicalize().unwrap()) {
        found.sources.extend(discover_at(&home).sources);
    }
    archive.sync(&found, &setup, &|_| {}).unwrap();
    archive.capture(&[], None, &|_| {}).unwrap();
    archive
}

fn merge(archive: &mut Archive, file: &Path) {
    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This("here"), ..SyncOptions::plain(&candidates) };
    let other = Foreign::open(file).unwrap();
    let merged = archive.merge(&other, &setup, Timestamp::UNIX_EPOCH, &|_| {}).unwrap();
    assert_eq!((merged.lost, merged.refused), (Vec::new(), Vec::new()));
}

/// Writes the files that `takes` chooses by their place into a parcel.
fn parcel(archive: &Archive, to: PathBuf, takes: impl Fn(usize) -> bool) -> PathBuf {
    let files = archive.shareable().unwrap().files;
    let chosen = files.iter().enumerate().filter(|(n, _)| takes(*n)).map(|(_, file)| file.stamp);
    let chosen: BTreeSet<i64> = chosen.collect();
    assert_eq!(archive.write_parcel(&to, &chosen).unwrap(), chosen);
    to
}

fn told(archive: Archive) -> serde_json::Value {
    seen(&Home::new(archive, Discovery::default()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn parcels_in_any_order_and_number_give_what_the_archive_gives(
        places in proptest::collection::vec(0..3_usize, 64),
        order in proptest::collection::vec(0..3_usize, 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let laptop = archive(&folder, "laptop", "0.61.0");
        let copy = folder.path().join("copy.db");
        laptop.backup(&copy, Timestamp::UNIX_EPOCH).unwrap();
        let parcels: Vec<PathBuf> = (0..3)
            .map(|n| {
                let to = folder.path().join(format!("{n}.db"));
                parcel(&laptop, to, |place| places[place % places.len()] == n)
            })
            .collect();
        let mut whole = Archive::open(&folder.path().join("whole.db")).unwrap();
        merge(&mut whole, &copy);
        let mut parts = Archive::open(&folder.path().join("parts.db")).unwrap();
        for n in order.iter().copied().chain([2, 0, 1]) {
            merge(&mut parts, &parcels[n]);
        }
        let (whole, parts) = (told(whole), told(parts));
        prop_assert!(!whole.as_array().unwrap().is_empty());
        prop_assert_eq!(whole, parts);
    }
}

#[test]
fn what_was_received_is_not_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let laptop = archive(&folder, "laptop", "0.61.0");
    let mut desktop = archive(&folder, "desktop", "0.34.0");
    let before = desktop.shareable().unwrap();
    assert!(!before.files.is_empty());
    merge(&mut desktop, &parcel(&laptop, folder.path().join("p.db"), |_| true));
    assert_eq!(desktop.shareable().unwrap().files, before.files);
}

#[test]
fn annotations_travel_and_show_that_they_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut laptop = archive(&folder, "laptop", "0.61.0");
    let mut desktop = archive(&folder, "desktop", "0.61.0");
    let id = desktop.sessions().unwrap().first().unwrap().id.clone();
    let first = laptop.shareable().unwrap();
    laptop.set_name(&id, Some("mine"), Timestamp::UNIX_EPOCH).unwrap();
    laptop.add_tag(&id, "good", Timestamp::UNIX_EPOCH).unwrap();
    let named = laptop.shareable().unwrap();
    assert_ne!(named.annotations, first.annotations);
    assert_eq!(Shareable { annotations: first.annotations, ..named }, first);
    merge(&mut desktop, &parcel(&laptop, folder.path().join("p.db"), |_| false));
    let named = desktop.sessions().unwrap().into_iter().find(|session| session.id == id).unwrap();
    assert_eq!((named.name.as_deref(), &*named.tags), (Some("mine"), &["good".to_owned()][..]));

    let candidates = ProjectHints::default();
    let options = SyncOptions::plain(&candidates);
    laptop.forget(std::slice::from_ref(&id), &options, Timestamp::UNIX_EPOCH).unwrap();
    let forgotten = laptop.shareable().unwrap();
    assert_ne!(forgotten.forgotten, first.forgotten);
    assert!(forgotten.files.len() < first.files.len());
    merge(&mut desktop, &parcel(&laptop, folder.path().join("q.db"), |_| false));
    assert!(desktop.sessions().unwrap().iter().all(|session| session.id != id));
}

#[test]
fn a_parcel_with_other_tables_or_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let laptop = archive(&folder, "laptop", "0.61.0");
    for (n, change) in ["CREATE VIEW v AS SELECT 1", "PRAGMA user_version = 2"].iter().enumerate() {
        let file = parcel(&laptop, folder.path().join(format!("{n}.db")), |_| true);
        let db = backstory_pages::open(&file, OpenFlags::default()).unwrap();
        db.execute_batch(change).unwrap();
        db.close().unwrap();
        let refused = Foreign::open(&file).err().unwrap();
        let is_newer = matches!(refused, ArchiveError::Newer(_));
        assert_eq!(is_newer, n == 1, "{refused}");
    }
}

#[test]
fn what_was_exchanged_is_remembered_with_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut laptop = archive(&folder, "laptop", "0.61.0");
    assert_eq!(laptop.exchanged().unwrap(), None);
    laptop.set_exchanged(b"state").unwrap();
    assert_eq!(laptop.exchanged().unwrap().as_deref(), Some(&b"state"[..]));
    // After a rebuild, the same files are recognized.
    let before = laptop.shareable().unwrap().files;
    let stamps = |files: &[ShareableFile]| -> BTreeSet<i64> {
        files.iter().map(|file| file.stamp).collect()
    };
    let path = laptop.path().unwrap().to_owned();
    drop(laptop);
    let candidates = ProjectHints::default();
    let setup = SyncOptions { machine: Machine::This("laptop"), ..SyncOptions::plain(&candidates) };
    let rebuilt = Rebuild::begin(&path).unwrap().run(&setup, &|_| {}).unwrap();
    assert_eq!(rebuilt.aside, None);
    let laptop = Archive::open(&path).unwrap();
    assert_eq!(stamps(&laptop.shareable().unwrap().files), stamps(&before));
    assert_eq!(laptop.exchanged().unwrap().as_deref(), Some(&b"state"[..]));
}
