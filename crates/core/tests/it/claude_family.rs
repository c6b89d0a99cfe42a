//! Reads sessions of Claude Code that belong together: forks, sessions in one file, and agents.

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::model::SessionId;
use backstory_core::projects::ProjectHints;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, current, full, line, one, read, reply, result, user, with};
use crate::support::discover_at;

/// Returns lines as a fork copies them: with their own times and the session of the fork.
fn copied(lines: &[Value]) -> Vec<Value> {
    lines.iter().map(|line| with(line.clone(), &json!({ "sessionId": B }))).collect()
}

#[test]
fn a_fork_shows_what_it_copied_only_in_the_current_view() {
    let original =
        [user("u1", "", 0, "one"), reply("r1", "u1", 1, "m1", "first"), user("u2", "r1", 2, "two")];
    let own = [user("u3", "r1", 600, "three"), reply("r3", "u3", 601, "m3", "third")];
    let queue = json!({ "type": "queue-operation", "sessionId": B, "timestamp": "2026-03-01T10:09:59.000Z" });
    let newest = [vec![queue], copied(&original[..2]), copied(&own)].concat();
    // Versions before 2.1.104 keep the old session on some lines, or on all.
    let older = [original[..2].to_vec(), copied(&own)].concat();
    let marked: Vec<Value> = copied(&original[..2])
        .into_iter()
        .map(|line| with(line, &json!({ "forkedFrom": { "sessionId": A, "messageUuid": "x" } })))
        .chain(copied(&own))
        .collect();
    for fork in [newest, older, marked] {
        // The order of the names does not matter.
        for (first, second) in [(A, B), (B, A)] {
            let rename = |lines: &[Value]| -> Vec<Value> {
                let text = serde_json::to_string(lines).unwrap();
                let text = text.replace(A, "@").replace(B, second).replace('@', first);
                serde_json::from_str(&text).unwrap()
            };
            let (original, fork) = (rename(&original), rename(&fork));
            let home = read(&[
                (&format!("{first}.jsonl"), &original),
                (&format!("{second}.jsonl"), &fork),
            ]);
            assert_eq!(full(&home, first), ["one", "first", "two"]);
            assert_eq!(full(&home, second), ["three", "third"]);
            assert_eq!(current(&home, second), ["one", "first", "three", "third"]);
            let session = |id: &str| home.all.get(id).unwrap();
            assert_eq!((session(first).calls, session(second).calls), (1, 1));
            assert_eq!((session(first).prompts, session(second).prompts), (2, 1));
            // Without the original, the fork has all messages.
            let alone = read(&[(&format!("{second}.jsonl"), &fork)]);
            assert_eq!(full(&alone, second), ["one", "first", "three", "third"]);
        }
    }
}

#[test]
fn a_file_can_hold_two_sessions_and_a_session_two_files() {
    let cleared = json!({ "sessionId": B });
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        with(user("u2", "", 2, "two"), &cleared),
        with(reply("r2", "u2", 3, "m2", "second"), &cleared),
    ]);
    assert_eq!(
        (full(&home, A), full(&home, B)),
        (vec!["one".into(), "first".into()], vec!["two".into(), "second".into()])
    );

    let lines = [
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        user("u2", "r1", 100, "two"),
        reply("r2", "u2", 101, "m2", "second"),
    ];
    let home = read(&[(&format!("{A}.jsonl"), &lines[..2]), (&format!("{B}.jsonl"), &lines[2..])]);
    assert_eq!(home.sessions.len(), 1);
    assert_eq!(current(&home, A), ["one", "first", "two", "second"]);

    // A file that was set aside repeats lines of the other file.
    let aside = format!("{A}.jsonl.superseded-1700000000000");
    let home = read(&[(&format!("{A}.jsonl"), &lines), (&aside, &lines[..2])]);
    assert_eq!(full(&home, A), ["one", "first", "two", "second"]);
    assert_eq!(current(&home, A), ["one", "first", "two", "second"]);
}

