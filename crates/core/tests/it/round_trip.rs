//! Tests that documents of `json` and `jsonl` are read back with the same facts.

use std::fs;
use std::io;
use std::path::Path;

use backstory_core::archive::SessionCalls;
use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::export::json;
use backstory_core::model::{Call, Message, Session, SessionId, ToolUse};
use backstory_core::pricing::{Bill, Table};
use jiff::Timestamp;
use serde_json::Value;

use crate::support::{Home, testdata};

type Write = fn(&Session, Bill, &[Message], &Table, &mut Vec<u8>) -> io::Result<()>;

fn written(home: &Home, assembled: &SessionFacts, write: Write) -> Vec<u8> {
    let messages = home.messages(assembled, View::Full);
    let mut out = Vec::new();
    write(&assembled.session, Bill::default(), &messages, &Table::embedded(), &mut out).unwrap();
    out
}

/// Returns a document without the fields that depend on where its files are and how they were read.
fn document(bytes: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    let object = value.as_object_mut().unwrap();
    object.remove("parts");
    object.remove("faults");
    value
}

/// Returns the counted calls and tool uses, one per line.
fn facts(home: &Home) -> Vec<String> {
    // Documents have times in milliseconds, files in nanoseconds.
    let time = |at: Option<Timestamp>| at.map(|at| format!("{at:.3}"));
    let mut out: Vec<String> = Vec::new();
    for assembled in &home.sessions {
        let id = &assembled.session.id;
        let detail = SessionCalls::of(&assembled.session, assembled.messages.clone());
        for call in &detail.calls {
            let Call { message, undated, usage, current, .. } = call;
            let prompt = call.prompt.map(|at| &detail.prompts[at as usize]);
            let model = call.model.map(|at| &detail.models[at as usize]);
            let line = (id, message, prompt, time(call.at), undated, model, usage, current);
            out.push(format!("{line:?}"));
        }
        for tool in &detail.tools {
            let ToolUse { message, name, server, status, at, .. } = tool;
            let lines = (tool.lines_added, tool.lines_removed);
            out.push(format!("{:?}", (id, message, name, server, status, time(*at), lines)));
        }
    }
    out.sort();
    out
}

fn there_and_back(tree: &Path, ending: &str, write: Write) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let first = Home::at(tree);
    for (n, assembled) in first.sessions.iter().enumerate() {
        let file = folder.path().join(format!("{n}.{ending}"));
        fs::write(file, written(&first, assembled, write)).unwrap();
    }
    let second = Home::at(folder.path());
    for file in second.archive.files().unwrap() {
        let faults = &file.about.faults;
        assert!(faults.is_clean(), "{}: {faults:?}", tree.display());
    }
    let ids = |all: &Home| -> Vec<SessionId> {
        all.sessions.iter().map(|assembled| assembled.session.id.clone()).collect()
    };
    assert_eq!(ids(&first), ids(&second), "{}", tree.display());
    for (a, b) in first.sessions.iter().zip(&second.sessions) {
        let (a, b) = (written(&first, a, json::write), written(&second, b, json::write));
        let (a, b) = (document(&a), document(&b));
        for (a, b) in
            a["messages"].as_array().unwrap().iter().zip(b["messages"].as_array().unwrap())
        {
            assert_eq!(a, b, "{}: {}", tree.display(), a["id"]);
        }
        for key in a.as_object().unwrap().keys() {
            assert_eq!(a[key], b[key], "{}: {key} of {}", tree.display(), a["id"]);
        }
    }
    assert_eq!(facts(&first), facts(&second), "{}", tree.display());
    first.sessions.len()
}

#[test]
fn every_session_comes_back() {
    let mut seen = 0;
    for group in fs::read_dir(testdata("gemini")).unwrap() {
        let Ok(trees) = fs::read_dir(group.unwrap().path()) else { continue };
        for tree in trees {
            let tree = tree.unwrap().path();
            seen += there_and_back(&tree, "json", json::write);
            seen += there_and_back(&tree, "jsonl", json::write_lines);
        }
    }
    assert!(seen > 200, "{seen}");
}
