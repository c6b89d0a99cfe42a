//! Writes small trees as Claude Code does.

use backstory_core::content::View;
use backstory_core::model::Message;
use serde_json::{Value, json};

use crate::support::Home;

pub(crate) const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
pub(crate) const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

/// Returns a line of the tree, `at` seconds after ten o'clock. An empty parent means none.
pub(crate) fn line(kind: &str, uuid: &str, parent: &str, at: u32, more: &Value) -> Value {
    let mut line = json!({
        "type": kind, "uuid": uuid, "parentUuid": (!parent.is_empty()).then_some(parent), "sessionId": A,
        "timestamp": format!("2026-03-01T10:{:02}:{:02}.000Z", at / 60, at % 60), "cwd": "/work/app",
        "isSidechain": false,
    });
    merge(&mut line, more);
    line
}

pub(crate) fn merge(line: &mut Value, more: &Value) {
    for (key, value) in more.as_object().unwrap() {
        line[key] = value.clone();
    }
}

pub(crate) fn user(uuid: &str, parent: &str, at: u32, text: &str) -> Value {
    let message = json!({ "message": { "role": "user", "content": text } });
    line("user", uuid, parent, at, &message)
}

pub(crate) fn result(uuid: &str, parent: &str, at: u32, tool: &str) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": tool, "content": "done" });
    line("user", uuid, parent, at, &json!({ "message": { "role": "user", "content": [block] } }))
}

/// Returns a line of a reply: text, or a tool call if `said` begins with `toolu`.
pub(crate) fn reply(uuid: &str, parent: &str, at: u32, id: &str, said: &str) -> Value {
    let block = if said.starts_with("toolu") {
        json!({ "type": "tool_use", "id": said, "name": "Bash", "input": { "command": "ls" } })
    } else {
        json!({ "type": "text", "text": said })
    };
    let message = json!({ "id": id, "role": "assistant", "model": "claude-opus-5", "content": [block],
        "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 2 } });
    line(
        "assistant",
        uuid,
        parent,
        at,
        &json!({ "message": message, "requestId": format!("req-{id}") }),
    )
}

/// Returns a line with additional fields.
pub(crate) fn with(mut line: Value, more: &Value) -> Value {
    merge(&mut line, more);
    line
}

/// Returns a reply without a stop reason.
pub(crate) fn unfinished(mut line: Value) -> Value {
    line["message"]["stop_reason"] = Value::Null;
    line
}

/// The result of reading a tree, and the folder that contains its files.
pub(crate) struct Tree {
    pub(crate) home: Home,
    pub(crate) folder: tempfile::TempDir,
}

impl std::ops::Deref for Tree {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

/// Writes logs below a project, and reads them.
pub(crate) fn read(files: &[(&str, &[Value])]) -> Tree {
    let folder = tempfile::tempdir().unwrap();
    for (name, lines) in files {
        let path = folder.path().join("projects/-work-app").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
        std::fs::write(path, text).unwrap();
    }
    Tree { home: Home::at(folder.path()), folder }
}

pub(crate) fn one(lines: &[Value]) -> Tree {
    read(&[(&format!("{A}.jsonl"), lines)])
}

/// Returns the messages of a session.
pub(crate) fn messages(home: &Home, id: &str, view: View) -> Vec<Message> {
    let session = home.sessions.iter().find(|session| session.session.id == id);
    home.messages(session.unwrap_or_else(|| panic!("no session {id}")), view)
}

/// Returns the texts of the current view, and the ids of its tool calls.
pub(crate) fn current(home: &Home, id: &str) -> Vec<String> {
    messages(home, id, View::Current).iter().map(said).collect()
}

/// Returns the texts of the full view, with the fates of messages that were not kept.
pub(crate) fn full(home: &Home, id: &str) -> Vec<String> {
    let with_fate = |message: &Message| match message.fate.name() {
        "kept" => said(message),
        fate => format!("{} ({fate})", said(message)),
    };
    messages(home, id, View::Full).iter().map(with_fate).collect()
}

fn said(message: &Message) -> String {
    let calls = message.tool_calls.iter().map(|call| call.id.as_str());
    let words = Some(message.text.as_str()).filter(|text| !text.is_empty());
    words.into_iter().chain(calls).collect::<Vec<_>>().join("+")
}
