//! Tests files as public documents about Gemini CLI describe them, down to their samples: each
//! gives the sessions, events, tools, calls and keys that the document promises.

use std::fmt::Display;
use std::path::Path;

use backstory_core::content::View;
use backstory_core::export::events::{Choice, write};
use backstory_core::model::{MessageKind, PartWhy, SessionKind};
use backstory_core::pricing::Table;
use backstory_core::projects::hash_of;
use backstory_core::query::Filter;
use backstory_core::query::Reports;
use backstory_core::query::calls::{CallRow, calls};
use backstory_core::query::commands::commands;
use backstory_core::query::tools::{Group as ToolGroup, Question as ToolQuestion, tools};
use backstory_core::query::usage::Group;
use backstory_core::time::Period;
use backstory_core::tools::tool_name;
use serde_json::{Value, json};

use crate::support::Home;
use crate::usage::question;

/// Creates a home with one file, named without `tmp/`.
fn home(file: &str, text: impl Display) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), file, text);
    let home = Home::at(folder.path());
    (folder, home)
}

fn add(folder: &Path, file: &str, text: impl Display) {
    let path = folder.join("tmp").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{text}")).unwrap();
}

fn rows(home: &Home) -> Vec<CallRow> {
    let mut out = Vec::new();
    for assembled in &home.sessions {
        let messages = home.messages(assembled, View::Full);
        let mut sink = |row| {
            out.push(row);
            Ok(())
        };
        calls(
            home.archive.agents(),
            assembled,
            &messages,
            &Table::embedded(),
            &Filter::default(),
            &mut sink,
        )
        .unwrap();
    }
    out
}

/// Returns the tokens of a home according to every report.
fn totals(home: &Home) -> Vec<u64> {
    let mut out = vec![home.sessions.iter().map(|s| s.session.usage.total()).sum()];
    for group in Group::ALL {
        let prices = Table::embedded();
        let reports = Reports::new(&home.archive, &jiff::tz::TimeZone::UTC, &prices);
        out.push(reports.usage(&question(group)).unwrap().total.usage.total());
    }
    out.push(
        rows(home)
            .iter()
            .map(|row| row.input_tokens + row.cached_input_tokens + row.output_tokens)
            .sum(),
    );
    let mut events = Vec::new();
    for assembled in &home.sessions {
        let messages = home.messages(assembled, View::Full);
        let choice = Choice {
            types: backstory_core::model::EventType::ALL.to_vec(),
            period: Period::default(),
        };
        write(assembled, &messages, &Table::embedded(), &choice, &mut events).unwrap();
    }
    let lines = String::from_utf8(events).unwrap();
    let event = |line| serde_json::from_str::<Value>(line).unwrap()["usage"]["total"].as_u64();
    out.push(lines.lines().filter_map(event).sum());
    out
}

#[test]
fn a_session_is_a_document_or_lines() {
    let header = json!({
        "sessionId": "90a6c51d-c8dd-480c-a6a4-30b0265bb001", "projectHash": "project-hash",
        "startTime": "2026-05-01T18:34:30.869Z",
    });
    let messages = [
        json!({ "id": "u1", "type": "user", "content": "run tests" }),
        json!({ "id": "g1", "type": "gemini", "timestamp": "2026-05-01T18:34:40.000Z",
            "model": "gemini-2.5-pro",
            "tokens": { "input": 120, "output": 30, "cached": 20, "thoughts": 5 },
            "toolCalls": [{ "name": "run_command", "args": { "command": "cargo test" } }] }),
    ];
    let mut document = header.clone();
    document["messages"] = json!(messages);
    let lines = format!("{header}\n{}\n{{\"$set\":{{\"x\":1}}}}\n{}\n", messages[0], messages[1]);
    for (ending, text) in [("json", document.to_string()), ("jsonl", lines)] {
        let (_folder, home) = home(&format!("project-hash/chats/session-1.{ending}"), text);
        let [row] = rows(&home).try_into().unwrap();
        assert_eq!(row.dedup_key, "gemini:90a6c51d-c8dd-480c-a6a4-30b0265bb001:g1");
        assert_eq!((row.input_tokens, row.output_tokens), (100, 35));
        assert_eq!((row.cached_input_tokens, row.cache_read_input_tokens), (20, 20));
        assert_eq!((row.cache_creation_input_tokens, row.reasoning_tokens), (0, 5));
        assert_eq!(row.model.as_deref(), Some("gemini-2.5-pro"));
        assert_eq!(row.timestamp.as_deref(), Some("2026-05-01T18:34:40.000Z"));
        assert_eq!(
            (row.tools, row.bash_commands),
            (vec!["Bash".to_owned()], vec!["cargo test".to_owned()])
        );
        assert_eq!(
            (row.user_message.as_str(), row.project.as_str()),
            ("run tests", "project-hash")
        );
    }
}

