//! Tests `files`, `log`, `digest` and `secrets`.

use std::fs;

use serde_json::json;

use crate::support::TestEnv;

const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A made-up token that has the form of a real one.
const TOKEN: &str = "ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R";

/// Returns a home with one session that edits a file, runs two commands and mentions a secret.
fn home() -> TestEnv {
    let env = TestEnv::new();
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    let call = |id: &str, name: &str, args: serde_json::Value, output: &str, minute: u32| {
        json!({"id": id, "name": name, "args": args, "status": "success",
            "timestamp": format!("2026-08-13T10:{minute:02}:00.000Z"),
            "result": [{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}]})
    };
    let records = [
        json!({"sessionId": ID, "projectHash": "h", "kind": "main",
            "startTime": "2026-08-13T10:00:00.000Z", "lastUpdated": "2026-08-13T10:09:00.000Z"}),
        json!({"id": "u1", "timestamp": "2026-08-13T10:00:00.000Z", "type": "user",
            "content": [{"text": format!("fix the till with {TOKEN}")}]}),
        json!({"id": "g1", "timestamp": "2026-08-13T10:01:00.000Z", "type": "gemini", "content": "done",
        "model": "gemini-2.5-pro",
        "tokens": {"input": 1000, "output": 100, "cached": 0, "thoughts": 0, "tool": 0, "total": 1100},
        "toolCalls": [
            call("c1", "read_file", json!({"absolute_path": "/code/shop/src/till.rs"}), "fn till() {}", 1),
            call("c2", "replace", json!({"file_path": "src/till.rs", "old_string": "a\nb", "new_string": "a\nc"}), "ok", 2),
            call("c3", "run_shell_command", json!({"command": "cargo test"}), "Output: no\nExit Code: 101", 4),
            call("c4", "run_shell_command", json!({"command": "cargo\n  fmt"}), "Output: (empty)", 3),
        ]}),
    ];
    let log: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
    env.write(".gemini/tmp/shop/chats/session-2026-08-13T10-00-aaaaaaaa.jsonl", log.concat());
    env
}

fn shown(env: &TestEnv, args: &[&str]) -> String {
    env.run(args).stdout.replace(TOKEN, "[TOKEN]")
}

