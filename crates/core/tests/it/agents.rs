//! Tests subagents and the calls that started them.

use backstory_core::content::View;
use serde_json::{Value, json};

use crate::support::Home;

const PARENT: &str = "0000000a-0000-4000-8000-000000000000";

fn log(id: &str, kind: &str, messages: &[Value]) -> String {
    let header = json!({ "sessionId": id, "projectHash": "h", "kind": kind, "startTime": "2026-03-01T10:00:00Z" });
    let lines = std::iter::once(&header).chain(messages).map(Value::to_string);
    lines.map(|line| line + "\n").collect()
}

#[test]
fn agents_are_tied_to_the_call_that_ended_when_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("tmp/app/chats");
    std::fs::create_dir_all(chats.join(PARENT)).unwrap();
    let call = |n: usize, ended: &str, agent: Option<&str>| {
        json!({ "id": format!("call-{n}"), "name": "invoke_agent", "args": { "agent_name": "generalist" },
            "status": "success", "timestamp": format!("2026-03-01T{ended}Z"), "agentId": agent })
    };
    let reply = json!({ "id": "0000000a-0000-4000-8000-000000000001", "type": "gemini", "content": "",
        "timestamp": "2026-03-01T10:00:01Z", "toolCalls": [
            call(1, "10:10:03", None), call(2, "10:20:00", None), call(3, "10:30:00", Some("named")),
            call(4, "10:40:09", None)] });
    std::fs::write(chats.join("session-1.jsonl"), log(PARENT, "main", &[reply])).unwrap();
    // The second does not end near any call; the third is named by its call.
    for (name, ended) in
        [("near", "10:10:00"), ("nearer", "10:20:01"), ("named", "10:20:00"), ("far", "10:40:00")]
    {
        let task = json!({ "id": format!("task-{name}"), "type": "user", "content": "do it",
            "timestamp": format!("2026-03-01T{ended}Z") });
        std::fs::write(
            chats.join(PARENT).join(format!("{name}.jsonl")),
            log(name, "subagent", &[task]),
        )
        .unwrap();
    }
    let home = Home::at(folder.path());
    let parent = home.sessions.iter().find(|assembled| assembled.session.id == PARENT).unwrap();
    let mut messages = home.messages(parent, View::Full);
    home.all.tie_agents(&parent.session, &mut messages);
    let tied: Vec<Option<&str>> =
        messages[0].tool_calls.iter().map(|call| call.agent_session.as_deref()).collect();
    let id = |name: &str| format!("{PARENT}/{name}");
    let [near, nearer, named, far] = ["near", "nearer", "named", "far"].map(id);
    assert_eq!(tied, [Some(near.as_str()), Some(&nearer), Some(&named), None]);
    let loose: Vec<&str> = home
        .all
        .loose_agents(&parent.session, &messages)
        .into_iter()
        .map(|session| session.id.as_str())
        .collect();
    assert_eq!(loose, [far]);
}
