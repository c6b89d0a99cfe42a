//! Tests the objects that an export writes, and when it writes them.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use backstory_core::ProjectHints;
use backstory_core::archive::SyncOptions;
use backstory_core::model::Bucket;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::{Station, files_below, testdata};

fn of<'a>(rows: &'a [Value], table: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["table"] == table).collect()
}

#[test]
fn every_call_and_tool_call_is_exported_once() {
    for agent in ["claude", "codex", "gemini"] {
        let station = Station::new(&testdata(agent), "");
        station.export();
        let rows = station.exported();
        let sessions = station.archive().sessions().unwrap();
        assert_eq!(of(&rows, "sessions").len(), sessions.len(), "{agent}");
        for bucket in Bucket::ALL {
            let exported: u64 =
                of(&rows, "calls").iter().map(|row| row[bucket.name()].as_u64().unwrap()).sum();
            let counted: u64 = sessions.iter().map(|session| session.usage.get(bucket)).sum();
            assert_eq!(exported, counted, "{agent} {}", bucket.name());
        }
        let tools: usize = sessions.iter().map(|session| session.tool_calls).sum();
        assert_eq!(of(&rows, "tool_calls").len(), tools, "{agent}");
        let keys: BTreeSet<String> = of(&rows, "calls")
            .iter()
            .map(|row| format!("{} {} {}", row["agent"], row["call"], row["position"]))
            .collect();
        assert_eq!(keys.len(), of(&rows, "calls").len(), "{agent}");
    }
}

#[test]
fn the_dry_run_prints_what_the_export_writes() {
    let station = Station::new(&testdata("codex"), "text = true");
    let text = |rows: Vec<Value>| {
        let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
        rows.sort();
        rows
    };
    let printed = text(station.dry_run("lake"));
    assert!(!station.at("lake/v1").exists());
    assert_eq!(station.output(&["receipts"]), "");
    let receipt = station.export();
    let written = text(station.exported());
    assert!(written.iter().any(|row| row.contains(r#""table":"texts""#)));
    assert_eq!(printed, written);
    let counted: u64 =
        receipt["rows"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, written.len() as u64);
    assert_eq!(station.output(&["receipts"]).lines().count(), 1);
}

#[test]
fn only_what_changed_is_written_again() {
    let station = Station::new(&testdata("codex"), "");
    station.export();
    let times = || -> HashMap<_, _> {
        files_below(&station.at("lake"))
            .into_iter()
            .map(|file| (file.clone(), fs::metadata(&file).unwrap().modified().unwrap()))
            .collect()
    };
    let before = times();
    let again = station.export();
    assert_eq!(again["sent"].as_array().unwrap().len(), 0);
    assert_eq!(times(), before);

    // A forgotten session disappears, and only its months are written.
    let sessions = station.archive().sessions().unwrap();
    let gone = sessions.iter().filter(|s| s.calls > 0).min_by_key(|s| s.started).unwrap();
    let candidates = ProjectHints::default();
    let options = SyncOptions::plain(&candidates);
    station
        .archive()
        .forget(std::slice::from_ref(&gone.id), &options, Timestamp::UNIX_EPOCH)
        .unwrap();
    let receipt = station.export();
    let removed: Vec<&str> =
        receipt["removed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(removed.contains(&gone.id.as_str()), "{receipt}");
    assert!(!station.exported().iter().any(|row| row["session"] == gone.id.as_str()));
    let after = times();
    let same = before.iter().filter(|(file, time)| after.get(*file) == Some(time)).count();
    assert!(same > 0 && same < before.len(), "{same} of {}", before.len());

    // A lost manifest costs time, and nothing else.
    let rows = station.exported().len();
    let manifest = files_below(&station.at("lake/v1/manifest")).remove(0);
    fs::write(&manifest, "{").unwrap();
    station.export();
    assert_eq!(station.exported().len(), rows);
}

#[test]
fn sessions_that_are_too_old_leave_no_rows() {
    let station = Station::new(&testdata("codex"), "");
    station.export();
    assert!(!of(&station.exported(), "calls").is_empty());
    station.set_policy("retention_days = 0");
    station.export();
    assert_eq!(station.exported(), Vec::<Value>::new());
}

#[test]
fn the_views_of_every_engine_are_complete() {
    let station = Station::new(&testdata("codex"), "");
    // Spark has another view for the files of each table.
    for (engine, views) in [("duckdb", 22), ("clickhouse", 22), ("spark", 28)] {
        let sql = station.output(&["sql", engine, "/srv/lake"]);
        assert!(!sql.contains('@'), "{engine}: {sql}");
        assert_eq!(sql.matches("VIEW").count(), views, "{engine}");
    }
}

#[test]
fn the_documentation_defines_every_column() {
    let station = Station::new(&testdata("codex"), "");
    let documented = fs::read_to_string(testdata("../docs/lake.md")).unwrap();
    let columns = station.output(&["columns"]);
    assert!(documented.trim_end().ends_with(columns.trim_end()), "run `backstory-lake columns`");
}
