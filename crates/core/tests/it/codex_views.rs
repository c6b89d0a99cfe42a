//! Reads both views of session files of Codex CLI that real versions rarely write.

use std::fs;

use backstory_core::content::View;
use backstory_core::model::{Fate, MessageKind};
use serde_json::{Value, json};

use crate::codex_log::{FORK, Log, OTHER, THREAD, message, turn};
use crate::support::Home;

/// Returns the typed texts.
fn prompts(home: &Home, id: &str) -> Vec<String> {
    let session = home.sessions.iter().find(|one| one.session.id == id).unwrap();
    let typed = session.listed().filter(|entry| entry.facts.kind == MessageKind::Prompt);
    typed.map(|entry| entry.facts.typed.clone().unwrap()).collect()
}

/// Returns the kind and the text of all messages of a view.
fn shown(home: &Home, id: &str, view: View) -> Vec<(MessageKind, Fate, String)> {
    let session = home.sessions.iter().find(|one| one.session.id == id).unwrap();
    let messages = home.messages(session, view).into_iter();
    messages.map(|message| (message.kind, message.fate, message.text)).collect()
}

#[test]
fn prompts_after_a_review_that_never_ended_are_typed() {
    let review = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({}))
        .started(&turn(1))
        .typed("one")
        .event(json!({ "type": "entered_review_mode" }))
        .started(&turn(2))
        .event(json!({ "type": "user_message", "message": "Review the changes" }));
    for is_event_first in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let event = json!({ "type": "user_message", "message": "two" });
        let log = review.clone().started(&turn(3));
        let log = if is_event_first {
            log.event(event).said("user", "two")
        } else {
            log.said("user", "two").event(event)
        };
        log.answer("second").typed("three").write(folder.path(), THREAD);
        let home = Home::at(folder.path());
        assert_eq!(prompts(&home, THREAD), ["one", "two", "three"], "{is_event_first}");
    }
}

#[test]
fn a_prompt_with_an_image_is_one_message() {
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,aGk=" });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let files = "# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request:\nlook";
    let name = "<image name=[Image #1] path=\"/tmp/a.png\">";
    let framed = |open: &str| [text(open), image.clone(), text("</image>")];
    let around = [vec![text("look")], framed("<image>").to_vec()].concat();
    let before = [framed("<image>").to_vec(), vec![text("look")]].concat();
    let named = [vec![text(files)], framed(name).to_vec()].concat();
    let two = vec![text("lo"), text("ok")];
    for (message, content, shown_text) in [
        ("look", around, "look"),
        ("look", before, "look"),
        (files, named, files),
        ("look", two, "lo\nok"),
    ] {
        for is_event_first in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let event = json!({ "type": "user_message", "message": message, "images": [] });
            let item = json!({ "type": "message", "role": "user", "content": content });
            let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({})).started(&turn(1));
            let log = if is_event_first {
                log.event(event).line("response_item", item)
            } else {
                log.line("response_item", item).event(event)
            };
            log.answer("fine").write(folder.path(), THREAD);
            let home = Home::at(folder.path());
            assert_eq!(prompts(&home, THREAD), ["look"], "{content:?} {is_event_first}");
            let shown = shown(&home, THREAD, View::Full);
            let texts: Vec<_> = shown.iter().map(|(_, _, text)| text.as_str()).collect();
            assert_eq!(texts, [shown_text, "fine"], "{content:?} {is_event_first}");
        }
    }
}

#[test]
fn a_prompt_may_begin_like_context() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["# AGENTS.md instructions are outdated", "<skill>x</skill> in <b>bold</b>"];
    let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({}));
    let log = texts.iter().fold(log, |log, text| log.typed(text).answer("yes"));
    let back = json!({ "type": "thread_rolled_back", "num_turns": 1 });
    log.event(back).write(folder.path(), THREAD);
    let home = Home::at(folder.path());
    assert_eq!(prompts(&home, THREAD), texts);
    let current = shown(&home, THREAD, View::Current);
    assert_eq!(current.len(), 2, "the last turn began with the prompt: {current:?}");
}

#[test]
fn the_context_of_an_editor_is_not_typed_in_files_without_envelopes() {
    let folder = tempfile::tempdir().unwrap();
    let text = "# Context\nopen: a.rs\n## My request for Codex:\nfix it";
    let lines =
        [json!({ "id": THREAD, "timestamp": "2025-08-01T10:00:00Z" }), message("user", text)];
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let folder_of = folder.path().join("sessions/2025/08/01");
    fs::create_dir_all(&folder_of).unwrap();
    fs::write(folder_of.join(format!("rollout-2025-08-01T10-00-00-{THREAD}.jsonl")), text).unwrap();
    assert_eq!(prompts(&Home::at(folder.path()), THREAD), ["fix it"]);
}

#[test]
fn the_last_name_in_the_index_counts() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({}));
    log.typed("one").write(folder.path(), THREAD);
    let name = |name: &str, at: &str| {
        json!({ "id": THREAD, "thread_name": name, "updated_at": at }).to_string() + "\n"
    };
    let lines = name("first", "2026-03-02T10:00:00Z") + &name("last", "2026-03-01T10:00:00Z");
    fs::write(folder.path().join("session_index.jsonl"), lines).unwrap();
    let home = Home::at(folder.path());
    assert_eq!(home.sessions[0].session.summary.as_deref(), Some("last"));
}

