//! Tests that calls have the same identity in every archive.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use backstory_core::archive::{Archive, IdentifiedCalls, Identity};
use backstory_core::model::SessionId;

use crate::archive::sync;
use crate::support::{discover_at, testdata};

fn archive_of(folder: &Path, machine: &str) -> Archive {
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, &discover_at(folder), machine);
    archive
}

/// Returns the identities of the calls and tool calls of each session.
fn identities(archive: &Archive) -> BTreeMap<SessionId, IdentifiedCalls> {
    let stamps = archive.session_stamps().unwrap();
    let ids: Vec<SessionId> = stamps.into_iter().map(|(id, _)| id).collect();
    let mut out = BTreeMap::new();
    let keep = |assembled: backstory_core::SessionFacts| {
        out.insert(assembled.session.id.clone(), IdentifiedCalls::of(assembled));
        Ok(())
    };
    archive.each_assembled(&ids, keep).unwrap();
    out
}

#[test]
fn every_call_has_one_identity_in_every_archive() {
    for folder in ["claude", "codex", "gemini"] {
        let archive = archive_of(&testdata(folder), "first");
        let found = identities(&archive);
        assert_eq!(found.len(), archive.sessions().unwrap().len(), "{folder}");
        let mut known: HashSet<&Identity> = HashSet::new();
        let mut tools: HashSet<&Identity> = HashSet::new();
        for (id, IdentifiedCalls { calls, call_ids, tool_ids }) in &found {
            assert_eq!(calls.calls.len(), call_ids.len(), "{id}");
            assert_eq!(calls.tools.len(), tool_ids.len(), "{id}");
            for identity in tool_ids {
                assert!(tools.insert(identity), "{id} {identity:?}");
            }
            for (call, identity) in calls.calls.iter().zip(call_ids) {
                assert!(known.insert(identity) != call.is_extra, "{id} {identity:?}");
            }
        }
        assert!(!known.is_empty());
        let other = identities(&archive_of(&testdata(folder), "second"));
        for (id, calls) in &found {
            assert_eq!(calls.call_ids, other[id].call_ids, "{id}");
            assert_eq!(calls.tool_ids, other[id].tool_ids, "{id}");
        }
    }
}

#[test]
fn a_stamp_changes_with_its_session_only() {
    let home = tempfile::tempdir().unwrap();
    let chats = home.path().join("tmp/project/chats");
    fs::create_dir_all(&chats).unwrap();
    let reply = |n: u32| {
        format!(
            r#"{{"id":"m{n}","timestamp":"2026-01-01T00:00:0{n}Z","type":"gemini","content":"hi","model":"gemini-2.5-pro","tokens":{{"input":{n},"output":1,"total":{}}}}}"#,
            n + 1
        )
    };
    let write = |name: &str, replies: u32| {
        let head = format!(
            r#"{{"sessionId":"{name}-0000-4000-8000-000000000000","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z"}}"#
        );
        let lines: Vec<String> = [head].into_iter().chain((1..=replies).map(reply)).collect();
        let file = chats.join(format!("session-2026-01-01T00-00-{name}.jsonl"));
        fs::write(file, lines.join("\n") + "\n").unwrap();
    };
    write("aaaaaaaa", 1);
    write("bbbbbbbb", 1);
    let mut archive = archive_of(home.path(), "machine");
    let before = archive.session_stamps().unwrap();
    assert_eq!(before.len(), 2);
    sync(&mut archive, &discover_at(home.path()), "machine");
    assert_eq!(archive.session_stamps().unwrap(), before);
    write("bbbbbbbb", 2);
    sync(&mut archive, &discover_at(home.path()), "machine");
    let after = archive.session_stamps().unwrap();
    let changed: Vec<&str> =
        before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.0.as_str()).collect();
    assert_eq!(changed, ["bbbbbbbb-0000-4000-8000-000000000000"]);
}
