//! Tests what Claude Code records about sessions outside of their messages.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::env::Env;
use backstory_core::model::{Session, SessionId, State, Usage};
use backstory_core::pricing::Table;
use backstory_core::projects::ProjectHints;
use backstory_core::query::Reports;
use backstory_core::query::prompts::prompts;
use backstory_core::query::usage::{Group, Question};
use backstory_core::read::bytes::Bytes as _;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, one, read, reply, result, user, with};
use crate::support::{Home, discover_at};

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
fn an_agent_that_an_agent_started_is_nested_under_it() {
    let of = |id: &str, line: Value| with(line, &json!({ "isSidechain": true, "agentId": id }));
    let starts = |uuid: &str, parent: &str, at, id: &str, tool: &str| {
        let mut line = reply(uuid, parent, at, id, tool);
        line["message"]["content"][0]["name"] = "Agent".into();
        line
    };
    let names =
        |agent: &str| json!({ "toolUseResult": { "status": "completed", "agentId": agent } });
    let task = |id: &str, at| of(id, user(&format!("u-{id}"), "", at, "task"));
    let tree = read(&[
        (
            &format!("{A}.jsonl"),
            &[
                user("u0", "", 0, "go"),
                starts("r0", "u0", 1, "m0", "toolu_1"),
                with(result("t0", "r0", 9, "toolu_1"), &names("a1")),
            ],
        ),
        (
            &format!("{A}/subagents/agent-a1.jsonl"),
            &[
                task("a1", 2),
                of("a1", starts("r1", "u-a1", 3, "m1", "toolu_2")),
                of("a1", with(result("t1", "r1", 8, "toolu_2"), &names("a2"))),
                of("a1", starts("r2", "t1", 9, "m2", "toolu_3")),
            ],
        ),
        // The result of one names it; the other has not ended, but a note names the call.
        (&format!("{A}/subagents/agent-a2.jsonl"), &[task("a2", 4)]),
        (&format!("{A}/subagents/agent-a3.jsonl"), &[task("a3", 10)]),
        (
            &format!("{A}/subagents/agent-a3.meta.json"),
            &[json!({ "agentType": "x", "toolUseId": "toolu_3" })],
        ),
        (&format!("{A}/subagents/agent-a4.jsonl"), &[task("a4", 11)]),
    ]);
    let id = |agent: &str| SessionId::from(format!("{A}/agent-{agent}"));
    let parent = |agent: &str| session(&tree, &id(agent)).parent.clone();
    assert_eq!(
        ["a1", "a2", "a3", "a4"].map(parent),
        [A.into(), id("a1"), id("a1"), A.into()].map(Some)
    );
    assert_eq!(session(&tree, A).subagents, 2);
    assert_eq!(session(&tree, &id("a1")).subagents, 2);
    assert_eq!(tree.all.main_of(session(&tree, &id("a3"))), A);
    let facts = tree.sessions.iter().find(|one| one.session.id == id("a1")).unwrap();
    let mut messages = tree.messages(facts, View::Full);
    tree.all.tie_agents(&facts.session, &mut messages);
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let agents: Vec<_> = calls.map(|call| call.agent_session.clone()).collect();
    assert_eq!(agents, [Some(id("a2")), Some(id("a3"))]);
}

