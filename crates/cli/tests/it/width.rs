//! Tests that no line is wider than the terminal, whatever the sessions contain.

use std::fmt::Write;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::support::TestEnv;

const WIDTHS: [&str; 5] = ["40", "60", "80", "120", "200"];

/// Every command that prints for people. Those that print for programs (`completions`, `man`, `export`, `events`,
/// `resume --print`) have lines of any length.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["-v"],
    &["sessions"],
    &["sessions", "--all"],
    &["sessions", "--kind", "subagent,checkpoint"],
    &["sessions", "-p", "nosuch"],
    &["show"],
    &["show", "--thoughts", "--tool-output", "--info", "--tokens"],
    &["show", "--grep", "berth OR 日本語 OR long"],
    &["show", "nosuch"],
    &["search", "the OR 日本語 OR long"],
    &["search", "the OR long", "-C", "2"],
    &[
        "search",
        "word ( nothing closes this bracket, and the query is long enough to need a second line",
    ],
    &["search", "absent"],
    &["prompts"],
    &["prompts", "--long"],
    &["usage"],
    &["usage", "session"],
    &["usage", "prompt"],
    &["usage", "project"],
    &["usage", "model", "--breakdown"],
    &["tools"],
    &["tools", "label"],
    &["commands"],
    &["commands", "--full"],
    &["projects"],
    &["log"],
    &["files"],
    &["files", "src"],
    &["files", "deep", "--diff"],
    &["files", "src", "--diff"],
    &["digest", "--since", "2026"],
    &["digest", "--since", "2026-01"],
    &["secrets"],
    &["sessions", "--gone"],
    &["pricing"],
    &["pricing", "--all"],
    &["verify"],
    &["verify", "-v"],
    &["doctor"],
    &["doctor", "-v"],
    &["archive", "info"],
    &["archive", "check"],
    &["forget", "latest", "--dry-run"],
    &["unforget", "--list"],
    &["restore", "latest", "--dry-run"],
    &["name", "latest", "latest"],
    &["--tz", "nowhere/in/particular/that/anybody/has/ever/heard/of", "sessions"],
    &["sessions", "--nosuch-option-that-is-quite-long-and-needs-a-second-line"],
];

/// Returns a home with titles of 4 kB, wide letters, emoji and control characters in every field.
fn hostile() -> TestEnv {
    let env = TestEnv::new();
    let long = "a long prompt that goes on and on, ".repeat(120);
    let solid = "x".repeat(4096);
    let wide = "日本語の長い題名🚢👩\u{200d}👧❤\u{fe0f}".repeat(80);
    let evil = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}evil\r\n\tthe long tab\u{9b}2J ".repeat(60);
    let table = "| a | b |\n|---|---|\n| word | this cell is long enough to be wrapped at any width |\n\n```rust\n            let deeply_indented = \"a line of code that is longer than a narrow terminal is wide\";\n```\n- one\n  - two\n    - three, which is also a long item\n";
    for (n, text) in [long.as_str(), &solid, &wide, &evil, table].into_iter().enumerate() {
        let project = format!("project-{n}-日本語-with-a-name-that-is-longer-than-most");
        let folder = format!(".gemini/tmp/{project}");
        env.write(
            &format!("{folder}/.project_root"),
            format!("/code/{}/{project}", "deep/".repeat(20)),
        );
        let id = format!("{n}{n}{n}{n}0000-0000-4000-8000-00000000000{n}");
        let at = |minute: usize| format!("2026-08-1{n}T10:{minute:02}:00.000Z");
        let mut log = String::new();
        let mut add = |record: serde_json::Value| writeln!(log, "{record}").unwrap();
        add(
            json!({"sessionId": id, "projectHash": id, "startTime": at(0), "lastUpdated": at(9), "kind": "main"}),
        );
        add(json!({"id": "u1", "timestamp": at(1), "type": "user", "content": [{"text": text}]}));
        let call = |name: &str, args: serde_json::Value, output: &str| {
            json!({"id": format!("{name}-1"), "name": name, "args": args, "status": "success", "timestamp": at(2),
                "result": [{"functionResponse": {"id": "x", "name": name, "response": {"output": output}}}]})
        };
        add(
            json!({"id": "g1", "timestamp": at(2), "type": "gemini", "content": format!("{text}\n\n{table}"),
            "thoughts": [{"subject": text, "description": text, "timestamp": at(2)}],
            "tokens": {"input": 123_456_789, "output": 12_345_678, "cached": 1_234_567, "thoughts": 123_456, "tool": 0, "total": 137_160_490},
            "model": format!("a-model-with-a-very-long-name-{}", "x".repeat(60)),
            "toolCalls": [
                call("run_shell_command", json!({"command": format!("echo {text} && cargo test")}), &format!("Output: {text}\nExit Code: 1")),
                call("replace", json!({"file_path": format!("/code/{}", "deep/".repeat(60)), "old_string": text, "new_string": table}), text),
                call("mcp_server_tool", json!({"query": text}), text),
            ]}),
        );
        add(json!({"id": "e1", "timestamp": at(3), "type": "error", "content": text}));
        writeln!(log, "{{\"broken {solid}").unwrap();
        env.write(&format!("{folder}/chats/session-2026-08-1{n}T10-00-{}.jsonl", &id[..8]), log);
    }
    env
}

fn check(env: &TestEnv, before: &[&str]) {
    let wide: Vec<String> = std::thread::scope(|scope| {
        let check = |width: &'static str| too_wide(env, before, width);
        let threads: Vec<_> = WIDTHS.map(|width| scope.spawn(move || check(width))).into();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wide.is_empty(), "{} lines:\n{}", wide.len(), wide.join("\n"));
}

fn too_wide(env: &TestEnv, before: &[&str], width: &str) -> Vec<String> {
    let mut out = Vec::new();
    for args in COMMANDS {
        let args: Vec<&str> = before.iter().chain(*args).copied().collect();
        let run = env.finish(env.command(&args).env("COLUMNS", width));
        assert!(run.code.is_some(), "{args:?}");
        let most: usize = width.parse().unwrap();
        let lines = run.stdout.lines().chain(run.stderr.lines());
        // Wrapped, it could not be pasted.
        let is_setting = |line: &str| line.trim() == "\"command\": \"backstory sync --quiet\"";
        for line in lines.filter(|line| line.width() > most && !is_setting(line)) {
            out.push(format!("{args:?} at {width}: {} columns: {line}", line.width()));
        }
    }
    out
}

#[test]
fn the_demo_fits_at_any_width() {
    check(&TestEnv::new(), &["--demo"]);
}

#[test]
fn hostile_sessions_fit_at_any_width() {
    let env = hostile();
    env.run(&["sync"]);
    check(&env, &[]);
}
