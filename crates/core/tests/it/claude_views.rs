//! Tests both views of Claude Code's sessions on small made-up trees.

use backstory_core::content::View;
use backstory_core::model::{SessionId, ToolStatus};
use backstory_core::query::failures::failures;
use backstory_core::time::Period;
use serde_json::{Value, json};

use crate::claude_lines::{
    A, current, full, line, messages, one, reply, result, unfinished, user, with,
};

#[test]
fn a_prompt_on_an_older_line_rewinds_what_came_between() {
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        user("u2", "r1", 2, "two"),
        reply("r2", "u2", 3, "m2", "second"),
        user("u3", "r1", 4, "three"),
        reply("r3", "u3", 5, "m3", "third"),
    ]);
    assert_eq!(current(&home, A), ["one", "first", "three", "third"]);
    let want = ["one", "first", "two (rewound)", "second (rewound)", "three", "third"];
    assert_eq!(full(&home, A), want);
}

#[test]
fn a_checkpoint_is_where_the_user_went_back_to() {
    let lines = [
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        user("u2", "r1", 2, "two"),
        reply("r2", "u2", 3, "m2", "second"),
    ];
    let note = |leaf: Value, is_explicit: bool| {
        let note = json!({ "type": "last-prompt", "sessionId": A, "leafUuid": leaf, "explicit": is_explicit });
        let mut lines = lines.to_vec();
        lines.push(note);
        lines
    };
    let all = ["one", "first", "two", "second"];
    assert_eq!(current(&one(&note(json!("r1"), true)), A), ["one", "first"]);
    assert_eq!(current(&one(&note(json!("r1"), false)), A), all);
    assert_eq!(current(&one(&note(json!(null), true)), A), [""; 0]);
    assert_eq!(current(&one(&note(json!("somewhere else"), true)), A), all);
    // Lines after the checkpoint continue from it.
    let mut later = note(json!("r1"), true);
    later.push(user("u3", "r1", 4, "three"));
    assert_eq!(current(&one(&later), A), ["one", "first", "three"]);
}

#[test]
fn a_checkpoint_before_a_compaction_rewinds_nothing() {
    let boundary =
        json!({ "subtype": "compact_boundary", "content": "compacted", "logicalParentUuid": "r1" });
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        json!({ "type": "last-prompt", "sessionId": A, "leafUuid": "r1" }),
        line("system", "b", "", 2, &boundary),
        with(user("s", "b", 3, "summary"), &json!({ "isCompactSummary": true })),
        user("u2", "s", 4, "two"),
        reply("r2", "u2", 5, "m2", "second"),
    ]);
    assert_eq!(current(&home, A), ["compacted", "summary", "two", "second"]);
    let want = ["one (compressed)", "first (compressed)", "compacted", "summary", "two", "second"];
    assert_eq!(full(&home, A), want);
}

#[test]
fn the_current_view_ends_with_a_line_of_the_user_or_the_model() {
    let queued = json!({ "attachment": { "type": "queued_command", "prompt": "and that" } });
    let note = json!({ "subtype": "informational", "content": "a note" });
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "first"),
        line("attachment", "q1", "r1", 2, &queued),
        line("system", "i1", "q1", 3, &note),
    ]);
    assert_eq!(current(&home, A), ["one", "first"]);
    assert_eq!(full(&home, A), ["one", "first", "and that", "a note"]);
}

