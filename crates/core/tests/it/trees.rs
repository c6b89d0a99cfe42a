//! Generates small made-up homes of Gemini CLI: several projects, sessions, subagents and models,
//! times near midnight and around clock changes, rewinds, copies, imports, messages without a time.
//! Their contents are known.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Files, and the tokens of every call in them by its id.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) files: Vec<(String, String)>,
    pub(crate) calls: BTreeMap<String, u64>,
}

impl Tree {
    pub(crate) fn plant(&self, folder: &Path) {
        for (name, text) in &self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
}

pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec(session(), 1..6).prop_map(|sessions| {
        let mut tree = Tree { files: Vec::new(), calls: BTreeMap::new() };
        for (n, session) in sessions.iter().enumerate() {
            session.write(n, &mut tree);
        }
        tree
    })
}

/// New Year, and the hours around clock changes in Europe, America and on Lord Howe Island.
const MOMENTS: [&str; 7] = [
    "2026-01-01T00:00:00Z",
    "2026-03-08T07:00:00Z",
    "2026-03-29T01:00:00Z",
    "2026-04-04T15:00:00Z",
    "2026-10-25T01:00:00Z",
    "2026-11-01T06:00:00Z",
    "2026-08-14T12:00:00Z",
];

const MODELS: [&str; 3] = ["gemini-2.5-pro", "gemini-3-flash-preview", "gemini-nobody-knows"];
const ENDS: [&str; 4] = ["success", "error", "cancelled", "executing"];

/// A quarter of an hour, or a millisecond next to one, within a day of such a moment.
fn time() -> impl Strategy<Value = Timestamp> {
    (select(&MOMENTS[..]), -96..96_i64, -1..=1_i64).prop_map(|(moment, quarters, beside)| {
        let moment: Timestamp = moment.parse().unwrap();
        moment + SignedDuration::from_mins(quarters * 15) + SignedDuration::from_millis(beside)
    })
}

#[derive(Debug, Clone)]
struct Turn {
    at: Option<Timestamp>,
    tokens: Option<[u64; 5]>,
    model: Option<&'static str>,
    /// The outcome of each tool.
    tools: Vec<&'static str>,
    /// The number of turns to go back afterwards.
    rewind: Option<usize>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let at = prop_oneof![6 => time().prop_map(Some), 1 => Just(None)];
    let tokens = prop::option::weighted(0.8, prop::array::uniform5(0..5000_u64));
    let model = prop::option::weighted(0.9, select(&MODELS[..]));
    let tools = prop::collection::vec(select(&ENDS[..]), 0..3);
    let rewind = prop::option::weighted(0.15, 0..3_usize);
    (at, tokens, model, tools, rewind).prop_map(|(at, tokens, model, tools, rewind)| Turn {
        at,
        tokens,
        model,
        tools,
        rewind,
    })
}

#[derive(Debug, Clone)]
struct Session {
    project: usize,
    started: Timestamp,
    turns: Vec<Turn>,
    is_document: bool,
    is_subagent: bool,
    /// The number of its lines that are also in the folder of the project's hash.
    copied: Option<usize>,
    imported: bool,
}

fn session() -> impl Strategy<Value = Session> {
    let turns = prop::collection::vec(turn(), 0..6);
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    let copied = prop::option::weighted(0.3, 1..20_usize);
    (0..3_usize, time(), turns, flags, copied).prop_map(
        |(project, started, turns, (is_document, is_subagent, imported), copied)| Session {
            project,
            started,
            turns,
            is_document,
            is_subagent,
            copied,
            imported,
        },
    )
}