#[test]
fn tools_have_the_labels_and_categories_of_every_table() {
    for (names, label) in [
        (&["read_file", "ReadFile"][..], "Read"),
        (&["write_file", "create_file", "WriteFile"], "Write"),
        (&["edit_file", "EditFile", "replace"], "Edit"),
        (&["delete_file"], "Delete"),
        (&["list_dir", "ListDir"], "LS"),
        (&["grep_search", "search_files", "SearchText"], "Grep"),
        (&["find_files"], "Glob"),
        (&["run_command", "Shell"], "Bash"),
        (&["web_search"], "WebSearch"),
        (&["anything else"], "anything else"),
    ] {
        for name in names {
            assert_eq!(tool_name(name, None).label, label);
        }
    }
    for (name, canonical, category) in [
        ("run_shell_command", "shell_exec", "Execute"),
        ("write_file", "file_write", "Edit"),
        ("replace", "file_edit", "Edit"),
        ("read_file", "file_read", "Read"),
        ("list_directory", "file_read", "Read"),
        ("glob", "file_search", "Search"),
        ("search_file_content", "file_search", "Search"),
        ("grep_search", "file_search", "Search"),
        ("web_fetch", "web_access", "Fetch"),
        ("google_web_search", "web_access", "Fetch"),
        ("save_memory", "memory", "Think"),
        ("write_todos", "planning", "Plan"),
        ("codebase_investigator", "file_search", "Search"),
        ("activate_skill", "skill", "Other"),
    ] {
        let tool = tool_name(name, None);
        assert_eq!((tool.canonical, tool.category), (canonical, category), "{name}");
    }
}

fn reply(time: &str, text: &str) -> Value {
    json!({ "type": "gemini", "timestamp": time, "model": "gemini-2.5-pro", "content": text,
        "tokens": { "input": 120, "output": 30, "cached": 20, "thoughts": 5, "tool": 0, "total": 155 } })
}

fn document(messages: &[Value]) -> Value {
    json!({ "sessionId": "90a6c51d-c8dd-480c-a6a4-30b0265bb001", "projectHash": "h",
        "startTime": "2026-05-01T18:34:30.869Z", "messages": messages })
}

#[test]
fn replies_without_an_id_are_known_by_time_model_and_tokens_in_every_report() {
    let (first, second) = ("2026-05-01T18:34:40.000Z", "2026-05-01T18:35:40.000Z");
    let messages = [reply(first, "a"), reply(first, "a"), reply(second, "b")];
    let (folder, one) = home("h/chats/session-2026-05-01T18-34-90a6c51d.json", document(&messages));
    assert_eq!(totals(&one), vec![310; totals(&one).len()]);
    assert_eq!(one.sessions[0].session.calls, 2);
    assert_eq!(one.messages(&one.sessions[0], View::Full).len(), 2, "a copy is not listed");
    let keys: Vec<String> = rows(&one).into_iter().map(|row| row.dedup_key).collect();
    let key = |time| {
        format!("gemini:90a6c51d-c8dd-480c-a6a4-30b0265bb001:{time}:gemini-2.5-pro:120:30:20:5")
    };
    assert_eq!(keys, [key(first), key(second)]);

    // A second file has one of them in another place, and one more.
    let third = "2026-05-01T18:36:40.000Z";
    let messages = [reply(second, "b"), reply(third, "c")];
    add(folder.path(), "h/chats/session-2026-05-01T18-36-90a6c51d.json", document(&messages));
    let two = Home::at(folder.path());
    assert_eq!(totals(&two), vec![465; totals(&two).len()]);
    let texts: Vec<String> = two
        .messages(&two.sessions[0], View::Full)
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["a", "b", "c"]);

    // Lines are treated like the list of a document.
    let mut header = document(&[]);
    header.as_object_mut().unwrap().remove("messages");
    let lines = [header, reply(first, "a"), reply(first, "a"), reply(second, "b")];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let (_folder, log) =
        home("h/chats/session-2026-05-01T18-34-90a6c51d.jsonl", lines.join("\n") + "\n");
    assert_eq!(totals(&log), vec![310; totals(&log).len()]);
    let log_keys: Vec<String> = rows(&log).into_iter().map(|row| row.dedup_key).collect();
    assert_eq!(log_keys, keys);
}