#[test]
fn a_compaction_keeps_what_it_says() {
    let boundary = |kept: &Value| {
        let more = json!({ "subtype": "compact_boundary", "content": "compacted", "logicalParentUuid": "r2",
            "compactMetadata": kept });
        line("system", "b", "", 4, &more)
    };
    let lines = |kept: &Value| {
        [
            user("u1", "", 0, "one"),
            reply("r1", "u1", 1, "m1", "first"),
            user("u2", "r1", 2, "two"),
            reply("r2", "u2", 3, "m2", "second"),
            boundary(kept),
            with(user("s", "b", 4, "summary"), &json!({ "isCompactSummary": true })),
            user("u3", "s", 5, "three"),
        ]
    };
    let plain = one(&lines(&json!({ "trigger": "auto" })));
    assert_eq!(current(&plain, A), ["compacted", "summary", "three"]);
    let gone =
        ["one (compressed)", "first (compressed)", "two (compressed)", "second (compressed)"];
    assert_eq!(full(&plain, A), [&gone[..], &["compacted", "summary", "three"]].concat());

    for kept in [
        json!({ "preservedSegment": { "headUuid": "u2", "anchorUuid": "s", "tailUuid": "r2" } }),
        json!({ "preservedMessages": { "anchorUuid": "s", "uuids": ["u2", "r2"] } }),
    ] {
        let home = one(&lines(&kept));
        assert_eq!(current(&home, A), ["compacted", "summary", "two", "second", "three"], "{kept}");
        let want = [&gone[..2], &["two", "second", "compacted", "summary", "three"]].concat();
        assert_eq!(full(&home, A), want, "{kept}");
    }
}

#[test]
fn parallel_calls_belong_to_the_chain_they_hang_beside() {
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "toolu_1"),
        reply("r2", "r1", 1, "m1", "toolu_2"),
        result("t1", "r1", 2, "toolu_1"),
        result("t2", "r2", 3, "toolu_2"),
        reply("r3", "t1", 4, "m2", "done"),
    ]);
    assert_eq!(current(&home, A), ["one", "toolu_1+toolu_2", "", "", "done"]);
    let calls = messages(&home, A, View::Full).swap_remove(1).tool_calls;
    let ended: Vec<_> = calls.iter().map(|call| (call.status, call.output.as_deref())).collect();
    assert_eq!(ended, [(ToolStatus::Success, Some("done")); 2]);
}

#[test]
fn results_after_progress_belong_to_the_call() {
    let progress = json!({ "data": { "type": "hook_progress" } });
    let home = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "toolu_1"),
        reply("r2", "r1", 1, "m1", "toolu_2"),
        line("progress", "p1", "r1", 2, &progress),
        result("t1", "p1", 2, "toolu_1"),
        result("t2", "r2", 3, "toolu_2"),
        reply("r3", "t2", 4, "m2", "done"),
    ]);
    assert_eq!(current(&home, A), ["one", "toolu_1+toolu_2", "", "", "done"]);
}

#[test]
fn progress_is_not_in_the_chain_and_a_missing_parent_has_a_stand_in() {
    let progress = json!({ "data": { "type": "bash_progress", "output": "…" } });
    let home = one(&[
        user("u1", "", 0, "one"),
        line("progress", "p1", "u1", 1, &progress),
        line("progress", "p2", "p1", 1, &progress),
        reply("r1", "p2", 2, "m1", "first"),
        user("u2", "lost", 5, "two"),
        user("u3", "lost too", 50, "three"),
    ]);
    assert_eq!(current(&home, A), ["three"]);
    assert_eq!(full(&home, A), ["one (rewound)", "first (rewound)", "two (rewound)", "three"]);
    let near = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 2, "m1", "first"),
        user("u2", "lost", 5, "two"),
    ]);
    assert_eq!(current(&near, A), ["one", "first", "two"]);
}