#[test]
fn only_what_was_typed_is_read_from_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join(format!(".claude/projects/-work-app/{A}.jsonl"));
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, user("u1", "", 0, "in the session").to_string() + "\n").unwrap();
    let config = home.path().join(".claude.json");
    let write = |history: &[Value]| {
        let project =
            json!({ "history": history, "lastSessionId": A, "lastCost": 3, "env": "secret" });
        let all = json!({ "oauthAccount": "secret", "apiKey": "secret", "projects": { "/work/app": project, "odd": 7 } });
        std::fs::write(&config, all.to_string()).unwrap();
    };
    let entry = |text: &str| json!({ "display": text, "pastedContents": {} });
    let pasted = json!({ "display": "see [Pasted text #1 +1 lines]", "pastedContents": { "1": { "content": "this" } } });
    let mut archive = Archive::in_memory().unwrap();
    let candidates = ProjectHints::default();
    let mut listed = |history: &[Value]| {
        write(history);
        let found = discover_at(home.path());
        archive.sync(&found, &SyncOptions::plain(&candidates), &|_| {}).unwrap();
        archive.capture(&[], None, &|_| {}).unwrap();
        let all = Collection::new(&archive, found).unwrap();
        let typed = prompts(&archive, &all).unwrap();
        let texts: BTreeSet<String> = typed.into_iter().map(|one| one.text).collect();
        let rows = archive.files().unwrap();
        let row = rows.into_iter().find(|row| row.source.path == config).unwrap();
        let mut kept = String::new();
        archive.open(&row.source).unwrap().read_to_string(&mut kept).unwrap();
        assert!(
            row.captured == row.source.size && !kept.contains("secret") && !kept.contains(A),
            "{kept}"
        );
        texts.into_iter().collect::<Vec<_>>()
    };
    let first =
        [entry("in the session"), entry("only here"), pasted, json!("plain"), json!(5), entry(" ")];
    assert_eq!(listed(&first), ["in the session", "only here", "plain", "see this"]);
    // The program has dropped the oldest, and another one is new.
    let later = [entry("new"), entry("only here")];
    assert_eq!(listed(&later), ["in the session", "new", "only here", "plain", "see this"]);
    assert_eq!(listed(&later), ["in the session", "new", "only here", "plain", "see this"]);
    let inside = discover_at(&home.path().join(".claude"));
    assert!(inside.sources.iter().all(|source| source.path != config), "it is not in that folder");
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
    // The last line need not be a reply.
    let stopped = [&first[..], &[user("u3", "r2", 4, "three")]].concat();
    let lines = [summary("u3", "The title"), next("u9")];
    assert_eq!(title(&[(&own, &stopped), (&other, &lines)]).as_deref(), Some("The title"));
}

#[test]
fn a_title_belongs_to_the_session_that_it_names() {
    let title = |text: &str, session: &str| json!({ "type": "custom-title", "customTitle": text, "sessionId": session });
    let lines = [user("u1", "", 0, "one"), title("Mine", A), title("Another", B)];
    assert_eq!(session(&one(&lines), A).summary.as_deref(), Some("Mine"));
    assert_eq!(session(&one(&[lines[0].clone(), lines[2].clone()]), A).summary, None);
}

#[test]
fn a_project_is_the_folder_that_the_agents_folder_is_named_after() {
    let inside = with(user("u1", "", 0, "one"), &json!({ "cwd": "/work/app/src/deep" }));
    assert_eq!(session(&one(&[inside]), A).project.path.as_deref(), Some("/work/app"));
    let elsewhere = with(user("u1", "", 0, "one"), &json!({ "cwd": "/other" }));
    assert_eq!(session(&one(&[elsewhere]), A).project.path.as_deref(), Some("/other"));
}

#[test]
fn agents_without_a_name_are_tied_to_the_call_that_gave_their_task() {
    let starts = |uuid: &str, parent: &str, at, id: &str, tool: &str, task: &str| {
        let mut line = reply(uuid, parent, at, id, tool);
        line["message"]["content"][0]["name"] = "Task".into();
        line["message"]["content"][0]["input"] = json!({ "description": "x", "prompt": task });
        line
    };
    let side = |line: Value| with(line, &json!({ "isSidechain": true }));
    // Each ended at the time at which the call of the other one did.
    let tree = one(&[
        user("u1", "", 0, "go"),
        starts("r1", "u1", 1, "m1", "toolu_1", "count the files"),
        starts("r2", "r1", 1, "m1", "toolu_2", "count the lines"),
        side(user("s1", "", 2, "count the files")),
        side(user("s2", "", 2, "count the lines")),
        side(reply("s3", "s1", 30, "m3", "three")),
        result("t2", "r2", 30, "toolu_2"),
        side(reply("s4", "s2", 29, "m4", "four")),
        result("t1", "r1", 29, "toolu_1"),
    ]);
    let facts = tree.sessions.iter().find(|one| one.session.id == A).unwrap();
    let mut messages = tree.messages(facts, View::Full);
    tree.all.tie_agents(&facts.session, &mut messages);
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let agents: Vec<_> = calls.filter_map(|call| call.agent_session.clone()).collect();
    assert_eq!(
        agents,
        [format!("{A}/sidechain-s1"), format!("{A}/sidechain-s2")].map(SessionId::from)
    );
}

