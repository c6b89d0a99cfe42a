//! Compares every tree the real program wrote with a table that was made without our code (see
//! `testdata/gemini/README.md`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use serde_json::Value;

use crate::expected::{differences, sessions};
use crate::support::{Home, files_below, testdata};

#[test]
fn sessions_and_messages_of_every_tree() {
    let table = std::fs::read(testdata("gemini/expected-messages.json")).unwrap();
    let table: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&table).unwrap();
    assert!(table.len() >= 17, "only {} trees", table.len());
    let mut wrong = String::new();
    for (tree, mut expected) in table {
        let folder = testdata("gemini").join(&tree);
        let ours = sessions(&Home::at(&folder), &folder);
        for session in &mut expected {
            settle(session);
        }
        let differences = differences(&expected.into(), &ours);
        if !differences.is_empty() {
            let _ = write!(wrong, "{tree}\n{differences}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Adds the empty values that the table omits.
fn settle(session: &mut Value) {
    if session["tool_calls"].is_null() {
        session.as_object_mut().unwrap().remove("tool_calls");
    }
    for message in session["messages"].as_array_mut().unwrap() {
        let message = message.as_object_mut().unwrap();
        let is = |kinds: &[&str]| kinds.iter().any(|kind| message["kind"] == *kind);
        let (prompt, reply) = (is(&["prompt", "slash"]), is(&["reply"]));
        if prompt {
            message.entry("references").or_insert_with(|| Vec::<Value>::new().into());
        }
        if reply {
            message.entry("tools").or_insert_with(|| Vec::<Value>::new().into());
        }
    }
}

/// The current view of a session is the loader's list for its resumable file, in that order.
#[test]
fn the_current_view_is_the_loaders() {
    let recorded = files_below(&testdata("gemini"));
    let mut compared = 0;
    for answers in recorded.iter().filter(|path| path.ends_with("loaded.jsonl")) {
        let folder = answers.parent().unwrap();
        let tree = folder.join("gemini");
        let home = Home::at(if tree.is_dir() { &tree } else { folder });
        for line in std::fs::read_to_string(answers).unwrap().lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            let file = folder.join(answer["file"].as_str().unwrap());
            let is_true = |session: &&SessionFacts| {
                session.resumable_file.is_some_and(|at| session.files[at].path == file)
            };
            let Some(session) = home.sessions.iter().find(is_true) else { continue };
            let ours = home.messages(session, View::Current);
            let ours: Vec<&str> = ours.iter().map(|message| message.id.as_str()).collect();
            let theirs = answer["record"]["messages"].as_array().unwrap();
            let theirs: Vec<&str> = theirs.iter().map(|m| m["id"].as_str().unwrap()).collect();
            assert_eq!(ours, theirs, "{}", file.display());
            compared += 1;
        }
    }
    assert!(compared >= 35, "only {compared} sessions");
}
