//! Tests what Claude Code records about sessions outside of their messages.

use std::path::Path;

use backstory_core::model::{Session, State, Usage};
use backstory_core::pricing::Table;
use backstory_core::query::Reports;
use backstory_core::query::prompts::prompts;
use backstory_core::query::usage::{Group, Question};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, one, read, reply, user, with};
use crate::support::Home;

fn session<'a>(home: &'a Home, id: &str) -> &'a Session {
    home.all.get(id).unwrap_or_else(|| panic!("no session {id}"))
}

#[test]
fn files_beside_a_session_name_it_and_the_call_that_started_an_agent() {
    let agent = with(user("u1", "", 2, "count"), &json!({ "isSidechain": true, "agentId": "a1" }));
    let about = json!({ "agentType": "general-purpose", "description": "Count files", "toolUseId": "toolu_1" });
    let tree = read(&[
        (&format!("{A}.jsonl"), &[user("u0", "", 0, "go"), reply("r0", "u0", 1, "m0", "toolu_1")]),
        (&format!("{A}/custom-title.json"), &[json!({ "customTitle": "my title" })]),
        (&format!("{A}/subagents/agent-a1.jsonl"), &[agent]),
        (&format!("{A}/subagents/agent-a1.meta.json"), &[about]),
        (&format!("{A}/subagents/agent-a2.meta.json"), &[json!({ "agentType": "Explore" })]),
    ]);
    assert_eq!(tree.all.sessions.len(), 2, "a note alone is not a session");
    assert_eq!(session(&tree, A).summary.as_deref(), Some("my title"));
    let agent = session(&tree, &format!("{A}/agent-a1"));
    assert_eq!(agent.summary.as_deref(), Some("general-purpose: Count files"));
    assert_eq!(agent.spawned_by.as_deref(), Some("toolu_1"));
}

#[test]
fn a_summary_in_another_file_is_the_title_of_the_session_that_ended_there() {
    let summary =
        |leaf: &str, text: &str| json!({ "type": "summary", "leafUuid": leaf, "summary": text });
    let next = |uuid: &str| with(user(uuid, "", 9, "later"), &json!({ "sessionId": B }));
    let first = [
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        user("u2", "r1", 2, "two"),
        reply("r2", "u2", 3, "m2", "second"),
    ];
    let title = |files: &[(&str, &[Value])]| session(&read(files), A).summary.clone();
    let own = format!("{A}.jsonl");
    let other = format!("{B}.jsonl");
    for leaf in ["r1", "r2"] {
        let lines = [summary(leaf, "The title"), summary("r9", "Another"), next("u9")];
        assert_eq!(title(&[(&own, &first), (&other, &lines)]).as_deref(), Some("The title"));
        assert_eq!(title(&[(&own, &first), (&other, &lines[..2])]).as_deref(), Some("The title"));
    }
    let refused = [summary("r2", "API Error: 400"), next("u9")];
    assert_eq!(title(&[(&own, &first), (&other, &refused)]), None);
    let named =
        [&first[..], &[json!({ "type": "ai-title", "aiTitle": "Named", "sessionId": A })]].concat();
    let lines = [summary("r2", "The title"), next("u9")];
    assert_eq!(title(&[(&own, &named), (&other, &lines)]).as_deref(), Some("Named"));
}

