//! Tests that counting alone, which skips most of a file, gives the sums of a complete sync.

use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::pricing::Table;
use backstory_core::projects::ProjectHints;
use backstory_core::query::Reports;
use backstory_core::query::usage::{Group, Question};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{discover_at, testdata};
use crate::usage::question;

/// Asserts that counting alone gives the same sums as a complete sync.
pub(crate) fn a_count_is_a_sync(folder: &Path) {
    let found = discover_at(folder);
    let candidates = ProjectHints::default();
    let setup = SyncOptions::plain(&candidates);
    let synced = Archive::of(&found).unwrap();
    let mut counted = Archive::in_memory().unwrap();
    let faults = counted.count_only(&found, &setup, &|_| {}).unwrap();
    assert_eq!(faults, synced.faults().unwrap(), "{}", folder.display());
    let prices = Table::embedded();
    for group in [Group::Hourly, Group::Model, Group::Kind, Group::Agent, Group::Machine] {
        let answer = |archive: &Archive, checkpoints: bool| {
            let question = Question { checkpoints, ..question(group) };
            let reports = Reports::new(archive, &TimeZone::UTC, &prices);
            format!("{:#?}", reports.usage(&question).unwrap())
        };
        for checkpoints in [false, true] {
            let (want, got) = (answer(&synced, checkpoints), answer(&counted, checkpoints));
            assert_eq!(got, want, "{} {group:?}", folder.display());
        }
    }
}

/// Returns the homes of the test data of an agent.
fn homes(agent: &str) -> Vec<PathBuf> {
    let below = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    let mut homes: Vec<PathBuf> =
        below(testdata(agent)).filter(|path| path.is_dir()).flat_map(below).collect();
    homes.retain(|path| path.is_dir());
    homes.sort();
    homes
}

/// Returns the logs below a folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(logs(&path));
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { drop(std::fs::copy(&path, &target)) }
    }
}

/// Keys that decide how a line is counted.
const KEYS: [&str; 12] = [
    "type",
    "usage",
    "message",
    "payload",
    "info",
    "uuid",
    "sessionId",
    "timestamp",
    "id",
    "content",
    "total_token_usage",
    "input_tokens",
];

/// Fields that contradict earlier ones of a line.
const MORE: [&str; 8] = [
    r#""type":"user""#,
    r#""type":"event_msg""#,
    r#""payload":{"type":"token_count","info":null}"#,
    r#""message":{"id":"m","usage":{"input_tokens":5},"model":"x","content":"Warmup"}"#,
    r#""message":null"#,
    r#""timestamp":"2026-01-01T00:00:00.000\u005a""#,
    r#""isSidechain":true,"agentId":"a1""#,
    r#""isMeta":true,"message":{"content":"the stream was cut off mid-stream"}"#,
];

/// Changes a line.
fn damage(lines: &mut [Vec<u8>], at: usize, kind: usize, place: Index) {
    let line = lines[at].clone();
    let text = String::from_utf8_lossy(&line).into_owned();
    let key = KEYS[place.index(KEYS.len())];
    let quoted = format!("\"{key}\"");
    let escaped = format!("\"\\u{:04x}{}\"", key.as_bytes()[0], &key[1..]);
    let more = MORE[place.index(MORE.len())];
    lines[at] = match kind {
        0 => line[..place.index(line.len().max(1))].to_vec(),
        1 => text.replace(&quoted, &escaped).into_bytes(),
        2 => text.replacen(&quoted, "\"x\"", 1).into_bytes(),
        3 => text.replacen('{', &format!("{{{more},"), 1).into_bytes(),
        4 => format!("{},{more}}}", text.trim_end().trim_end_matches('}')).into_bytes(),
        5 => {
            let mut line = line;
            if !line.is_empty() {
                let at = place.index(line.len());
                line[at] = [0xFF, 0x01, b'"', b'\\'][at % 4];
            }
            line
        }
        6 => [&line[..], &line[..]].concat(),
        _ => [b" \0", &line[..], b"\r"].concat(),
    };
}

#[test]
fn counting_alone_comes_to_the_same_for_every_agent() {
    for agent in ["claude", "codex"] {
        let homes = homes(agent);
        assert!(homes.len() > 10, "only {} homes of {agent}", homes.len());
        for home in homes {
            a_count_is_a_sync(&home);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counting_alone_comes_to_the_same_for_damaged_files(
        agent in 0..2_usize,
        which: Index,
        changes in prop::collection::vec((any::<Index>(), any::<Index>(), 0..8_usize, any::<Index>()), 1..8),
    ) {
        let homes = homes(["claude", "codex"][agent]);
        let folder = tempfile::tempdir().unwrap();
        copy(&homes[which.index(homes.len())], folder.path());
        let logs = logs(folder.path());
        for (file, line, kind, place) in changes.iter().filter(|_| !logs.is_empty()) {
            let log = &logs[file.index(logs.len())];
            let bytes = std::fs::read(log).unwrap();
            let mut lines: Vec<Vec<u8>> =
                bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            if lines.is_empty() {
                continue;
            }
            let at = line.index(lines.len());
            damage(&mut lines, at, *kind, *place);
            std::fs::write(log, lines.concat()).unwrap();
        }
        a_count_is_a_sync(folder.path());
    }
}
