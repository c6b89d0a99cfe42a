//! Tests that text typed by a person is separated from text that Gemini CLI wrote in their name.

use backstory_core::content::View;
use backstory_core::model::{MessageKind, Session};
use backstory_core::pricing::Table;
use backstory_core::query::Reports;
use backstory_core::query::prompts::prompts;
use backstory_core::query::usage::Group;
use backstory_core::transcript::{BlockKind, Options, blocks};
use serde_json::{Value, json};

use crate::support::Home;
use crate::usage::question;

/// Creates a session in which every message is followed by a reply of 10 tokens.
fn home(messages: &[Value]) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("tmp/app/chats");
    std::fs::create_dir_all(&chats).unwrap();
    let mut text = json!({ "sessionId": "0000000a-0000-4000-8000-000000000000", "projectHash": "h",
        "startTime": "2026-03-01T10:00:00Z" })
    .to_string();
    for (n, message) in messages.iter().enumerate() {
        let mut message = message.clone();
        message["id"] = format!("00000000-0000-4000-8000-{:012}", 2 * n).into();
        message["type"] = "user".into();
        message["timestamp"] = format!("2026-03-01T10:{n:02}:01Z").into();
        let reply = json!({ "id": format!("00000000-0000-4000-8000-{:012}", 2 * n + 1), "type": "gemini",
            "timestamp": format!("2026-03-01T10:{n:02}:02Z"), "content": "ok", "model": "m",
            "tokens": { "input": 10, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": 10 } });
        for record in [message, reply] {
            text.push('\n');
            text.push_str(&record.to_string());
        }
    }
    std::fs::write(chats.join("session-1.jsonl"), text + "\n").unwrap();
    let home = Home::at(folder.path());
    (folder, home)
}

#[test]
fn what_gemini_cli_writes_itself_is_not_a_prompt() {
    let typed = "make it faster";
    let injected = [
        json!({ "content": "System: Please continue." }),
        json!({ "content": [{ "text": "System: Please continue." }], "displayContent": [{ "text": typed }] }),
        json!({ "content": "Please continue." }),
        json!({ "content": "[Function Response: read_many_files]\n--- a.c ---\nint main() {}" }),
        json!({ "content": "You are an AI agent that brings the power of Gemini directly into the terminal. Your task is to analyze" }),
        json!({ "content": "First, reason in your scratchpad. Then, generate the <state_snapshot>." }),
        json!({ "content": "System: Potential loop detected. Details: Repetitive tool calls" }),
        json!({ "content": "[System: You previously generated thoughts but failed to call a tool]" }),
        json!({ "content": "[System: You previously returned an empty response. Go on.]" }),
    ];
    let mut messages = vec![json!({ "content": typed })];
    messages.extend(injected);
    let (_folder, home) = home(&messages);
    let assembled = &home.sessions[0];
    let session = &assembled.session;
    assert_eq!((session.prompts, session.calls), (1, 10));
    assert_eq!(session.first_prompt.as_deref(), Some(typed));
    assert_eq!(session.last_prompt.as_deref(), Some(typed));
    let messages = home.messages(assembled, View::Full);
    let you = blocks(&messages, &Options::default()).into_iter().filter_map(|block| {
        if let BlockKind::You(words) = block.body { Some(words) } else { None }
    });
    assert_eq!(you.collect::<Vec<_>>(), [typed]);
    let kinds = messages.iter().skip(2).step_by(2).map(|message| message.kind);
    assert!(kinds.into_iter().all(|kind| kind == MessageKind::Injected));
    let listed: Vec<String> =
        prompts(&home.archive, &home.all).unwrap().into_iter().map(|prompt| prompt.text).collect();
    assert_eq!(listed, [typed]);
    // All tokens were spent on the prompts.
    let prices = Table::embedded();
    let reports = Reports::new(&home.archive, &jiff::tz::TimeZone::UTC, &prices);
    let answer = reports.usage(&question(Group::Prompt)).unwrap();
    let rows: Vec<u64> = answer.rows.iter().map(|row| row.sum.usage.total()).collect();
    assert_eq!(rows, [100]);
}

#[test]
fn what_only_looks_like_it_is_a_prompt() {
    let words = [
        "Please continue. And then stop.",
        "System: broken?",
        "First, reason",
        "You are an AI agent that helps",
        "[Function] Response",
    ];
    let messages: Vec<Value> = words.iter().map(|text| json!({ "content": text })).collect();
    let (_folder, home) = home(&messages);
    assert_eq!(home.sessions[0].session.prompts, words.len());
}

#[test]
fn what_was_typed_while_the_model_worked_is_a_prompt_of_its_own() {
    let update = "User steering update:\n<user_input>\nuse tabs\n</user_input>\nInternal instruction: Re-evaluate.";
    let (_folder, home) = home(&[json!({ "content": "go" }), json!({ "content": update })]);
    let session = &home.sessions[0].session;
    assert_eq!((session.prompts, session.last_prompt.as_deref()), (2, Some("use tabs")));
    let messages = home.messages(&home.sessions[0], View::Full);
    assert_eq!((messages[2].kind, messages[2].words()), (MessageKind::Prompt, "use tabs"));
}

#[test]
fn a_list_has_the_beginning_of_a_prompt_and_the_archive_all_of_it() {
    let typed = "why\n does it fail? ".repeat(100);
    let (_folder, home) = home(&[json!({ "content": typed }), json!({ "content": "thanks" })]);
    let whole = home.archive.sessions().unwrap();
    let texts = |session: &Session| (session.first_prompt.clone(), session.last_prompt.clone());
    assert_eq!(texts(&whole[0]), (Some(typed.trim().to_owned()), Some("thanks".to_owned())));
    let listed = &home.all.sessions[0];
    let beginning: String = "why does it fail? ".repeat(100).chars().take(500).collect();
    assert_eq!(texts(listed), (Some(beginning), None));
    assert_eq!(listed.title(), whole[0].title());
    let mut completed = listed.clone();
    home.archive.add_prompts(&mut completed).unwrap();
    assert_eq!(texts(&completed), texts(&whole[0]));
    let mut list = home.all.sessions.clone();
    home.archive.add_all_prompts(&mut list).unwrap();
    assert_eq!(texts(&list[0]), texts(&whole[0]));
}