#[test]
fn prompts_without_an_id_that_are_alike_are_all_kept() {
    let yes = json!({ "type": "user", "content": "yes" });
    let no = json!({ "type": "user", "content": "no" });
    let messages = [yes.clone(), reply("2026-05-01T18:34:40.000Z", "a"), yes.clone()];
    let (folder, one) = home("h/chats/session-2026-05-01T18-34-90a6c51d.json", document(&messages));
    assert_eq!(one.sessions[0].session.prompts, 2);
    add(folder.path(), "h/chats/session-2026-05-01T18-36-90a6c51d.json", document(&[yes, no]));
    let two = Home::at(folder.path());
    assert_eq!(two.sessions[0].session.prompts, 3, "one `yes` is in both files");
}

#[test]
fn what_people_and_models_said_is_told_apart_from_the_rest() {
    use MessageKind::{Error, Info, Prompt, Reply, Warning};
    let path = "/Users/alice/dev/myproject";
    let call = |name: &str, status: &str| {
        json!({ "id": format!("{name}-1"), "name": name, "args": { "file_path": format!("{path}/a.ts") },
            "result": [{ "functionResponse": { "id": format!("{name}-1"), "name": name,
                "response": { "output": "text" } } }],
            "status": status, "timestamp": "2026-01-27T15:23:09.302Z" })
    };
    let messages = json!([
        { "id": "a", "timestamp": "2026-01-27T15:22:34.666Z", "type": "user",
            "content": "Help me configure TypeScript for my project" },
        { "id": "b", "timestamp": "2026-01-27T15:22:57.473Z", "type": "gemini", "content": "I'll help.",
            "model": "gemini-3-pro-preview",
            "toolCalls": [call("read_file", "success"), call("write_file", "error"), call("web_search", "pending")],
            "thoughts": [{ "subject": "Investigating", "description": "I'm focused", "timestamp": "2026-01-27T15:22:40.290Z" }],
            "tokens": { "input": 5252, "output": 92, "cached": 2840, "thoughts": 709, "tool": 0, "total": 6053 } },
        { "id": "c", "timestamp": "2026-01-27T15:23:00.000Z", "type": "info", "content": "note" },
        { "id": "d", "timestamp": "2026-01-27T15:24:00.000Z", "type": "error", "content": "broken" },
        { "id": "e", "timestamp": "2026-01-27T15:25:00.000Z", "type": "warning", "content": "careful" },
        { "id": "f", "timestamp": "2026-01-27T15:30:46.002Z", "type": "user", "content": { "text": "thanks" } },
    ]);
    let document = json!({
        "sessionId": "a82545c4-4f3f-4c3d-8b12-0a580eae4df4", "projectHash": hash_of(path),
        "startTime": "2026-01-27T15:22:34.666Z", "lastUpdated": "2026-01-27T15:30:46.002Z",
        "summary": "Configures TypeScript", "messages": messages,
    });
    let (_folder, home) =
        home(&format!("{}/chats/session-2026-01-27T15-21-a82545c4.json", hash_of(path)), document);
    let assembled = &home.sessions[0];
    let session = &assembled.session;
    assert_eq!(session.project.path.as_deref(), Some(path), "proved by a path in a tool call");
    assert_eq!(session.title().0, "Configures TypeScript");
    assert_eq!(
        session.first_prompt.as_deref(),
        Some("Help me configure TypeScript for my project")
    );
    assert_eq!(session.last_prompt.as_deref(), Some("thanks"));
    assert_eq!(session.updated.unwrap().to_string(), "2026-01-27T15:30:46.002Z");
    let messages = home.messages(assembled, View::Full);
    let kinds: Vec<MessageKind> = messages.iter().map(|message| message.kind).collect();
    assert_eq!(kinds, [Prompt, Reply, Info, Error, Warning, Prompt]);
    let tools: Vec<&str> = messages[1].tool_calls.iter().map(|call| call.status.name()).collect();
    assert_eq!(tools, ["success", "error", "unfinished"]);
    assert_eq!(session.usage.total(), 6053);
}