#[test]
fn an_agent_that_was_split_between_sessions_is_one() {
    let of = |line: Value, session: &str| {
        with(line, &json!({ "isSidechain": true, "agentId": "a1", "sessionId": session }))
    };
    let first = [of(user("s1", "", 0, "task"), A), of(reply("s2", "s1", 1, "m1", "toolu_1"), A)];
    let second =
        [of(result("s3", "s2", 2, "toolu_1"), B), of(reply("s4", "s3", 3, "m2", "done"), B)];
    let tree = read(&[
        (&format!("{A}/subagents/agent-a1.jsonl"), &first),
        (&format!("{B}/subagents/agent-a1.jsonl"), &second),
    ]);
    let ids: Vec<&str> = tree.sessions.iter().map(|one| one.session.id.as_str()).collect();
    assert_eq!(ids, [format!("{A}/agent-a1")]);
    assert_eq!(tree.sessions[0].session.calls, 2);
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
    // What was called after the last report is not part of it.
    let more = lines.iter().cloned().chain([reply("r3", "r1", 4, "m3", "second")]);
    let later = read(&[
        (&format!("{A}.jsonl"), &more.collect::<Vec<_>>()),
        (&format!("{A}/subagents/agent-a1.jsonl"), &agent),
    ]);
    assert_eq!(unrecorded(&later), want);
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

#[test]
fn commands_typed_with_an_exclamation_mark_are_prompts() {
    let tree = one(&[
        user("u1", "", 0, "<bash-input>git status</bash-input>"),
        user("u2", "u1", 1, "go on"),
    ]);
    let typed = prompts(&tree.archive, &tree.all).unwrap();
    let typed: Vec<&str> = typed.iter().map(|typed| &*typed.text).collect();
    assert_eq!(typed, ["!git status", "go on"]);
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

#[test]
fn a_project_in_a_linux_distribution_of_windows_has_a_path() {
    for (cwd, is_path) in [
        (r"\\wsl.localhost\Ubuntu\home\me\app", true),
        (r"\\wsl$\Debian\home\me\app", true),
        // Another server must not be looked at because a session names it.
        (r"\\server\share\app", false),
        (r"\\wsl.localhost.example.org\x\app", false),
    ] {
        let tree = one(&[with(user("u1", "", 0, "one"), &json!({ "cwd": cwd }))]);
        let path = session(&tree, A).project.path.as_deref().map(str::to_owned);
        assert_eq!(path, is_path.then(|| cwd.to_owned()), "{cwd}");
    }
}

#[test]
fn sessions_of_the_desktop_app_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let session = ".config/Claude/local-agent-mode-sessions/org/account/agent/local_1";
    let session = folder.path().join(session);
    let logs = session.join(".claude/projects/-sessions-one");
    std::fs::create_dir_all(&logs).unwrap();
    let lines = [user("u1", "", 0, "one"), reply("r1", "u1", 1, "m1", "first")];
    let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
    std::fs::write(logs.join(format!("{A}.jsonl")), &text).unwrap();
    std::fs::write(session.join("audit.jsonl"), &text).unwrap();
    std::fs::write(session.with_extension("json"), "{}").unwrap();
    let env = |vars: &[(&str, &Path)]| Env {
        home: Some(folder.path().to_owned()),
        vars: vars.iter().map(|(name, path)| ((*name).to_owned(), path.into())).collect(),
    };
    let files = |env: &Env| -> Vec<PathBuf> {
        let found = Agents::default().discover(env).sources.into_iter();
        found.map(|source| source.path).collect()
    };
    assert_eq!(files(&env(&[])), [logs.join(format!("{A}.jsonl"))]);
    let home = Home::of(Agents::default().discover(&env(&[])));
    assert_eq!(home.sessions.len(), 1);
    // Whoever names a folder gets only that.
    assert!(files(&env(&[("CLAUDE_CONFIG_DIR", folder.path())])).is_empty());
}
