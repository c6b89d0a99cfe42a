//! Writes made-up session files of Codex CLI.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// A thread, and others that come from it.
pub(crate) const THREAD: &str = "01a00000-0000-7000-8000-00000000000a";
pub(crate) const FORK: &str = "01a00000-0001-7000-8000-00000000000b";
pub(crate) const OTHER: &str = "01a00000-0002-7000-8000-00000000000c";

/// Returns the id of a turn that began on 2026-03-01.
pub(crate) fn turn(n: u32) -> String {
    format!("019ca8a0-0000-7000-8000-{n:012}")
}

/// Returns the numbers of a call, or of a total.
pub(crate) fn tokens(input: u64, output: u64) -> Value {
    json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output })
}

/// The lines of a session file, one second apart.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) lines: Vec<Value>,
    at: Timestamp,
    ordinal: Option<u64>,
    pause: SignedDuration,
}

impl Log {
    /// Begins a file at a time.
    pub(crate) fn new(at: &str) -> Self {
        let pause = SignedDuration::from_secs(1);
        Self { lines: Vec::new(), at: at.parse().unwrap(), ordinal: None, pause }
    }

    /// Begins a file whose lines have positions.
    pub(crate) fn paginated(at: &str, first: u64) -> Self {
        Self { ordinal: Some(first), ..Self::new(at) }
    }

    /// Returns the position of the next line.
    pub(crate) fn position(&self) -> u64 {
        self.ordinal.unwrap()
    }

    pub(crate) fn line(mut self, kind: &str, payload: Value) -> Self {
        let mut line = json!({ "timestamp": self.at.to_string(), "type": kind });
        line["payload"] = payload;
        if let Some(ordinal) = &mut self.ordinal {
            line["ordinal"] = (*ordinal).into();
            *ordinal += 1;
        }
        self.lines.push(line);
        self.at += self.pause;
        self
    }

    /// Adds the header of a thread, with further fields.
    pub(crate) fn header(self, id: &str, more: &Value) -> Self {
        let mut header = json!({ "id": id, "timestamp": self.at.to_string(), "cwd": "/work/app" });
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.line("session_meta", header)
    }

    /// Adds the lines of another file, as a fork that copies does: at once.
    pub(crate) fn copied(mut self, lines: &[Value]) -> Self {
        let pause = std::mem::replace(&mut self.pause, SignedDuration::from_millis(1));
        for line in lines {
            self = self.line(line["type"].as_str().unwrap(), line["payload"].clone());
        }
        self.pause = pause;
        self.at += SignedDuration::from_mins(5);
        self
    }

    pub(crate) fn event(self, payload: Value) -> Self {
        self.line("event_msg", payload)
    }

    pub(crate) fn started(self, turn: &str) -> Self {
        self.event(json!({ "type": "task_started", "turn_id": turn }))
    }

    pub(crate) fn model(self, model: &str) -> Self {
        self.line("turn_context", json!({ "cwd": "/work/app", "model": model }))
    }

    pub(crate) fn said(self, role: &str, text: &str) -> Self {
        self.line("response_item", message(role, text))
    }

    /// Adds a prompt: the item, and the event that proves that it was typed.
    pub(crate) fn typed(self, text: &str) -> Self {
        self.said("user", text).event(json!({ "type": "user_message", "message": text }))
    }

    /// Adds an answer of the model.
    pub(crate) fn answer(self, text: &str) -> Self {
        self.said("assistant", text)
    }

    pub(crate) fn counted(self, total: Value, last: Value) -> Self {
        let mut event = json!({ "type": "token_count" });
        event["info"]["total_token_usage"] = total;
        event["info"]["last_token_usage"] = last;
        self.event(event)
    }

    pub(crate) fn recorded(self, turn: &str, response: &str, usage: Value) -> Self {
        let mut record = json!({ "thread_id": THREAD, "turn_id": turn, "response_id": response });
        record["usage"] = usage;
        self.line("token_usage_record", record)
    }

    /// Writes the file. Its name contains `ids`: of the thread, and of the file if it has one of its own.
    pub(crate) fn write(&self, home: &Path, ids: &str) -> PathBuf {
        let folder = home.join("sessions/2026/03/01");
        fs::create_dir_all(&folder).unwrap();
        let began = self.lines[0]["timestamp"].as_str().unwrap().replace(':', "-");
        let path = folder.join(format!("rollout-{}-{ids}.jsonl", began.trim_end_matches('Z')));
        let lines = self.lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]);
        fs::write(&path, lines.collect::<String>()).unwrap();
        path
    }
}

/// Returns a message as an item.
pub(crate) fn message(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] })
}