#[test]
fn a_compression_begins_another_file_of_the_same_session() {
    let document = |start: &str, messages: Value| {
        let document = json!({ "sessionId": "cb7326d0-256b-4fa8-b19c-554d0d991cd7", "projectHash": "h",
            "startTime": start, "lastUpdated": start, "messages": messages });
        serde_json::to_string_pretty(&document).unwrap()
    };
    let typed = "帮我 review 一下 @state/**\n--- Content from referenced files ---\nContent from @state/a.md:\n# Step 1";
    let before = json!([
        { "id": "11f0cba9-b50b-4c62-9b56-3597c4392039", "timestamp": "2025-12-16T06:35:09.158Z", "type": "user", "content": typed },
        { "id": "e8919ca1-96bd-4ad5-b7a9-83b53d628f9e", "timestamp": "2025-12-17T11:05:48.626Z", "type": "info", "content": "" },
    ]);
    let after = json!([
        { "id": "a4cc7d17-6246-427c-955e-e4d3ebe9031b", "timestamp": "2025-12-17T11:06:07.158Z", "type": "user", "content": "go on" },
    ]);
    let (folder, _) = home(
        "h/chats/session-2025-12-16T06-34-cb7326d0.json",
        document("2025-12-16T06:35:09.158Z", before),
    );
    let name = "h/chats/session-2025-12-17T11-05-cb7326d0.json";
    add(folder.path(), name, document("2025-12-17T11:06:07.158Z", after));
    let home = Home::at(folder.path());
    let [assembled] = home.sessions.as_slice() else { panic!("one session") };
    let parts: Vec<&str> = assembled.session.parts.iter().map(|part| part.why.name()).collect();
    assert_eq!(parts, ["first", "compress"]);
    let messages = home.messages(assembled, View::Full);
    assert_eq!(messages[0].words(), "帮我 review 一下 @state/**");
    assert_eq!(messages[0].references[0].path, "state/a.md");
    let fates: Vec<&str> = messages.iter().map(|message| message.fate.name()).collect();
    assert_eq!(fates, ["compressed", "compressed", "kept"]);
}

/// Returns a session file that contains the model's own history.
fn history() -> Value {
    json!({ "history": [
        { "role": "user", "parts": [{ "text": "help me fix this bug" }] },
        { "role": "model", "parts": [
            { "functionCall": { "name": "read_file", "args": { "target_file": "/src/main.ts" } } },
            { "functionCall": { "name": "run_shell_command", "args": { "command": "mak all" } } }] },
        { "role": "user", "parts": [
            { "functionResponse": { "name": "read_file",
                "response": { "name": "read_file", "content": "file contents..." } } },
            { "functionResponse": { "name": "run_shell_command",
                "response": { "name": "run_shell_command", "content": { "error": "command not found" } } } }] },
        { "role": "model", "parts": [{ "text": "The file contains..." }] }
    ] })
}

#[test]
fn a_history_in_a_session_file_is_a_session_like_any_other() {
    let stem = "session-2025-09-18T02-45-3b44bc68";
    let (folder, _) = home(&format!("h/chats/{stem}.json"), history());
    add(folder.path(), "h/checkpoint-tag.json", history());
    add(folder.path(), "h/logs.json", "[]");
    add(folder.path(), "h/shell_history", "ls\n");
    let home = Home::at(folder.path());
    let listed: Vec<_> = home.all.sessions.iter().filter(|session| session.is_listed()).collect();
    let [session] = listed.as_slice() else { panic!("{} sessions", listed.len()) };
    assert_eq!((session.id.as_str(), session.kind), (stem, SessionKind::Main));
    assert_eq!(session.title().0, "help me fix this bug");
    assert_eq!((session.prompts, session.turns, session.tool_calls), (1, 3, 2));
    assert_eq!(session.started.unwrap().to_string(), "2025-09-18T02:45:00Z");
    assert_eq!(session.updated.unwrap().to_string(), "2025-09-18T02:45:00.004Z");

    let assembled = home.sessions.iter().find(|s| s.session.id == stem).unwrap();
    let messages = home.messages(assembled, View::Full);
    let times: Vec<String> =
        messages.iter().map(|message| message.at.unwrap().to_string()).collect();
    assert!(times.is_sorted() && times[0] == "2025-09-18T02:45:00.001Z", "{times:?}");

    let question = |checkpoints| ToolQuestion {
        group: ToolGroup::Tool,
        period: Period::default(),
        sessions: None,
        checkpoints,
    };
    let counted = |checkpoints| -> Vec<(String, u64, u64, u64)> {
        let rows = tools(&home.archive, &question(checkpoints)).unwrap();
        rows.into_iter()
            .map(|row| (row.key, row.counts.calls, row.counts.success, row.counts.error))
            .collect()
    };
    let row = |name: &str, calls, success, error| (name.to_owned(), calls, success, error);
    assert_eq!(counted(false), [row("read_file", 1, 1, 0), row("run_shell_command", 1, 0, 1)]);
    assert_eq!(counted(true), [row("read_file", 2, 2, 0), row("run_shell_command", 2, 0, 2)]);

    let ids = [assembled.session.id.clone()];
    let rows = commands(&home.archive, &ids, &Period::default(), false, usize::MAX).unwrap();
    let rows: Vec<_> = rows.into_iter().map(|row| (row.program, row.runs, row.failures)).collect();
    assert_eq!(rows, [("mak".to_owned(), 1, 1)]);
}