/// Returns the lines of a thread, and of a file that branches off it after the first turn and is compacted.
fn compacted(id: &str) -> [Log; 2] {
    let turn = |log: Log, n: u32, prompt: &str, answer: &str| {
        log.started(&turn(n)).typed(prompt).answer(answer)
    };
    let first = Log::paginated("2026-03-01T10:00:00Z", 0).header(THREAD, &json!({}));
    let first = turn(first, 1, "one", "first");
    let end = first.position();
    let base = json!({ "thread_id": THREAD, "end_ordinal_exclusive": end });
    let second =
        Log::paginated("2026-03-01T11:00:00Z", end).header(id, &json!({ "history_base": base }));
    let second = turn(second, 3, "two again", "second again");
    let gist = "Another language model started to solve this problem. The gist";
    let list: Vec<Value> = ["one", "two again", gist].map(|text| message("user", text)).into();
    let compacted = json!({ "message": gist, "replacement_history": list });
    [turn(first, 2, "two", "second"), second.line("compacted", compacted)]
}

#[test]
fn a_compaction_leaves_out_what_another_file_contains() {
    for (id, ids) in [(THREAD, format!("{THREAD}_{OTHER}")), (FORK, FORK.to_owned())] {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = compacted(id);
        first.write(folder.path(), THREAD);
        second.write(folder.path(), &ids);
        let home = Home::at(folder.path());
        let current = shown(&home, id, View::Current);
        let texts: Vec<_> =
            current.iter().map(|(kind, fate, text)| (*kind, *fate, &**text)).collect();
        let gist = "Another language model started to solve this problem. The gist";
        let expected = [
            (MessageKind::Prompt, Fate::Kept, "one"),
            (MessageKind::Prompt, Fate::Kept, "two again"),
            (MessageKind::CompressSummary, Fate::Kept, gist),
        ];
        assert_eq!(texts, expected, "{id}");
        let full = shown(&home, id, View::Full);
        let of = |text: &str| -> Vec<Fate> {
            full.iter().filter(|one| one.2 == text).map(|one| one.1).collect()
        };
        assert_eq!(of("one"), [Fate::Kept], "{id}");
        assert_eq!(
            (of("first"), of("second again")),
            (vec![Fate::Compressed], vec![Fate::Compressed])
        );
        let rewound = if id == THREAD { vec![Fate::Rewound] } else { Vec::new() };
        assert_eq!(of("second"), rewound);
    }
}

#[test]
fn the_current_file_is_the_newest_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let first = Log::paginated("2026-03-01T10:00:00Z", 0).header(THREAD, &json!({}));
    let end = first.clone().typed("one").answer("first").position();
    first.typed("one").answer("first").typed("two").answer("second").write(folder.path(), THREAD);
    let base = json!({ "thread_id": THREAD, "end_ordinal_exclusive": end });
    let second = Log::paginated("2026-03-01T11:00:00Z", end);
    let second = second.header(THREAD, &json!({ "history_base": base })).answer("third");
    let path = second.write(folder.path(), &format!("{THREAD}_{OTHER}"));
    let text = fs::read_to_string(&path).unwrap();
    for is_damaged in [false, true] {
        let (header, rest) = text.split_once('\n').unwrap();
        let header = if is_damaged { &header[..60] } else { header };
        fs::write(&path, format!("{header}\n{rest}")).unwrap();
        let home = Home::at(folder.path());
        let session = &home.sessions[0];
        let file = &session.files[session.resumable_file.unwrap()];
        assert_eq!(file.path, path, "{is_damaged}");
        let current = shown(&home, THREAD, View::Current);
        assert!(current.iter().all(|(_, fate, _)| *fate == Fate::Kept), "{current:?}");
        assert_eq!(current.last().unwrap().2, "third");
    }
}

#[test]
fn messages_between_agents_are_neither_typed_nor_replies() {
    let sent = json!({ "author": "/root/a", "recipient": "/root", "other_recipients": [],
        "content": "done", "trigger_turn": true });
    let document = sent.to_string();
    for (kind, payload, text) in [
        ("inter_agent_communication", sent, "done"),
        ("response_item", message("assistant", &document), &document),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({}));
        let log = log.typed("one").answer("first").line(kind, payload).answer("second");
        let back = json!({ "type": "thread_rolled_back", "num_turns": 1 });
        log.event(back).write(folder.path(), THREAD);
        let home = Home::at(folder.path());
        let full = shown(&home, THREAD, View::Full);
        let texts: Vec<_> = full.iter().map(|(kind, fate, text)| (*kind, *fate, &**text)).collect();
        let expected = [
            (MessageKind::Prompt, Fate::Kept, "one"),
            (MessageKind::Reply, Fate::Kept, "first"),
            (MessageKind::Injected, Fate::Rewound, text),
            (MessageKind::Reply, Fate::Rewound, "second"),
        ];
        assert_eq!(texts, expected, "{kind}");
    }
}
