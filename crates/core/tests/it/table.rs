//! Every tree the real program wrote, against a table that was made without our code
//! (`testdata/gemini/README.md` says how).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::expected::{differences, read, sessions};
use crate::support::testdata;

#[test]
fn sessions_and_messages_of_every_tree() {
    let table = std::fs::read(testdata("gemini/expected-messages.json")).unwrap();
    let table: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&table).unwrap();
    assert!(table.len() >= 17, "only {} trees", table.len());
    let mut wrong = String::new();
    for (tree, mut expected) in table {
        let folder = testdata("gemini").join(&tree);
        let ours = sessions(&read(&folder), &folder);
        for session in &mut expected {
            settle(session);
        }
        let differences = differences(&expected.into(), &ours);
        if !differences.is_empty() {
            wrong.push_str(&format!("{tree}\n{differences}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What the table leaves out is empty.
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