#[test]
fn only_files_called_like_sessions_make_a_session_of_a_history() {
    for (file, id) in [
        ("h/checkpoint-tag.json", "checkpoint/unknown/tag"),
        (
            "h/checkpoints/2026-03-01T10-00-00_000Z-a.json",
            "checkpoint/unknown/2026-03-01T10-00-00_000Z-a",
        ),
        ("h/chats/shared.json", "checkpoint/unknown/shared"),
    ] {
        let (_folder, home) = home(file, history());
        let session = &home.sessions[0].session;
        assert_eq!((session.id.as_str(), session.kind), (id, SessionKind::Checkpoint));
        assert!(!session.is_listed());
    }
}

#[test]
fn every_part_of_a_session_says_what_it_is_to_the_others() {
    let prompt = |id: &str| json!({ "id": id, "timestamp": format!("2025-10-0{id}T10:00:00.000Z"), "type": "user", "content": "go" });
    let header = json!({ "sessionId": "3b44bc68-0000-4000-8000-000000000000", "projectHash": hash_of("/home/me/app"),
        "startTime": "2025-10-01T10:00:00.000Z", "lastUpdated": "2025-10-01T10:00:00.000Z" });
    let whole = |messages: Value| {
        let mut document = header.clone();
        document["messages"] = messages;
        format!("{document:#}")
    };
    let lines = |id: &str| format!("{header}\n{}\n", prompt(id));
    let saved = |text: &str| {
        let turns = json!([{ "role": "user", "parts": [{ "text": text }] },
            { "role": "model", "parts": [{ "text": "ok" }] }]);
        format!("{turns:#}")
    };
    let chat = |n: u8| format!("app/chats/session-2025-10-0{n}T10-00-3b44bc68.json");
    let tag = |folder: &str| format!("{folder}/checkpoint-tag.json");
    let first = || (chat(1), whole(json!([prompt("1")])));
    for (files, why) in [
        // Documents were only ever continued in another file after a compression.
        ([first(), (chat(2), whole(json!([prompt("2")])))], PartWhy::Compress),
        ([first(), (chat(2) + "l", lines("2"))], PartWhy::Continuation),
        ([first(), (chat(2), whole(json!([prompt("1"), prompt("2")])))], PartWhy::Resume),
        ([first(), (chat(2), whole(json!([prompt("1")])))], PartWhy::Copy),
        // Saved chats are documents too, but another one of the same name was not compressed.
        (
            [
                (tag("app"), saved("mend the roof")),
                (tag(&hash_of("/home/me/app")), saved("paint the door")),
            ],
            PartWhy::Continuation,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        add(folder.path(), "app/.project_root", "/home/me/app");
        for (file, text) in &files {
            add(folder.path(), file, text);
        }
        let home = Home::at(folder.path());
        let [assembled] = home.sessions.as_slice() else {
            panic!("{} sessions", home.sessions.len())
        };
        let found: Vec<PartWhy> = assembled.session.parts.iter().map(|part| part.why).collect();
        assert_eq!(found, [PartWhy::First, why], "{}", files[1].0);
    }
}