/// Returns the line that sums up a session.
fn costs(session: &str, input: u64, output: u64) -> Value {
    let model = json!({ "inputTokens": input, "outputTokens": output, "thinkingTokens": 0,
        "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0 });
    json!({ "type": "cost-state", "sessionId": session, "modelUsage": { "claude-opus-5": model } })
}

fn unrecorded(home: &Home) -> Usage {
    let prices = Table::embedded();
    let reports = Reports::new(&home.archive, &TimeZone::UTC, &prices);
    reports.usage(&Question::new(Group::Daily)).unwrap().unrecorded
}

#[test]
fn tokens_that_only_the_program_counted_are_unrecorded() {
    let turn = [user("u1", "", 0, "one"), reply("r1", "u1", 1, "m1", "first")];
    let agent = [
        with(user("u2", "", 2, "task"), &json!({ "isSidechain": true })),
        with(reply("r2", "u2", 3, "m2", "done"), &json!({ "isSidechain": true })),
    ];
    let lines: Vec<Value> = turn.iter().cloned().chain([costs(A, 1, 2), costs(A, 9, 4)]).collect();
    let tree = read(&[
        (&format!("{A}.jsonl"), &lines),
        (&format!("{A}/subagents/agent-a1.jsonl"), &agent),
    ]);
    // Both calls have one token of input and two of output.
    let want = Usage { input: 7, ..Usage::default() };
    assert_eq!(session(&tree, A).unrecorded, Some(want));
    assert_eq!(session(&tree, A).usage.total(), 3);
    assert_eq!(unrecorded(&tree), want);
    // A fork begins with the sums of its origin.
    let fork = |line: &Value| {
        with(line.clone(), &json!({ "sessionId": B, "forkedFrom": { "sessionId": A } }))
    };
    let copy: Vec<Value> = turn.iter().map(fork).chain([costs(B, 9, 4)]).collect();
    let both = read(&[
        (&format!("{A}.jsonl"), &lines),
        (&format!("{A}/subagents/agent-a1.jsonl"), &agent),
        (&format!("{B}.jsonl"), &copy),
    ]);
    assert_eq!(unrecorded(&both), want);
    assert_eq!(session(&both, B).unrecorded, None);
}

#[test]
fn a_session_that_only_the_prompt_log_has_belongs_to_its_project() {
    let tree = one(&[user("u1", "", 0, "one")]);
    let line = json!({ "display": "gone", "timestamp": 1_772_359_200_000_u64, "project": "/work/other",
        "sessionId": B });
    std::fs::write(tree.folder.path().join("history.jsonl"), line.to_string()).unwrap();
    let home = Home::at(tree.folder.path());
    assert_eq!(session(&home, B).state, State::LogOnly);
    assert_eq!(session(&home, B).project.path.as_deref(), Some("/work/other"));
}

#[test]
fn a_line_without_a_session_belongs_to_its_project() {
    let tree = one(&[user("u1", "", 0, "one")]);
    let line =
        |text: &str| json!({ "display": text, "timestamp": 1, "project": "/work/app" }).to_string();
    let lines = [line("one"), line("gone"), line("/exit")].join("\n");
    std::fs::write(tree.folder.path().join("history.jsonl"), lines).unwrap();
    let home = Home::at(tree.folder.path());
    let typed = prompts(&home.archive, &home.all).unwrap();
    let found: Vec<(&str, &str, bool)> = typed
        .iter()
        .map(|typed| (&*typed.text, typed.project.path.as_deref().unwrap(), typed.log_only))
        .collect();
    let app = "/work/app";
    assert_eq!(found, [("gone", app, true), ("/exit", app, true), ("one", app, false)]);
}

/// Reads sessions that ran in these folders, and returns the project, worktree and branch of each.
fn placed(sessions: &[(&str, &str, &[Value])]) -> Vec<[Option<String>; 3]> {
    let folder = tempfile::tempdir().unwrap();
    for (n, (cwd, branch, more)) in sessions.iter().enumerate() {
        let name: String =
            cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let id = format!("{n}0000000-0000-4000-8000-000000000000");
        let place = json!({ "cwd": cwd, "gitBranch": branch, "sessionId": id });
        let first = with(user(&format!("u{n}"), "", 0, "hi"), &place);
        let project = folder.path().join("projects").join(name);
        std::fs::create_dir_all(&project).unwrap();
        let lines: Vec<String> =
            std::iter::once(&first).chain(*more).map(Value::to_string).collect();
        std::fs::write(project.join(format!("{id}.jsonl")), lines.join("\n")).unwrap();
    }
    let home = Home::at(folder.path());
    let fact = |session: &Session| {
        [session.project.path.clone(), session.worktree.clone(), session.branch.clone()]
    };
    home.all.sessions.iter().map(fact).collect()
}

#[test]
fn worktrees_of_a_repository_are_one_project() {
    let disk = tempfile::tempdir().unwrap();
    let root = disk.path().canonicalize().unwrap();
    let path = |below: &str| root.join(below).to_str().unwrap().to_owned();
    for folder in ["app/.git/worktrees/fix", "fix/src", "module", "app/.git/modules/module"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let link = |folder: &str, to: &str| {
        std::fs::write(Path::new(&path(folder)).join(".git"), format!("gitdir: {to}\n")).unwrap();
    };
    link("fix", &path("app/.git/worktrees/fix"));
    link("module", "../app/.git/modules/module");
    let entered = json!({ "type": "worktree-state", "sessionId": "s", "worktreeSession":
        { "originalCwd": "/work/app", "worktreePath": "/tmp/wt" } });
    let placed = placed(&[
        ("/work/app", "main", &[]),
        ("/work/app/.claude/worktrees/x", "x", &[]),
        ("/tmp/wt", "y", &[entered]),
        (&path("fix/src"), "fix", &[]),
        (&path("module"), "HEAD", &[]),
    ]);
    let some = |text: &str| Some(text.to_owned());
    let want = [
        [some("/work/app"), None, some("main")],
        [some("/work/app"), some("/work/app/.claude/worktrees/x"), some("x")],
        [some("/work/app"), some("/tmp/wt"), some("y")],
        [Some(path("app/src")), Some(path("fix/src")), some("fix")],
        [Some(path("module")), None, None],
    ];
    assert_eq!(placed, want);
}
