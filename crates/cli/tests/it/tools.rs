//! Tests `tools` and `commands`.

use crate::support::TestEnv;

#[test]
fn tools_and_commands() {
    let env = TestEnv::new();
    let got = env.json(&["--demo", "tools", "--json"]);
    let rows = got["rows"].as_array().unwrap();
    let calls: u64 = rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum();
    assert_eq!(calls, 53);
    let shell = rows.iter().find(|row| row["name"] == "run_shell_command").unwrap();
    assert_eq!(
        (&shell["calls"], &shell["cancelled"], &shell["label"]),
        (&11.into(), &1.into(), &"Bash".into())
    );
    let mcp = rows.iter().find(|row| row["label"] == "MCP").unwrap();
    assert_eq!(mcp["server"], "github");
    let got = env.json(&["--demo", "commands", "--json"]);
    let cargo =
        got["rows"].as_array().unwrap().iter().find(|row| row["program"] == "cargo").unwrap();
    assert_eq!((&cargo["runs"], &cargo["failures"]), (&6.into(), &3.into()));
    let full = env.json(&["--demo", "commands", "--full", "--json"]);
    assert!(full["rows"].as_array().unwrap().len() > got["rows"].as_array().unwrap().len());
}

/// Errors that differ only in a path are one row, with the session that had it last.
#[test]
fn failed_tools() {
    let env = TestEnv::new();
    let record = |n: u8, tool: &str, error: &str| {
        let response = format!(
            r#"{{"functionResponse":{{"id":"c{n}","name":"{tool}","response":{{"error":"{error}"}}}}}}"#
        );
        format!(
            r#"{{"id":"m{n}","timestamp":"2026-08-14T1{n}:00:00.000Z","type":"gemini","content":"","toolCalls":[{{"id":"c{n}","name":"{tool}","args":{{}},"status":"error","result":[{response}]}}]}}"#
        )
    };
    let header = r#"{"sessionId":"11111111-0000-4000-8000-000000000001","projectHash":"ab","startTime":"2026-08-14T10:00:00.000Z","lastUpdated":"2026-08-14T10:00:00.000Z"}"#;
    let records = [
        header.to_owned(),
        record(1, "read_file", "File not found: /code/a.rs"),
        record(2, "run_shell_command", "Command failed with code 2.\\nmore"),
        record(3, "read_file", "File not found: /code/b.rs"),
    ];
    env.write(
        ".gemini/tmp/shop/chats/session-2026-08-14T10-00-11111111.jsonl",
        records.join("\n") + "\n",
    );
    insta::assert_snapshot!(env.run(&["tools"]).show(), @"
    exit code 0
    --- stdout
      TOOL               LABEL  CALLS  OK  ERROR  CANCELLED  UNFINISHED  FAILED  ADDED  REMOVED
      read_file          Read       2   0      2          0           0   100 %      0        0
      run_shell_command  Bash       1   0      1          0           0   100 %      0        0

      FAILURE                      TOOL               TIMES  LAST         SESSION
      File not found: …            read_file              2  3 hours ago  11111111
      Command failed with code 2.  run_shell_command      1  4 hours ago  11111111
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
    let got = env.json(&["tools", "--json"]);
    assert_eq!(
        got["failures"][0],
        serde_json::json!({ "tool": "read_file", "text": "File not found: …", "count": 2,
            "last": "2026-08-14T13:00:00.000Z", "session": "11111111-0000-4000-8000-000000000001",
            "example": "File not found: /code/b.rs" })
    );
    let failed: u64 =
        got["rows"].as_array().unwrap().iter().map(|r| r["error"].as_u64().unwrap()).sum();
    let told: u64 =
        got["failures"].as_array().unwrap().iter().map(|f| f["count"].as_u64().unwrap()).sum();
    assert_eq!(failed, told);
}

/// Commands that exit with a code other than 0 have failed, in every count.
#[test]
fn an_exit_code_is_a_failure() {
    let env = TestEnv::new();
    let demo = |args: &[&str]| env.json(&[&["--demo", "--json"], args].concat());
    let tools = demo(&["tools"]);
    let rows = tools["rows"].as_array().unwrap();
    let shell = rows.iter().find(|row| row["name"] == "run_shell_command").unwrap();
    let failed = shell["error"].as_u64().unwrap();
    let ends = ["success", "error", "cancelled", "unfinished"];
    let ended: u64 = ends.iter().map(|end| shell[*end].as_u64().unwrap()).sum();
    assert_eq!(ended, shell["calls"].as_u64().unwrap());
    assert!(failed >= 3, "{shell}");
    let failures = tools["failures"].as_array().unwrap();
    let exits = failures.iter().filter(|row| row["tool"] == "run_shell_command");
    assert_eq!(exits.map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), failed);
    assert!(failures.iter().any(|row| row["text"] == "exit code N"), "{failures:?}");
    let session = demo(&["show", "7c45ebba", "--only", "error"]);
    let calls = session["messages"].as_array().unwrap().iter();
    let calls = calls.flat_map(|message| message["tool_calls"].as_array().unwrap());
    let exits: Vec<_> = calls.filter(|call| call["exit_code"] == 101).collect();
    assert!(exits.iter().all(|call| call["failed"] == true) && !exits.is_empty());
    let shown = env.run(&["--demo", "show", "7c45ebba", "--only", "error"]).stdout;
    assert!(shown.contains("exit code 101"), "{shown}");
    let none = env.run(&["--demo", "show", "bb287218", "--only", "error"]).stdout;
    assert!(none.contains("Nothing in it matches `--only`."), "{none}");
}
