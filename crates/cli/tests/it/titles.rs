//! Tests that a title is one short line wherever it is shown.

use crate::support::{TestEnv, session};

/// Writes two sessions whose ids begin alike and whose first prompts are pasted files.
fn pasted() -> (TestEnv, String) {
    let env = TestEnv::new();
    let prompt = format!("please read this: {}", "lorem ipsum dolor ".repeat(400));
    for n in [1, 2] {
        let id = format!("7777777{n}-0000-4000-8000-000000000007");
        let at = "2026-08-14T10:00:00.000Z";
        let path = format!(".gemini/tmp/p/chats/session-2026-08-14T10-0{n}-7777777{n}.jsonl");
        env.write(&path, session(&id, at, at, &[&prompt]));
    }
    (env, prompt)
}

#[test]
fn long_prompts_do_not_fill_the_screen() {
    let (env, _) = pasted();
    let commands: [&[&str]; 6] = [
        &[],
        &["sessions"],
        &["search", "please"],
        &["show", "7"],
        &["forget", "-p", "p", "--dry-run"],
        &["usage", "session"],
    ];
    for args in commands {
        let run = env.run(args);
        for line in run.stdout.lines().chain(run.stderr.lines()) {
            assert!(line.chars().count() < 250, "{args:?}: {line}");
        }
    }
    let head = env.run(&["show", "77777771", "--only", "error"]).stdout;
    let title = head.lines().next().unwrap();
    assert!(title.starts_with("please read this: lorem ipsum"), "{title}");
    assert!(title.ends_with(" ipsum…") || title.ends_with(" lorem…") || title.ends_with(" dolor…"));
}

#[test]
fn documents_have_a_short_title_and_the_whole_prompt() {
    let (env, prompt) = pasted();
    let row = env.json(&["sessions", "--json"])["sessions"][0].clone();
    assert!(row["title"].as_str().unwrap().chars().count() <= 120);
    let overview = env.json(&["--json"]);
    let exported = env.json(&["export", "77777771", "--format", "json"]);
    for row in [&row, &overview["recent"][0], &exported] {
        assert_eq!(row["first_prompt"], prompt.trim());
        assert_eq!(row["last_prompt"], prompt.trim());
    }
    let markdown = env.run(&["export", "77777771", "--format", "markdown"]).stdout;
    let title = markdown.lines().find(|line| line.starts_with("title: ")).unwrap();
    assert!(title.chars().count() <= 120 + "title: \"\"".len(), "{title}");
}