#[test]
fn the_sessions_behind_a_file() {
    let env = home();
    insta::assert_snapshot!(shown(&env, &["files", "till.rs"]), @"
    FILE                    READ  CHANGED  ADDED  REMOVED  SESSIONS  LAST
    /code/shop/src/till.rs     1        1      0        0         1  1 day ago

    SESSION   LAST       READ  CHANGED  TITLE
    aaaaaaaa  1 day ago     1        1  fix the till with [TOKEN]
    ");
    insta::assert_snapshot!(shown(&env, &["files", "src/till.rs", "--diff"]), @"
    aaaaaaaa  fix the till with [TOKEN]
      Edit /code/shop/src/till.rs  2026-08-13 10:02
        -b
        +c
    ");
    let got = env.json(&["files", "--json"]);
    assert_eq!(got["schema"], "backstory.files/1");
    let file = &got["files"][0];
    assert_eq!(
        (&file["path"], &file["reads"], &file["changes"]),
        (&"/code/shop/src/till.rs".into(), &1.into(), &1.into())
    );
    let got = env.json(&["files", "till.rs", "--json"]);
    assert_eq!(got["uses"][0]["diff"], "-b\n+c\n");
    assert_eq!(got["uses"].as_array().unwrap().len(), 2);
    let run = env.run(&["files", "nosuch.rs"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no session used `nosuch.rs`"), "{}", run.stderr);
}

#[test]
fn what_ran_in_order() {
    let env = home();
    insta::assert_snapshot!(shown(&env, &["log"]), @"
    TIME              EXIT  PROJECT  SESSION   COMMAND
    2026-08-13 10:03     0  shop     aaaaaaaa  cargo fmt
    2026-08-13 10:04   101  shop     aaaaaaaa  cargo test
    ");
    let got = env.json(&["log", "--json", "--failed"]);
    assert_eq!(got["schema"], "backstory.log/1");
    let runs = got["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["command"], &runs[0]["exit_code"]), (&"cargo test".into(), &101.into()));
    let csv = env.run(&["log", "--format", "csv"]).stdout;
    assert!(csv.starts_with("at,exit_code,project,session,command\n"), "{csv}");
    assert_eq!(env.run(&["log", "--on", "today"]).code, Some(1));
    let tools = env.json(&["tools", "--sort", "failed", "-n", "1", "--json"]);
    assert_eq!(tools["rows"].as_array().unwrap().len(), 1);
    assert_eq!(tools["rows"][0]["name"], "run_shell_command");
    // Columns of CSV are named like fields, and contain numbers.
    let csv = env.run(&["tools", "--format", "csv"]).stdout;
    assert!(csv.starts_with("tool,label,calls,ok,error,"), "{csv}");
    assert!(!csv.contains('%'), "{csv}");
    let csv = env.run(&["commands", "--format", "csv"]).stdout;
    assert!(csv.starts_with("program,runs,failed,sessions,last,example\n"), "{csv}");
}

#[test]
fn a_digest_of_yesterday() {
    let env = home();
    insta::assert_snapshot!(shown(&env, &["digest"]), @"
    Since 2026-08-13 00:00: 1 session, 1 project, $0.0023

    shop  $0.0023
      aaaaaaaa  fix the till with [TOKEN]  $0.0023
        › fix the till with [TOKEN]
        changed: src/till.rs
    ");
    let shared = env.run(&["digest", "--format", "md"]).stdout;
    assert!(!shared.contains(&TOKEN[4..20]), "{shared}");
    assert!(shared.contains("\n## shop ($0.0023)\n\n- **fix the till with "), "{shared}");
    assert!(shared.contains("\n  - changed: src/till.rs\n"), "{shared}");
    let got = env.json(&["digest", "--json"]);
    assert_eq!(got["schema"], "backstory.digest/1");
    assert_eq!(got["projects"][0]["sessions"][0]["files"][0]["path"], "src/till.rs");
    let run = env.run(&["digest", "--on", "today", "--json"]);
    assert_eq!((run.code, run.stdout.contains("\"projects\": []")), (Some(1), true));
}

#[test]
fn secrets_are_counted_and_never_printed() {
    let env = home();
    for args in [&["secrets"][..], &["secrets", "--json"], &["secrets", "--format", "csv"]] {
        let run = env.run(args);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains(&TOKEN[4..12]), "{}", run.stdout);
        assert!(run.stdout.contains("aaaaaaaa"), "{}", run.stdout);
    }
    let got = env.json(&["secrets", "--json"]);
    assert_eq!(
        (&got["sessions"][0]["session"], &got["sessions"][0]["distinct"]),
        (&ID.into(), &1.into())
    );
    let messages = &got["sessions"][0]["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(
        (&messages[0]["message"], &messages[0]["role"], &messages[0]["found"]),
        (&"u1".into(), &"user".into(), &1.into())
    );
    insta::assert_snapshot!(shown(&env, &["secrets"]), @"
    SESSION   UPDATED    PROJECT  SECRETS       IN                       TITLE
    aaaaaaaa  1 day ago  shop     github-token  prompt 2026-08-13 10:00  fix the till with [redacted:github-token:1]
    ");
    assert_eq!(env.run(&["secrets", "--on", "today"]).code, Some(1));
}

#[test]
fn a_secret_before_the_words_that_give_it_away_is_listed() {
    let env = TestEnv::new();
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    let typed = |id: &str, text: &str| json!({"id": id, "timestamp": "2026-08-13T10:00:00.000Z", "type": "user", "content": [{"text": text}]});
    let records = [
        json!({"sessionId": ID, "projectHash": "h", "kind": "main",
            "startTime": "2026-08-13T10:00:00.000Z", "lastUpdated": "2026-08-13T10:09:00.000Z"}),
        typed("u1", "what is zq8PqLw03XnVt for?"),
        typed("u2", "password=zq8PqLw03XnVt"),
    ];
    let log: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
    env.write(".gemini/tmp/shop/chats/session-2026-08-13T10-00-aaaaaaaa.jsonl", log.concat());
    let got = env.json(&["secrets", "--json"]);
    let messages = got["sessions"][0]["messages"].as_array().unwrap();
    let ids: Vec<_> = messages.iter().map(|message| message["message"].as_str().unwrap()).collect();
    assert_eq!(ids, ["u1", "u2"]);
}

#[test]
fn sessions_that_the_agent_deleted_are_marked() {
    let env = home();
    env.run(&["sync"]);
    fs::remove_dir_all(env.home().join(".gemini/tmp/shop/chats")).unwrap();
    let run = env.run(&["sessions", "--gone"]);
    assert!(run.stdout.contains("† fix the till"), "{}", run.stdout);
    assert!(run.stderr.contains("† deleted by the agent, kept in the archive"), "{}", run.stderr);
    assert_eq!(home().run(&["sessions", "--gone"]).code, Some(1));
}

#[test]
fn sessions_by_cost() {
    let env = TestEnv::new();
    let got = env.json(&["--demo", "sessions", "--sort", "cost", "--json"]);
    let cost = |row: &serde_json::Value| row["cost_usd"].as_str().unwrap().parse::<f64>().unwrap();
    let costs: Vec<f64> = got["sessions"].as_array().unwrap().iter().map(cost).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    assert!(costs.len() > 5);
}
