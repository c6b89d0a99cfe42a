//! Tests the deletions by Claude Code and Codex CLI that `doctor` reports.

use serde_json::Value;

use crate::lifecycle::{age, claude_home, codex_home, of_claude};
use crate::support::{SHOP, session};

#[test]
fn the_doctor_predicts_what_claude_code_deletes() {
    let env = claude_home();
    let [main, agent, meta, output, old_agent] = of_claude();
    for (file, days) in [(&main, 25), (&agent, 1), (&meta, 1), (&output, 29), (&old_agent, 31)] {
        age(&env.home().join(file), days);
    }
    let report = env.json(&["doctor", "--json"]);
    let deletion = |d: &Value| {
        let file = d["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let at = d["at"].as_str().map(|at| at[..10].to_owned());
        format!("{file} {} {} {} {}", at.unwrap_or_default(), d["why"], d["what"], d["agent"])
    };
    let deletions: Vec<String> =
        report["deletions"].as_array().unwrap().iter().map(deletion).collect();
    insta::assert_snapshot!(deletions.join("\n"), @r#"
    agent-b2.jsonl  "age" "subagent" "claude"
    toolu_1.txt 2026-08-15 "age" "tool output" "claude"
    aaaaaaaa-0000-4000-8000-00000000000a.jsonl 2026-08-19 "age" "session" "claude"
    agent-a1.jsonl 2026-08-19 "session" "subagent" "claude"
    agent-a1.meta.json 2026-08-19 "session" "note" "claude"
    "#);
    assert_eq!(report["retention"][0]["max_age"], "30d");
    let text = env.run(&["doctor"]).stdout;
    let (_, text) = text.split_once("How long agents").unwrap();
    let (text, _) = text.split_once("Archive").unwrap();
    insta::assert_snapshot!(text, @"
     keep sessions
      Claude Code deletes sessions: 30 days after their last use (its own default; no settings file
      changes it)

    Upcoming deletions: 1 session
      WHEN                         PROJECT  SESSION   WHY
      2026-08-19 16:30  in 5 days  shop     aaaaaaaa  its age
      With them, 3 files of subagents and tools will be deleted.
      Claude Code cleans up when it is used in any project after that time.
      All of it is in the archive; `backstory restore` brings a session back.
    ");
    let overview = env.run(&[]).stdout;
    assert!(
        overview.contains("Claude Code will soon delete 1 session that the archive keeps."),
        "{overview}"
    );
    // A setting of the project decides over that of the user.
    env.write(".claude/settings.json", r#"{"cleanupPeriodDays": 365}"#);
    assert_eq!(env.json(&["doctor", "--json"])["retention"][0]["max_age"], "365d");
    env.write(".claude/settings.json", r#"{"cleanupPeriodDays": 0}"#);
    let report = env.json(&["doctor", "--json"]);
    assert_eq!(report["deletions"], Value::Array(Vec::new()));
    assert_eq!(report["retention"][0]["active"], false);
}

#[test]
fn deletions_of_several_agents_are_listed_together() {
    let env = claude_home();
    age(&env.home().join(&of_claude()[0]), 29);
    env.write(".gemini/tmp/till/.project_root", "/code/till");
    let log = session(SHOP, "2026-07-20T10:00:00.000Z", "2026-07-20T11:00:00.000Z", &["add"]);
    env.write(".gemini/tmp/till/chats/session-2026-07-20T10-00-11111111.jsonl", log);
    assert_eq!(env.run(&["sync"]).code, Some(0));
    let text = env.run(&["doctor"]).stdout;
    let (_, text) = text.split_once("Upcoming").unwrap();
    let (text, archive) = text.split_once("Archive").unwrap();
    insta::assert_snapshot!(text, @"
    deletions: 2 sessions
     WHEN                         AGENT        PROJECT  SESSION   WHY
     2026-08-15 16:30  in 1 day   Claude Code  shop     aaaaaaaa  its age
     2026-08-19 11:00  in 4 days  Gemini CLI   till     11111111  its age
     With them, 3 files of subagents and tools will be deleted.
     Claude Code cleans up when it is used in any project after that time.
     Gemini CLI cleans up when it is started in the project after that time.
     All of it is in the archive; `backstory restore` brings a session back.
    ");
    // The settings to change are those of an agent that deletes and does not sync.
    assert!(archive.contains("add this to ~/.claude/settings.json"), "{archive}");
    env.write(".claude/settings.json", HOOK);
    let text = env.run(&["doctor"]).stdout;
    assert!(text.contains("add this to ~/.gemini/settings.json"), "{text}");
    env.write(".gemini/settings.json", HOOK);
    let text = env.run(&["doctor"]).stdout;
    assert!(text.contains("the agents sync it at the end of each session"), "{text}");
}

/// The settings that make both agents sync.
const HOOK: &str =
    r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "backstory sync"}]}]}}"#;

#[test]
fn the_doctor_says_that_codex_cli_deletes_nothing() {
    let text = codex_home().run(&["doctor"]).stdout;
    let (_, text) = text.split_once("How long agents").unwrap();
    let (text, _) = text.split_once("Archive").unwrap();
    insta::assert_snapshot!(text, @"
     keep sessions
      Codex CLI deletes nothing by itself: only `codex delete` does (`codex archive` moves the file of a
      session)

    Upcoming deletions: none
    ");
}