#[test]
fn agents_are_found_in_all_their_places() {
    let parent = [user("u1", "", 0, "one"), reply("r1", "u1", 1, "m1", "toolu_1")];
    let side = json!({ "isSidechain": true });
    let task = [
        with(user("s1", "", 2, "the task"), &side),
        with(reply("s2", "s1", 3, "m2", "the answer"), &side),
    ];
    let named: Vec<Value> =
        task.iter().map(|line| with(line.clone(), &json!({ "agentId": "a1" }))).collect();
    let progress = |uuid: &str, parent: &str, inner: &Value| {
        let data = json!({ "type": "agent_progress", "agentId": "a1", "message": inner });
        line("progress", uuid, parent, 4, &json!({ "data": data, "parentToolUseID": "toolu_1" }))
    };
    let copies = [progress("p1", "r1", &named[0]), progress("p2", "p1", &named[1])];
    let main = format!("{A}.jsonl");
    let inside = format!("{A}/subagents/agent-a1.jsonl");
    let agent = format!("{A}/agent-a1");
    let in_file = [&parent[..], &task].concat();
    let with_copies = [&parent[..], &copies].concat();
    let homes = [
        (read(&[(&main, &in_file)]), format!("{A}/sidechain-s1")),
        (read(&[(&main, &parent), ("agent-a1.jsonl", &named)]), agent.clone()),
        (read(&[(&main, &parent), (&inside, &named)]), agent.clone()),
        (read(&[(&main, &with_copies), (&inside, &named)]), agent.clone()),
        (read(&[(&main, &with_copies)]), agent.clone()),
        (read(&[(&inside, &named)]), agent),
    ];
    for (home, id) in homes {
        let session = home.all.get(&id).unwrap_or_else(|| panic!("no {id}"));
        assert_eq!((session.kind.name(), session.parent.as_deref()), ("subagent", Some(A)));
        assert_eq!((session.calls, session.prompts), (1, 0), "{id}");
        assert_eq!(full(&home, &id), ["the task", "the answer"]);
        assert_eq!(current(&home, &id), ["the task", "the answer"]);
        assert_eq!(session.project.path.as_deref(), Some("/work/app"));
    }
}

#[test]
fn a_fork_does_not_take_over_an_agent() {
    let inner = [
        with(user("s1", "", 2, "the task"), &json!({ "isSidechain": true, "agentId": "a1" })),
        with(
            reply("s2", "s1", 3, "m2", "the answer"),
            &json!({ "isSidechain": true, "agentId": "a1" }),
        ),
    ];
    let progress = |uuid: &str, parent: &str, at: u32, inner: &Value| {
        let data = json!({ "type": "agent_progress", "agentId": "a1", "message": inner });
        line("progress", uuid, parent, at, &json!({ "data": data, "parentToolUseID": "toolu_1" }))
    };
    let original = [
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "toolu_1"),
        progress("p1", "r1", 4, &inner[0]),
        progress("p2", "p1", 5, &inner[1]),
        result("t1", "p2", 6, "toolu_1"),
    ];
    let mark = json!({ "forkedFrom": { "sessionId": B, "messageUuid": "x" } });
    let fork: Vec<Value> = original
        .iter()
        .map(|line| with(line.clone(), &mark))
        .chain([user("u9", "t1", 600, "nine"), reply("r9", "u9", 601, "m9", "ninth")])
        .collect();
    let home = read(&[(&format!("{B}.jsonl"), &copied(&original)), (&format!("{A}.jsonl"), &fork)]);
    let agents: Vec<&str> =
        home.sessions.iter().filter_map(|session| session.session.parent.as_deref()).collect();
    assert_eq!(agents, [B]);
    assert_eq!(home.all.get(B).unwrap().calls, 1);
}

#[test]
fn an_agent_that_was_forgotten_stays_gone() {
    let side = json!({ "isSidechain": true, "agentId": "a1" });
    let tree = read(&[
        (&format!("{A}.jsonl"), &[user("u1", "", 0, "one")]),
        (&format!("{A}/subagents/agent-a1.jsonl"), &[with(user("s1", "", 2, "the task"), &side)]),
    ]);
    let found = discover_at(tree.folder.path());
    let candidates = ProjectHints::default();
    let setup = SyncOptions::plain(&candidates);
    let mut archive = Archive::of(&found).unwrap();
    let ids = |archive: &Archive| -> Vec<SessionId> {
        archive.sessions().unwrap().into_iter().map(|session| session.id).collect()
    };
    let agent = SessionId::from(format!("{A}/agent-a1"));
    assert_eq!(ids(&archive), [A, &agent]);
    archive.forget(std::slice::from_ref(&agent), &setup, Timestamp::UNIX_EPOCH).unwrap();
    archive.sync(&found, &setup, &|_| {}).unwrap();
    assert_eq!(ids(&archive), [A]);
}
