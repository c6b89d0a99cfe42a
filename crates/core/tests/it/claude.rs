//! Reads trees that real versions of Claude Code wrote, and compares the results with expected documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::model::{Message, MessageKind, SessionKind};
use serde_json::{Value, json};

use crate::claude_lines::{A, B, user};
use crate::support::{Home, discover_at, testdata};

/// Returns the cases of all versions.
fn cases() -> Vec<PathBuf> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut out: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        out.retain(|path| path.is_dir());
        out.sort();
        out
    };
    let out: Vec<PathBuf> =
        folders(&testdata("claude")).iter().flat_map(|version| folders(version)).collect();
    assert!(out.len() >= 69);
    out
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs a check on every case, and fails with the problems of all cases.
fn check(of: impl Fn(&Path, &Home) -> Vec<String>) {
    let mut failures = Vec::new();
    for case in cases() {
        let home = Home::at(&case.join("claude"));
        let name = case.strip_prefix(testdata("claude")).unwrap().display().to_string();
        failures.extend(of(&case, &home).into_iter().map(|what| format!("{name}: {what}")));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The numbers of calls and tokens by model: calls, input, five-minute and one-hour cache writes, cache
/// reads, output.
type Sums = BTreeMap<String, [u64; 6]>;

fn counted(home: &Home) -> Sums {
    let mut out = Sums::new();
    for entry in home.sessions.iter().flat_map(SessionFacts::listed).filter(|entry| entry.owned) {
        let Some(call) = &entry.facts.call else { continue };
        let sums = out.entry(entry.facts.model.as_deref().unwrap_or("?").to_owned()).or_default();
        let usage = call.usage;
        let numbers = [
            1,
            usage.input,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.cached,
            usage.output + usage.thoughts,
        ];
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    out
}

#[test]
fn every_call_counts_once_with_its_largest_numbers() {
    check(|case, home| {
        let expected = json(&case.join("expected-usage.json"));
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let keys = ["calls", "input", "cache_write_5m", "cache_write_1h", "cache_read", "output"];
        let want: Sums = expected["rule_gives"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(model, row)| (model.clone(), keys.map(|key| number(row, key))))
            .collect();
        let got = counted(home);
        if got == want { Vec::new() } else { vec![format!("{got:?}, not {want:?}")] }
    });
}

#[test]
fn an_output_that_never_reached_the_file_is_a_lower_bound() {
    check(|case, home| {
        let expected = json(&case.join("expected-usage.json"));
        let bounds: BTreeSet<&str> = home
            .sessions
            .iter()
            .flat_map(SessionFacts::listed)
            .filter(|entry| entry.facts.call.as_ref().is_some_and(|call| call.at_least))
            .map(|entry| entry.facts.id.as_str())
            .collect();
        let mut failures = Vec::new();
        for row in expected["file_differs_from_served"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap();
            if !bounds.contains(id) {
                failures.push(format!("{id} is not a lower bound"));
            }
        }
        failures
    });
}

/// Shortens a text as in the expected documents.
fn cut(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn replies(messages: &[Message]) -> Vec<String> {
    let replies = messages.iter().filter(|message| message.kind == MessageKind::Reply);
    replies.map(|message| cut(&message.text)).filter(|text| !text.is_empty()).collect()
}

fn tools(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .flat_map(|message| &message.tool_calls)
        .map(|call| call.id.to_string())
        .collect()
}

fn prompts(messages: &[Message]) -> Vec<String> {
    let typed = messages.iter().filter(|message| message.kind == MessageKind::Prompt);
    typed.map(|message| cut(message.words())).filter(|text| !text.is_empty()).collect()
}

#[test]
fn sessions_and_both_views_are_those_of_the_program() {
    check(|case, home| {
        let mut failures = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for want in json(&case.join("expected-sessions.json")).as_array().unwrap() {
            let ids = std::iter::once(want["id"].as_str().unwrap().to_owned());
            let ids: Vec<String> = ids.chain(strings(&want["id_or"])).collect();
            let found = home
                .sessions
                .iter()
                .find(|session| ids.iter().any(|id| session.session.id == **id));
            let Some(session) = found else {
                if want["optional_session"] != true {
                    failures.push(format!("{} is missing", ids[0]));
                }
                continue;
            };
            known.insert(&session.session.id);
            compare(want, session, home, &mut failures);
        }
        for session in &home.sessions {
            if !known.contains(session.session.id.as_str())
                && session.session.state.name() == "live"
            {
                failures.push(format!("{} should not be there", session.session.id));
            }
        }
        failures
    });
}

fn compare(want: &Value, session: &SessionFacts, home: &Home, failures: &mut Vec<String>) {
    let about = &session.session;
    let id = &about.id;
    let mut same = |what: &str, got: &dyn std::fmt::Debug, want: &dyn std::fmt::Debug| {
        let (got, want) = (format!("{got:?}"), format!("{want:?}"));
        if got != want {
            failures.push(format!("{id}: {what} {got}, not {want}"));
        }
    };
    same("kind", &about.kind.name(), &want["kind"].as_str().unwrap());
    if about.kind == SessionKind::Main || !want["parent"].is_null() {
        same("parent", &about.parent.as_deref(), &want["parent"].as_str());
    }
    if let Some(project) = want["project"].as_str() {
        same("project", &about.project.path.as_deref(), &Some(project));
    }
    let full = home.messages(session, View::Full);
    if want["prompts"].is_array() {
        same("prompts", &prompts(&full), &strings(&want["prompts"]));
    }
    same("full replies", &replies(&full), &strings(&want["full"]["replies"]));
    same("full tools", &tools(&full), &strings(&want["full"]["tool_calls"]));
    if want["uncertain"] == false && !want["current"].is_null() {
        let current = home.messages(session, View::Current);
        same("current replies", &replies(&current), &strings(&want["current"]["replies"]));
        same("current tools", &tools(&current), &strings(&want["current"]["tool_calls"]));
    }
}

#[test]
fn a_stray_file_beside_a_tree_is_not_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("claude/projects/-work-app");
    std::fs::create_dir_all(&project).unwrap();
    let line = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"content":"hello"}}"#;
    std::fs::write(project.join("s.jsonl"), line).unwrap();
    let stray = r#"{"id":"m1","type":"main","usage":{"input_tokens":4}}"#;
    std::fs::write(folder.path().join("served.jsonl"), stray).unwrap();
    let session = r#"{"sessionId":"g","projectHash":"h","messages":[{"id":"1","type":"user","content":"hi"}]}"#;
    std::fs::write(folder.path().join("session-1.json"), session).unwrap();
    let files = |path: &Path| -> Vec<String> {
        let sources = discover_at(path).sources;
        let names = sources.iter().map(|source| source.path.file_name().unwrap().to_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(files(folder.path()), ["s.jsonl", "session-1.json"]);
    assert_eq!(files(&folder.path().join("served.jsonl")), ["served.jsonl"]);
}

#[test]
fn a_tree_is_recognized_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let log = user("u1", "", 0, "one").to_string();
    let typed = json!({ "display": "x", "project": "/work/app", "timestamp": 1, "sessionId": B })
        .to_string();
    write(&format!("backup/.claude/projects/-work-app/{A}.jsonl"), &log);
    write("backup/.claude/history.jsonl", &typed);
    write("backup/.claude/plugins/cache/x.jsonl", &log);
    write("backup/.claude/settings.json", "{}");
    write("projects/notes/data.jsonl", "{\"id\":1}\n");
    let names = |path: &Path| -> Vec<String> {
        let found = discover_at(path);
        let own = found.sources.into_iter().filter(|source| source.agent.as_str() == "claude");
        own.map(|source| source.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    let want = ["history.jsonl".to_owned(), format!("{A}.jsonl")];
    for path in ["", "backup", "backup/.claude"] {
        assert_eq!(names(&folder.path().join(path)), want, "{path}");
    }
    for path in ["backup/.claude/projects", "backup/.claude/projects/-work-app"] {
        assert_eq!(names(&folder.path().join(path)), want[1..], "{path}");
    }
    assert_eq!(names(&folder.path().join("projects")), [""; 0]);
    let one = folder.path().join(format!("backup/.claude/projects/-work-app/{A}.jsonl"));
    assert_eq!(names(&one), want[1..]);
    // Files of one agent are not attributed to another.
    let found = discover_at(folder.path());
    let others: Vec<_> =
        found.sources.iter().filter(|source| source.agent.as_str() != "claude").collect();
    assert!(others.iter().all(|source| source.path.starts_with(folder.path().join("projects"))));
    // The prompt log still contains the prompts of a deleted session.
    let home = Home::at(folder.path());
    let gone = home.all.get(B).unwrap();
    assert_eq!((gone.state.name(), gone.prompts), ("log-only", 1));
}
