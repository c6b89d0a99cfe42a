//! Tests `events` and `export --format events` on the sample sessions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{TestEnv, testdata};

fn events(args: &[&str]) -> Vec<Value> {
    let run = TestEnv::new().run(&[&["--demo", "events"], args].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn of_one_session() {
    let env = TestEnv::new();
    let file = testdata("gemini/shapes/refused-tool-call/tmp/app/chats");
    let file = std::fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    let file = file.to_str().unwrap();
    let run = env.run(&["events", file]);
    insta::assert_snapshot!(run.show(), @r#"
    exit code 0
    --- stdout
    {"schema":"backstory.event/1","seq":1,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:00.000Z","type":"session_start","started":"2026-03-01T10:00:00.000Z","title":"start"}
    {"schema":"backstory.event/1","seq":2,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:01.000Z","type":"user_prompt","message":"00000001-0000-4000-8000-000000000001","text":"start"}
    {"schema":"backstory.event/1","seq":3,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:10.000Z","type":"user_prompt","message":"00000003-0000-4000-8000-000000000003","text":"delete it"}
    {"schema":"backstory.event/1","seq":4,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:11.000Z","type":"tool_use","id":"x1","name":"run_shell_command","label":"Bash","canonical":"shell_exec","category":"Execute","server":null,"args":{"command": "rm x"}}
    {"schema":"backstory.event/1","seq":5,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:12.000Z","type":"tool_result","id":"x1","name":"run_shell_command","status":"cancelled","output":null,"error":"[Operation Cancelled] Reason: User denied execution.","exit_code":null}
    {"schema":"backstory.event/1","seq":6,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:20.000Z","type":"user_prompt","message":"00000005-0000-4000-8000-000000000005","text":"then leave it"}
    {"schema":"backstory.event/1","seq":7,"agent":"gemini","session":"0000000a-0000-4000-8000-00000000000a","source":"session-2026-03-01T10-00-0000000a","project":"/home/u/app","at":"2026-03-01T10:00:21.000Z","type":"session_end","updated":"2026-03-01T10:00:21.000Z"}
    "#);
    let exported = env.run(&["export", file, "--format", "events", "--no-redact"]);
    assert_eq!(exported.stdout, run.stdout);
    assert_eq!(env.run(&["events", file, "--types", "compress"]).code, Some(1));
    assert_eq!(env.run(&["events", file, "--types", "dance"]).code, Some(2));
}

/// The events of a session are contiguous, the oldest session first, and the counts are those of other commands.
#[test]
fn of_all_sessions() {
    let all = events(&["--types", "all"]);
    let mut seqs: BTreeMap<&str, u64> = BTreeMap::new();
    let mut starts = Vec::new();
    for event in &all {
        let seq = seqs.entry(event["session"].as_str().unwrap()).or_default();
        *seq += 1;
        assert_eq!(event["seq"], *seq);
        if event["type"] == "session_start" {
            starts.push(event["started"].as_str().unwrap());
        }
    }
    assert!(starts.is_sorted(), "{starts:?}");
    let env = TestEnv::new();
    let count = |kind: &str| all.iter().filter(|event| event["type"] == kind).count() as u64;
    let sessions =
        env.json(&["--demo", "sessions", "--kind", "main,subagent,background", "--json"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    let live = sessions.iter().filter(|session| session["state"] == "live");
    let (told, prompts) = live.fold((0, 0), |(n, prompts), session| {
        (n + 1, prompts + session["prompts"].as_u64().unwrap())
    });
    assert_eq!((count("session_start"), count("user_prompt")), (told, prompts));
    let usage = env.json(&["--demo", "usage", "--json"]);
    assert_eq!(count("model_call"), usage["total"]["calls"]);
    let tools = env.json(&["--demo", "tools", "--json"]);
    let calls = tools["rows"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap());
    assert_eq!(count("tool_use"), calls.sum::<u64>());
    let exported = env.run(&["--demo", "export", "--all", "--format", "events"]);
    let told = events(&[]);
    assert_eq!(exported.stdout.lines().count(), told.len());
}

#[test]
fn narrowed() {
    let today = events(&["--since", "2026-08-14"]);
    assert!(!today.is_empty() && today.len() < events(&[]).len());
    assert!(today.iter().all(|event| event["at"].as_str().unwrap() >= "2026-08-14"));
    let saved = events(&["--kind", "checkpoint"]);
    assert!(
        saved.iter().all(|event| event["session"].as_str().unwrap().starts_with("checkpoint/"))
    );
    let env = TestEnv::new();
    assert_eq!(env.run(&["--demo", "events", "--since", "2030-01-01"]).code, Some(1));
    assert_eq!(env.run(&["events"]).code, Some(1));
}

/// There is an example of each type, with the fields that the program prints.
#[test]
fn the_documentation_tells_the_truth() {
    let keys = |event: &Value| event.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let text = include_str!("../../../../docs/events.md");
    let examples = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<Value> =
        examples.map(|example| serde_json::from_str(example).unwrap()).collect();
    let printed = events(&["--types", "all"]);
    let mut told = BTreeSet::new();
    for example in &examples {
        let kind = example["type"].as_str().unwrap();
        let real = printed.iter().find(|event| event["type"] == kind);
        assert_eq!(Some(keys(example)), real.map(keys), "{kind}");
        told.insert(kind);
    }
    assert_eq!(told.len(), 11, "{told:?}");
}
