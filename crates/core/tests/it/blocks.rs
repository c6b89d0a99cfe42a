//! Tests the windows of plans on made-up sessions of Claude Code.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use backstory_core::archive::Archive;
use backstory_core::pricing::Table;
use backstory_core::query::usage::{Answer, Group, Question};
use backstory_core::query::{Block, Reports};
use backstory_core::time::Period;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::support::discover_at;

fn minute(minutes: i64) -> Timestamp {
    let start: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_mins(minutes)
}

/// Writes a session with one call of 100 tokens at each time, in minutes.
fn plant(home: &std::path::Path, minutes: &[i64]) {
    let session = "6d6f9785-f378-4b69-815a-253c4a598fa4";
    let folder = home.join(".claude/projects/-p");
    std::fs::create_dir_all(&folder).unwrap();
    let mut text = String::new();
    for (n, at) in minutes.iter().enumerate() {
        let usage = r#"{"input_tokens":90,"output_tokens":10}"#;
        let message = format!(
            r#"{{"id":"msg_{n}","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"a"}}],"stop_reason":"end_turn","usage":{usage}}}"#
        );
        writeln!(
            text,
            r#"{{"parentUuid":null,"isSidechain":false,"message":{message},"type":"assistant","uuid":"9d0be28e-1652-4921-a77e-{n:012}","timestamp":"{:.3}","cwd":"/p","sessionId":"{session}","version":"2.1.104"}}"#,
            minute(*at)
        )
        .unwrap();
    }
    std::fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
}

fn ask(archive: &Archive, group: Group, period: Period) -> Answer {
    let prices = Table::embedded();
    let reports = Reports::new(archive, &TimeZone::UTC, &prices);
    reports.usage(&Question { period, ..Question::new(group) }).unwrap()
}

#[test]
fn a_window_begins_at_the_hour_of_a_call_and_lasts_five() {
    let home = tempfile::tempdir().unwrap();
    // 10:50 and 14:59, 15:00, and after an idle hour 21:30 and 21:31.
    plant(home.path(), &[650, 899, 900, 1290, 1291]);
    let archive = Archive::of(&discover_at(home.path())).unwrap();
    let answer = ask(&archive, Group::Blocks, Period::default());
    let rows: Vec<(&str, u64)> =
        answer.rows.iter().map(|row| (row.key.as_str(), row.sum.calls)).collect();
    assert_eq!(
        rows,
        [("2026-11-15T10:00:00Z", 2), ("2026-11-15T15:00:00Z", 1), ("2026-11-15T21:00:00Z", 2)]
    );
    let last = &answer.rows[2];
    let pace = Block::of(Group::Blocks, last).unwrap().pace(last, minute(1380)).unwrap();
    // 200 tokens since 21:30 or its quarter of an hour, and three hours to go.
    assert_eq!((pace.tokens_per_minute, pace.tokens), (2, 600));
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever part of the time is counted, the windows are the same, and they add up.
    #[test]
    fn windows_add_up_in_any_period(
        minutes in prop::collection::vec(0..6000i64, 1..30),
        since in prop::option::of(0..6000i64),
        length in prop::option::of(0..3000i64),
    ) {
        let home = tempfile::tempdir().unwrap();
        plant(home.path(), &minutes);
        let archive = Archive::of(&discover_at(home.path())).unwrap();
        let until = length.map(|length| minute(since.unwrap_or(0) + length));
        let period = Period { since: since.map(minute), until };
        let all = ask(&archive, Group::Blocks, Period::default());
        let starts: BTreeSet<&str> = all.rows.iter().map(|row| row.key.as_str()).collect();
        let some = ask(&archive, Group::Blocks, period);
        let model = ask(&archive, Group::Model, period);
        prop_assert_eq!(some.total.calls, model.total.calls);
        prop_assert_eq!(some.total.bill, model.total.bill);
        let sum: u64 = some.rows.iter().map(|row| row.sum.usage.total()).sum();
        prop_assert_eq!(sum, model.total.usage.total());
        prop_assert!(some.rows.iter().all(|row| starts.contains(row.key.as_str())));
    }
}