#[test]
fn what_was_broken_off_is_told_apart() {
    let error = |uuid: &str, parent: &str, at: u32| {
        let mut line = with(
            reply(uuid, parent, at, uuid, "API Error: 400"),
            &json!({ "isApiErrorMessage": true }),
        );
        line["message"]["model"] = json!("<synthetic>");
        line
    };
    let stop = "[Request interrupted by user]";
    let mut partial = reply("r5", "u5", 9, "r5-id", "half of it");
    partial["message"]["model"] = json!("<synthetic>");
    let aborted = with(reply("r6", "u6", 12, "m6", "more"), &json!({ "isAbortedMidStream": true }));
    let home = one(&[
        user("u1", "", 0, "fails"),
        error("e1", "u1", 1),
        user("u2", "e1", 2, "breaks"),
        unfinished(reply("r2", "u2", 3, "m2", "begun")),
        error("e2", "r2", 4),
        user("u3", "e2", 5, "stops"),
        unfinished(reply("r3", "u3", 6, "m3", "well")),
        user("i3", "r3", 7, stop),
        user("u5", "i3", 8, "stops early"),
        partial,
        user("i5", "r5", 10, stop),
        user("u6", "i5", 11, "aborts"),
        aborted,
        user("u7", "r6", 13, "again"),
        unfinished(with(reply("r7", "u7", 14, "m7", "half"), &json!({ "requestId": "req-m8" }))),
        reply("r8", "r7", 15, "m8", "whole"),
    ]);
    let want = [
        "fails (failed)",
        "API Error: 400 (failed)",
        "breaks",
        "begun (failed)",
        "API Error: 400 (failed)",
        "stops",
        "well (interrupted)",
        stop,
        "stops early",
        "half of it (interrupted)",
        stop,
        "aborts",
        "more (interrupted)",
        "again",
        "half (superseded)",
        "whole",
    ];
    assert_eq!(full(&home, A), want);
    let calls = home.sessions[0]
        .messages
        .iter()
        .filter_map(|entry| Some((entry.facts.id.as_str(), entry.facts.call.as_ref()?.at_least)));
    let want = [("m2", true), ("m3", true), ("m6", true), ("m7", true), ("m8", false)];
    assert_eq!(calls.collect::<Vec<_>>(), want);
}

#[test]
fn words_that_waited_were_typed() {
    let queued = json!({ "attachment": { "type": "queued_command", "prompt": "and that", "commandMode": "prompt" } });
    let notice = json!({ "attachment": { "type": "queued_command", "prompt": "done", "commandMode": "task-notification" } });
    let home = one(&[
        user("u1", "", 0, "this"),
        line("attachment", "q1", "u1", 1, &queued),
        line("attachment", "q2", "q1", 1, &notice),
        reply("r1", "q2", 2, "m1", "both"),
    ]);
    let kinds: Vec<_> =
        messages(&home, A, View::Full).iter().map(|message| message.kind.name()).collect();
    assert_eq!(kinds, ["prompt", "prompt", "injected", "reply"]);
    assert_eq!(home.sessions[0].session.last_prompt.as_deref(), Some("and that"));
}

#[test]
fn an_edit_shows_what_it_changed() {
    let patch = json!({ "filePath": "/work/app/a.rs", "structuredPatch": [
        { "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" fn a() {", "-    1", "+    2"] }] });
    let tree = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "toolu_1"),
        with(result("t1", "r1", 2, "toolu_1"), &json!({ "toolUseResult": patch })),
    ]);
    let messages = messages(&tree, A, View::Full);
    let call = messages.iter().find_map(|message| message.tool_calls.first()).unwrap();
    let shown: Value = serde_json::from_str(call.result_display.as_ref().unwrap().get()).unwrap();
    assert_eq!(shown["fileDiff"], "@@ -1,2 +1,2 @@\n fn a() {\n-    1\n+    2\n");
}

#[test]
fn the_error_of_a_failed_tool_is_in_its_result() {
    let block = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
        "content": "File does not exist." });
    let failed = json!({ "message": { "role": "user", "content": [block] } });
    let tree = one(&[
        user("u1", "", 0, "one"),
        reply("r1", "u1", 1, "m1", "toolu_1"),
        line("user", "t1", "r1", 2, &failed),
    ]);
    let ids: Vec<SessionId> = tree.sessions.iter().map(|s| s.session.id.clone()).collect();
    let rows = failures(&tree.archive, &ids, &Period::default()).unwrap();
    let texts: Vec<String> = rows.into_iter().map(|row| row.text).collect();
    assert_eq!(texts, ["File does not exist."]);
}