impl Session {
    fn write(&self, n: usize, tree: &mut Tree) {
        let id = format!("{n:08x}-0000-4000-8000-000000000000");
        let slug = format!("app{}", self.project);
        let (folder, stem) = if self.is_subagent {
            (format!("{slug}/chats/0000ffff-0000-4000-8000-000000000000"), id.clone())
        } else {
            (format!("{slug}/chats"), format!("session-2026-01-01T00-{n:02}-{}", &id[..8]))
        };
        tree.files.push((format!("tmp/{slug}/.project_root"), format!("/code/{slug}")));
        let (records, calls) = self.records(n);
        tree.calls.extend(calls);
        if self.is_document {
            let messages: Vec<&Value> =
                records.iter().filter(|record| record.get("id").is_some()).collect();
            let mut document = self.header(&id);
            document["messages"] = json!(messages);
            tree.files.push((format!("tmp/{folder}/{stem}.json"), document.to_string()));
            return;
        }
        let lines = |header: Value, count: usize| {
            let records = [header].into_iter().chain(records.iter().cloned()).take(count);
            records.fold(String::new(), |lines, record| lines + &record.to_string() + "\n")
        };
        let name = format!("tmp/{folder}/{stem}.jsonl");
        tree.files.push((name, lines(self.header(&id), usize::MAX)));
        if let Some(count) = self.copied {
            let name = format!("tmp/{}/chats/{stem}.jsonl", "ab".repeat(32));
            tree.files.push((name, lines(self.header(&id), count)));
        }
        if self.imported {
            let other = format!("{n:08x}-1111-4000-8000-000000000000");
            let name = format!("tmp/{slug}/chats/session-2026-02-01T00-{n:02}-{}.jsonl", &id[..8]);
            tree.files.push((name, lines(self.header(&other), usize::MAX)));
        }
    }

    fn header(&self, id: &str) -> Value {
        let started = format!("{:.3}", self.started);
        let kind = if self.is_subagent { "subagent" } else { "main" };
        json!({ "sessionId": id, "projectHash": "ab".repeat(32), "startTime": started,
            "lastUpdated": started, "kind": kind })
    }

    /// Returns each turn as Gemini CLI writes it: the prompt, the reply, the reply again with its
    /// tool calls, their results, and the place that the user went back to.
    fn records(&self, session: usize) -> (Vec<Value>, BTreeMap<String, u64>) {
        let (mut records, mut calls) = (Vec::new(), BTreeMap::new());
        let id =
            |turn: usize, what: u8| format!("{session:04x}{turn:04x}-{what:04x}-4000-8000-0000");
        let id = |turn: usize, what: u8| format!("{}00000000", id(turn, what));
        for (n, turn) in self.turns.iter().enumerate() {
            let message = |what: u8, kind: &str, content: Value| {
                let mut message = json!({ "id": id(n, what), "type": kind, "content": content });
                if let Some(at) = turn.at {
                    message["timestamp"] = format!("{at:.3}").into();
                }
                message
            };
            records.push(message(0, "user", json!([{ "text": format!("prompt {session} {n}") }])));
            let mut reply = message(1, "gemini", format!("reply {session} {n}").into());
            if let Some(model) = turn.model {
                reply["model"] = model.into();
            }
            if let Some([input, cached, output, thoughts, tool]) = turn.tokens {
                let total = input + cached + output + thoughts + tool;
                reply["tokens"] = json!({ "input": input + cached, "cached": cached, "output": output,
                    "thoughts": thoughts, "tool": tool, "total": total });
                calls.insert(id(n, 1), total);
            }
            if !self.is_document || turn.tools.is_empty() {
                records.push(reply.clone());
            }
            if !turn.tools.is_empty() {
                let call = |(k, end): (usize, &&str)| {
                    let id = format!("call-{session}-{n}-{k}");
                    let said = if **end == *"error" { "error" } else { "output" };
                    let response = json!({ "functionResponse": { "id": id, "name": "read_file",
                        "response": { said: format!("what {k} said") } } });
                    json!({ "id": id, "name": "read_file", "args": { "file_path": "a.rs" },
                        "status": end, "result": [response], "timestamp": turn.at.map(|at| at.to_string()) })
                };
                let tools: Vec<Value> = turn.tools.iter().enumerate().map(call).collect();
                let answers: Vec<&Value> = tools.iter().map(|call| &call["result"][0]).collect();
                let answers = message(2, "user", json!(answers));
                reply["toolCalls"] = json!(tools);
                records.extend([reply, answers]);
            }
            if let Some(back) = turn.rewind {
                records.push(json!({ "$rewindTo": id(n.saturating_sub(back), 0) }));
            }
        }
        (records, calls)
    }
}
