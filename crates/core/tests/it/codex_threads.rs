//! Reads made-up threads of Codex CLI: forks that continue another file, reviews and rollbacks.

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::model::Fate;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::codex::{replies, totals};
use crate::codex_log::{FORK, Log, THREAD, tokens};
use crate::support::Home;

fn thread() -> Log {
    Log::paginated("2026-03-01T10:00:00Z", 0).header(THREAD, &json!({}))
}

/// Begins a fork that continues the thread before a position.
fn fork_at(end: u64) -> Log {
    let base = json!({ "thread_id": THREAD, "end_ordinal_exclusive": end });
    let header = json!({ "forked_from_id": THREAD, "history_base": base });
    Log::paginated("2026-03-01T11:00:00Z", end).header(FORK, &header)
}

/// Writes files of threads, and reads them. The folder is needed as long as texts are read.
fn read(logs: &[(&str, Log)]) -> (Home, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for (id, log) in logs {
        log.write(folder.path(), id);
    }
    (Home::at(folder.path()), folder)
}

fn find<'a>(home: &'a Home, id: &str) -> &'a SessionFacts {
    home.sessions.iter().find(|one| one.session.id == id).unwrap()
}

fn has_fate(session: &SessionFacts, fate: Fate) -> bool {
    session.listed().all(|entry| entry.facts.fate == fate)
}

#[test]
fn a_fork_is_not_touched_by_what_its_parent_did_since() {
    let parent = thread().typed("one").answer("first");
    let fork = fork_at(parent.position()).typed("two").answer("second");
    let compaction = json!({ "message": "in short", "replacement_history": [] });
    let parent = parent.line("compacted", compaction);
    let (home, _folder) = read(&[(THREAD, parent), (FORK, fork)]);
    let fork = find(&home, FORK);
    assert_eq!(replies(&home.messages(fork, View::Current)), ["first", "second"]);
    assert!(has_fate(fork, Fate::Kept));
    assert_eq!((fork.session.prompts, fork.session.first_prompt.as_deref()), (1, Some("two")));
    assert!(has_fate(find(&home, THREAD), Fate::Compressed));
}

#[test]
fn a_file_that_continues_another_begins_with_its_total() {
    let counted = |log: Log, total: u64, last: u64| log.counted(tokens(total, 1), tokens(last, 1));
    let parent = counted(thread().answer("a"), 10, 10);
    let parent = counted(parent.answer("b"), 30, 20);
    let fork = counted(fork_at(parent.position()), 30, 20);
    let fork = counted(fork.answer("c"), 40, 10);
    let (home, _folder) = read(&[(THREAD, parent), (FORK, fork)]);
    let (calls, usage) = totals(&home)["unknown"];
    assert_eq!((calls, usage.input), (3, 40));
}

#[test]
fn a_response_that_is_recorded_twice_is_one_call() {
    let usage = tokens(10, 1);
    let log = thread().answer("a").recorded("t", "r", usage.clone()).recorded("t", "r", usage);
    let (home, _folder) = read(&[(THREAD, log)]);
    assert_eq!(totals(&home)["unknown"].0, 1);
}

#[test]
fn a_reviewer_is_heard_but_types_nothing() {
    let event = |kind: &str| -> Value { json!({ "type": kind, "message": "on the way" }) };
    let prompt = json!({ "type": "user_message", "message": "Review the changes" });
    let log = thread()
        .event(event("entered_review_mode"))
        .event(prompt)
        .event(event("agent_message"))
        .event(event("exited_review_mode"))
        .answer("Nothing wrong.");
    let (home, _folder) = read(&[(THREAD, log)]);
    let session = &home.sessions[0];
    let full = home.messages(session, View::Full);
    assert_eq!(replies(&full), ["on the way", "Nothing wrong."]);
    assert!(full.iter().all(|message| message.fate == Fate::Kept));
    assert_eq!(session.session.prompts, 0);
    assert_eq!(replies(&home.messages(session, View::Current)), ["Nothing wrong."]);
}

#[test]
fn going_back_cuts_the_list_before_a_prompt() {
    let context = "<environment_context>\n<cwd>/work/app</cwd>\n</environment_context>";
    let parent = thread().said("user", context);
    let parent = parent.typed("one").answer("first").typed("two").answer("second");
    let parent = parent.event(json!({ "type": "thread_rolled_back", "num_turns": 1 }));
    let fork = fork_at(parent.position()).answer("third");
    let (home, _folder) = read(&[(THREAD, parent), (FORK, fork)]);
    let (thread, fork) = (find(&home, THREAD), find(&home, FORK));
    assert_eq!(replies(&home.messages(thread, View::Current)), ["first"]);
    assert_eq!(replies(&home.messages(fork, View::Current)), ["first", "third"]);
    let rewound = thread.listed().filter(|entry| entry.facts.fate == Fate::Rewound);
    assert_eq!(rewound.count(), 2);
}
