//! Tests that an archive of an earlier version is rebuilt without loss, from a file that such a
//! version wrote. The files it was made from no longer exist.

use std::fs;

use backstory_core::archive::{Archive, ArchiveError, Rebuild, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::model::State;
use backstory_core::pricing::Table;
use backstory_core::projects::ProjectHints;
use backstory_core::query::Reports;
use backstory_core::query::commands::commands;
use backstory_core::query::prompts::prompts;
use backstory_core::query::usage::{Group, Question};
use backstory_core::time::Period;
use jiff::tz::TimeZone;

use crate::support::testdata;

const TIDES: &str = "00000001-0000-4000-8000-000000000001";
const PAINT: &str = "00000002-0000-4000-8000-000000000002";
const FORGOTTEN: &str = "00000003-0000-4000-8000-000000000003";
const GULLS: &str = "00000004-0000-4000-8000-000000000004";
const LOST: &str = "0000000f-0000-4000-8000-00000000000f";

#[test]
fn an_archive_of_an_earlier_version_is_rebuilt_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.db");
    let packed = fs::read(testdata("archive/version-6.db.zst")).unwrap();
    fs::write(&path, zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Outdated(_))));

    let candidates = ProjectHints::default();
    let rebuild = Rebuild::begin(&path).unwrap();
    assert!(rebuild.is_needed());
    let rebuilt = rebuild.run(&SyncOptions::plain(&candidates), &|_| {}).unwrap();
    drop(rebuild);
    assert_eq!(rebuilt.imported.lost, Vec::<String>::new());
    assert_eq!(rebuilt.imported.refused, Vec::<String>::new());
    assert_eq!(rebuilt.aside, None);

    let mut archive = Archive::open(&path).unwrap();
    archive.index(&|| {}).unwrap();
    assert_eq!(archive.check(&|_| {}).unwrap().problems, Vec::<String>::new());
    let all = Collection::new(&archive, Discovery::default()).unwrap();
    let ids: Vec<&str> = all.sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, [TIDES, PAINT, GULLS, LOST]);
    assert_eq!(all.get(TIDES).unwrap().name.as_deref(), Some("tides"));
    assert_eq!(all.get(PAINT).unwrap().tags, ["paint"]);
    assert_eq!(all.get(LOST).unwrap().state, State::LogOnly);
    assert!(archive.forgotten().unwrap().contains(FORGOTTEN));

    let prices = Table::embedded();
    let reports = Reports::new(&archive, &TimeZone::UTC, &prices);
    let usage = reports.usage(&Question::new(Group::Session)).unwrap();
    let tokens: Vec<(&str, u64)> =
        usage.rows.iter().map(|row| (row.key.as_str(), row.sum.usage.total())).collect();
    assert_eq!(tokens, [(GULLS, 4318), (PAINT, 2045), (TIDES, 1025)]);
    let typed: Vec<String> =
        prompts(&archive, &all).unwrap().into_iter().map(|prompt| prompt.text).collect();
    let want = [
        "Fix the tide table",
        "Paint the lighthouse",
        "What remains of a lost session",
        "Count the gulls",
    ];
    assert_eq!(typed, want);
    let ids = [TIDES.into(), PAINT.into()];
    let rows = commands(&archive, &ids, &Period::default(), true, usize::MAX).unwrap();
    let runs: Vec<&str> = rows.iter().map(|row| row.program.as_str()).collect();
    assert_eq!(runs, ["cargo test", "git status"]);
    let facts = archive.assembled(PAINT).unwrap().unwrap();
    let messages = archive.reader().transcript(&facts, View::Full, &|_| None).unwrap();
    assert_eq!(messages[1].text, "It is white now.");
}
