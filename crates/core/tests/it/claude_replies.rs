//! Reads replies whose id does not identify them, as gateways to other models leave them behind.

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, Tree, full, messages, one, read, reply, result, user, with};
use crate::counting::a_count_is_a_sync;
use crate::support::Home;

/// Returns a line of a reply with an id, or without one, and the size of its prompt.
fn line(uuid: &str, parent: &str, at: u32, id: &Value, prompt: u32, said: &str) -> Value {
    let mut line = reply(uuid, parent, at, "m", said);
    line["message"]["id"] = id.clone();
    line["message"]["usage"]["input_tokens"] = prompt.into();
    line.as_object_mut().unwrap().remove("requestId");
    line
}

/// Returns a conversation in which each reply has two lines, and the second reply follows a tool.
fn conversation(id: &Value) -> Vec<Value> {
    vec![
        user("u1", "", 0, "one"),
        line("r1", "u1", 1, id, 100, "first"),
        line("r2", "r1", 2, id, 100, "toolu_1"),
        result("t1", "r2", 3, "toolu_1"),
        line("r3", "t1", 4, id, 200, "second"),
        line("r4", "r3", 5, id, 200, "toolu_2"),
        user("u2", "r4", 6, "two"),
        line("r5", "u2", 7, id, 300, "third"),
    ]
}

/// Returns the prompts of the calls that count.
fn counted(home: &Home) -> Vec<u64> {
    let entries = home.sessions.iter().flat_map(SessionFacts::listed).filter(|entry| entry.owned);
    entries.filter_map(|entry| Some(entry.facts.call.as_ref()?.usage.prompt())).collect()
}

fn counts_alike(tree: &Tree) {
    a_count_is_a_sync(tree.folder.path());
}

#[test]
fn replies_that_nothing_tells_apart_are_told_apart_by_what_was_said_between_them() {
    let example = "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY";
    for id in [json!(null), json!(""), json!(7), json!(example), json!("chatcmpl-1"), json!("0")] {
        let tree = one(&conversation(&id));
        assert_eq!(counted(&tree), [100, 200, 300], "{id}");
        let want = ["one", "first+toolu_1", "second+toolu_2", "two", "third"];
        let shown = full(&tree, A);
        let shown: Vec<_> = shown.iter().filter(|text| want.contains(&text.as_str())).collect();
        assert_eq!(shown, want, "{id}");
        assert_eq!(messages(&tree, A, View::Current).len(), messages(&tree, A, View::Full).len());
        counts_alike(&tree);
    }
}

#[test]
fn a_fork_of_replies_without_ids_counts_once() {
    for id in [json!(null), json!("chatcmpl-1")] {
        let lines = conversation(&id);
        let forked = json!({ "sessionId": B, "forkedFrom": { "sessionId": A } });
        let mut fork: Vec<Value> = lines.iter().map(|line| with(line.clone(), &forked)).collect();
        fork.push(with(user("u3", "r5", 60, "three"), &json!({ "sessionId": B })));
        fork.push(with(line("r6", "u3", 61, &id, 400, "fourth"), &json!({ "sessionId": B })));
        let tree = read(&[(&format!("{A}.jsonl"), &lines), (&format!("{B}.jsonl"), &fork)]);
        assert_eq!(counted(&tree), [100, 200, 300, 400], "{id}");
        assert_eq!(full(&tree, B), ["three", "fourth"], "{id}");
        counts_alike(&tree);
    }
}

#[test]
fn a_line_that_lost_its_id_is_part_of_the_reply_around_it() {
    let id = json!("m1");
    for lost in [1, 2, 3] {
        let mut lines = vec![
            user("u1", "", 0, "one"),
            line("r1", "u1", 1, &id, 100, "a"),
            line("r2", "r1", 2, &id, 100, "b"),
            line("r3", "r2", 3, &id, 100, "c"),
        ];
        lines[lost]["message"].as_object_mut().unwrap().remove("id");
        let tree = one(&lines);
        assert_eq!(counted(&tree), [100], "{lost}");
        assert_eq!(full(&tree, A), ["one", "a\n\nb\n\nc"], "{lost}");
    }
}

#[test]
fn damaged_numbers_do_not_divide_a_reply() {
    let id = json!("gen-1");
    let lines = [
        user("u1", "", 0, "one"),
        line("r1", "u1", 1, &id, 1, "a"),
        line("r2", "r1", 2, &id, 100, "b"),
        line("r3", "r2", 3, &id, 5_000, "c"),
    ];
    assert_eq!(counted(&one(&lines)), [5_000]);
}

#[test]
fn results_between_the_lines_of_a_reply_do_not_divide_it() {
    let id = json!("gen-1");
    let lines = [
        user("u1", "", 0, "one"),
        line("r1", "u1", 1, &id, 100, "toolu_1"),
        result("t1", "r1", 2, "toolu_1"),
        // The first number was an estimate.
        line("r2", "t1", 3, &id, 120, "toolu_2"),
        result("t2", "r2", 4, "toolu_2"),
        line("r3", "t2", 5, &json!("gen-2"), 200, "done"),
    ];
    assert_eq!(counted(&one(&lines)), [120, 200]);
}

#[test]
fn without_any_prompt_words_divide_replies_with_one_id() {
    let id = json!("chatcmpl-1");
    let lines = [
        user("u1", "", 0, "one"),
        line("r1", "u1", 1, &id, 0, "first"),
        user("u2", "r1", 2, "two"),
        line("r2", "u2", 3, &id, 0, "second"),
    ];
    let tree = one(&lines);
    assert_eq!(counted(&tree), [0, 0]);
    assert_eq!(full(&tree, A), ["one", "first", "two", "second"]);
}

#[test]
fn a_reply_with_neither_id_nor_uuid_is_shown_and_not_counted() {
    let mut lost = line("", "u1", 1, &json!(null), 100, "first");
    lost.as_object_mut().unwrap().remove("uuid");
    let tree = one(&[user("u1", "", 0, "one"), lost]);
    assert!(counted(&tree).is_empty());
    assert_eq!(full(&tree, A), ["one", "first"]);
}
