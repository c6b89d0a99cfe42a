//! Tests events: the laws of the stream on every tree, and documents without any times.

use std::collections::BTreeMap;
use std::path::Path;

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::export::events::{Choice, EventCursor, write, write_new};
use backstory_core::model::{EventType, SessionKind};
use backstory_core::pricing::Table;
use backstory_core::query::tools::{Group, Question, tools};
use backstory_core::time::Period;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Home, testdata, trees_below};
use crate::trees::tree;

fn all_types() -> Choice {
    Choice { types: EventType::ALL.to_vec(), ..Choice::default() }
}

fn events(home: &Home, assembled: &SessionFacts, choice: &Choice) -> Vec<Value> {
    let messages = home.messages(assembled, View::Full);
    let mut out = Vec::new();
    let written = write(assembled, &messages, &Table::embedded(), choice, &mut out).unwrap();
    let lines: Vec<Value> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(written, lines.len() as u64);
    lines
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

/// Returns the number of tool calls that only the model's own text requests, as in a history. They
/// are not counted, because their outcome is unknown.
fn only_requested(home: &Home, assembled: &SessionFacts) -> usize {
    let messages = home.messages(assembled, View::Full);
    let unrecorded =
        assembled.listed().zip(&messages).filter(|(placed, _)| placed.facts.tools.is_empty());
    unrecorded.map(|(_, message)| message.tool_calls.len()).sum()
}

/// Asserts the laws that hold for every session.
fn check(home: &Home, assembled: &SessionFacts) -> Vec<Value> {
    let session = &assembled.session;
    let id = &session.id;
    let all = events(home, assembled, &all_types());
    let usual = events(home, assembled, &Choice::default());
    for stream in [&all, &usual] {
        for (seq, event) in (1..).zip(stream.iter()) {
            assert_eq!(event["seq"], seq, "{id}");
            assert_eq!(event["session"], id.as_str());
        }
        let times: Vec<Option<&str>> = stream.iter().map(|event| event["at"].as_str()).collect();
        assert!(times.is_sorted(), "{id}: {times:?}");
        assert!(times.iter().all(Option::is_some), "{id}: every file has a time");
        assert_eq!(stream.first().unwrap()["type"], "session_start", "{id}");
        assert_eq!(stream.last().unwrap()["type"], "session_end", "{id}");
        assert_eq!(count(stream, "session_start") + count(stream, "session_end"), 2, "{id}");
    }
    told_in_steps(home, assembled, &all);

    assert_eq!(count(&all, "user_prompt"), session.prompts, "{id}: prompts");
    assert_eq!(count(&all, "model_call"), session.calls, "{id}: calls");
    let total: u64 = all.iter().filter_map(|event| event["usage"]["total"].as_u64()).sum();
    assert_eq!(total, session.usage.total(), "{id}: tokens");
    let unrecorded = only_requested(home, assembled);
    assert_eq!(count(&all, "tool_use"), session.tool_calls + unrecorded, "{id}: tool calls");
    // A result belongs to an earlier use.
    let mut open: Vec<&Value> = Vec::new();
    for event in &all {
        match event["type"].as_str().unwrap() {
            "tool_use" => open.push(&event["id"]),
            "tool_result" => {
                let at = open.iter().position(|id| **id == event["id"]);
                open.remove(at.unwrap_or_else(|| panic!("{id}: {event}")));
            }
            _ => {}
        }
    }
    all
}

/// Asserts that a follower of a session receives everything once, wherever it was cut.
fn told_in_steps(home: &Home, assembled: &SessionFacts, all: &[Value]) {
    let id = &assembled.session.id;
    let messages = home.messages(assembled, View::Full);
    let mut cursor = EventCursor::default();
    let mut out = Vec::new();
    for end in [messages.len() / 3, messages.len() / 2, messages.len(), messages.len()] {
        let prices = Table::embedded();
        write_new(assembled, &messages[..end], &prices, &all_types(), &mut cursor, &mut out)
            .unwrap();
    }
    let stream: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for (seq, event) in (1..).zip(&stream) {
        assert_eq!(event["seq"], seq, "{id}");
    }
    let times: Vec<Option<&str>> = stream.iter().map(|event| event["at"].as_str()).collect();
    assert!(times.is_sorted(), "{id}: {times:?}");
    // The cut is visible in removals: a rewind is reported when its first message disappears.
    let plain = |stream: &[Value]| -> Vec<Value> {
        let is_plain = |event: &&Value| {
            !["rewind", "compress", "session_end"].contains(&event["type"].as_str().unwrap())
        };
        let mut plain: Vec<Value> = stream.iter().filter(is_plain).cloned().collect();
        for event in &mut plain {
            event["seq"] = Value::Null;
            event["at"] = Value::Null;
        }
        plain
    };
    assert_eq!(plain(&stream), plain(all), "{id}");
}

/// Returns how often each tool ran and with which outcome, as `tools` counts it.
fn counted(home: &Home) -> BTreeMap<(String, &'static str), u64> {
    let question = Question {
        group: Group::Tool,
        period: Period::default(),
        sessions: None,
        checkpoints: false,
    };
    let mut out = BTreeMap::new();
    for row in tools(&home.archive, &question).unwrap() {
        let ends = [
            ("calls", row.counts.calls),
            ("success", row.counts.success),
            ("error", row.counts.error),
            ("cancelled", row.counts.cancelled),
        ];
        for (end, count) in ends.into_iter().filter(|(_, count)| *count > 0) {
            out.insert((row.key.clone(), end), count);
        }
    }
    out
}

fn check_tree(folder: &Path) {
    let all = Home::at(folder);
    let mut told: BTreeMap<(String, &'static str), u64> = BTreeMap::new();
    for assembled in &all.sessions {
        let events = check(&all, assembled);
        if assembled.session.kind == SessionKind::Checkpoint {
            continue;
        }
        for event in &events {
            let end = match (event["type"].as_str().unwrap(), event["status"].as_str()) {
                ("tool_use", _) => "calls",
                // The tool ran, but its command failed.
                ("tool_result", Some("success"))
                    if event["exit_code"].as_i64().is_some_and(|n| n != 0) =>
                {
                    "error"
                }
                ("tool_result", Some("success")) => "success",
                ("tool_result", Some("error")) => "error",
                ("tool_result", _) => "cancelled",
                _ => continue,
            };
            let name = event["name"].as_str().unwrap().to_owned();
            *told.entry((name, end)).or_default() += 1;
        }
    }
    let mains = all.sessions.iter().filter(|s| s.session.kind != SessionKind::Checkpoint);
    if mains.map(|s| only_requested(&all, s)).sum::<usize>() == 0 {
        assert_eq!(told, counted(&all), "{}", folder.display());
    }
}

#[test]
fn recorded_trees() {
    let trees = trees_below(&testdata("gemini"));
    assert!(trees.len() > 80, "only {} trees", trees.len());
    for folder in trees {
        check_tree(&folder);
    }
}

#[test]
fn corner_cases() {
    let mut sessions = 0;
    for entry in std::fs::read_dir(testdata("gemini/edge")).unwrap() {
        let all = Home::at(&entry.unwrap().path());
        all.sessions.iter().for_each(|assembled| drop(check(&all, assembled)));
        sessions += all.sessions.len();
    }
    assert!(sessions > 20, "only {sessions} sessions");
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_trees(tree in tree()) {
        let folder = tempfile::tempdir().unwrap();
        tree.plant(folder.path());
        check_tree(folder.path());
    }
}

/// Returns a history as the model's own list of contents, without ids or times.
fn turns() -> Value {
    json!([
        { "role": "user", "parts": [{ "text": "why does the build fail" }] },
        { "role": "model", "parts": [
            { "text": "I look at both." },
            { "functionCall": { "name": "read_file", "args": { "file_path": "/app/main.ts" } } },
            { "functionCall": { "name": "run_shell_command", "args": { "command": "mak" } } }] },
        { "role": "user", "parts": [
            { "functionResponse": { "name": "read_file",
                "response": { "name": "read_file", "content": "let x = 1" } } },
            { "functionResponse": { "name": "run_shell_command",
                "response": { "name": "run_shell_command", "content": { "error": "mak: not found" } } } }] },
        { "role": "model", "parts": [{ "functionCall": { "name": "write_todos", "args": {} } }] },
        { "role": "user", "parts": [
            { "functionResponse": { "name": "write_todos", "response": { "error": "refused" } } }] },
        { "role": "model", "parts": [{ "text": "There is a typo." }] }
    ])
}

/// Returns type, name, canonical name, category, status, error and time of day of each event.
fn told(file: &str, document: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::write(&path, document.to_string()).unwrap();
    let all = Home::at(&path);
    let [assembled] = all.sessions.as_slice() else { panic!("{}", all.sessions.len()) };
    assert_eq!(check(&all, assembled)[0]["source"], file.split('.').next().unwrap());
    let field = |event: &Value, name: &str| event[name].as_str().map(str::to_owned);
    let line = |event: &Value| {
        let names =
            ["type", "text", "id", "name", "canonical", "category", "status", "output", "error"];
        let mut words: Vec<String> = names.iter().filter_map(|name| field(event, name)).collect();
        if file.contains('T') {
            words.insert(0, field(event, "at").unwrap());
        }
        words.join(" ")
    };
    events(&all, assembled, &Choice::default()).iter().map(line).collect()
}

#[test]
fn a_history_in_a_session_file() {
    let document = json!({ "history": turns() });
    let told = told("session-2025-09-18T02-45-3b44bc68.json", &document);
    assert_eq!(
        told,
        [
            "2025-09-18T02:45:00.000Z session_start",
            "2025-09-18T02:45:00.001Z user_prompt why does the build fail",
            "2025-09-18T02:45:00.003Z tool_use 2#1 read_file file_read Read",
            "2025-09-18T02:45:00.004Z tool_use 2#2 run_shell_command shell_exec Execute",
            "2025-09-18T02:45:00.005Z tool_result 2#1 read_file success let x = 1",
            "2025-09-18T02:45:00.006Z tool_result 2#2 run_shell_command error mak: not found",
            "2025-09-18T02:45:00.007Z tool_use 4#1 write_todos planning Plan",
            "2025-09-18T02:45:00.008Z tool_result 4#1 write_todos error refused",
            "2025-09-18T02:45:00.010Z session_end",
        ]
    );
}

/// A saved chat and a shared history are the same list, wrapped and bare.
#[test]
fn saved_and_shared_histories() {
    let wrapped = told("checkpoint-plan.json", &json!({ "history": turns() }));
    assert_eq!(wrapped, told("shared.json", &turns()));
    assert_eq!(wrapped.len(), 9);
}

/// Messages that a compression spared were rewound together with everything after it.
#[test]
fn compressed_and_then_rewound() {
    let all = Home::at(&testdata("gemini/shapes/compress-then-rewind"));
    let events = events(&all, &all.sessions[0], &all_types());
    let removed = events
        .iter()
        .filter_map(|event| Some((event["type"].clone(), event["messages"].as_u64()?)));
    assert_eq!(removed.collect::<Vec<_>>(), [("compress".into(), 2), ("rewind".into(), 3)]);
}
