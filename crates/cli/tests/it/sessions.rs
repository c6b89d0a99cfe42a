//! `sessions`, on the demo's tree.

use crate::support::{TestEnv, small_home};

fn ids(got: &serde_json::Value) -> Vec<String> {
    let sessions = got["sessions"].as_array().unwrap();
    sessions.iter().map(|s| s["id"].as_str().unwrap().chars().take(8).collect()).collect()
}

fn list(args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = [&["--demo", "sessions", "--json"], args].concat();
    ids(&TestEnv::new().json(&args))
}

#[test]
fn for_people() {
    insta::assert_snapshot!(TestEnv::new().run(&["--demo", "sessions", "--limit", "4"]).show(), @"
    exit code 0
    --- stdout
          ID        UPDATED        AGENT   PROJECT     PROMPTS   TOKENS   COST  TITLE
      @1  614ed381  6 minutes ago  gemini  harbor-api        2   52,298  $0.05  Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.
      @2  b3c07b07  1 hour ago     claude  tidepool          2  184,862  $0.72  Make the station picker usable with the keyboard. Follow the listbox pattern, and check what it requires.
      @3  019fff89  7 hours ago    codex   dotfiles          1   22,706  $0.11  add a minimal tmux config: mouse, long history, true color
      @4  7c45ebba  8 hours ago    gemini  harbor-api        2   86,525  $0.08  Fix back-to-back bookings that were taken for a clash
    --- stderr
    15 more; `--limit 19` lists them all.
    ");
}

#[test]
fn filters() {
    assert_eq!(list(&[]).len(), 19);
    assert_eq!(list(&["--project", "LEDGER"]), ["592bb649", "e319fa39"]);
    assert_eq!(list(&["-p", "code/tern"]), ["56ba4522"]);
    assert_eq!(list(&["-p", "f9e1599f"]), ["56ba4522"], "by the beginning of the hash");
    assert_eq!(list(&["--since", "today"]), ["614ed381", "b3c07b07", "019fff89", "7c45ebba"]);
    assert_eq!(list(&["--since", "today", "--agent", "codex"]), ["019fff89"]);
    assert_eq!(list(&["--since", "2026-08-12", "--until", "2026-08-12"]).len(), 5);
    assert_eq!(list(&["--model", "2.5-pro", "--model", "gemini-3-flash"]).len(), 5);
    assert_eq!(list(&["--kind", "subagent"]), ["0bdfff62", "1010660a"]);
    assert_eq!(list(&["--kind", "checkpoint"]), ["checkpoi"]);
    assert_eq!(list(&["--all"]).len(), 25, "header-only and log-only ones too");
}

#[test]
fn order() {
    assert_eq!(list(&["--sort", "tokens", "--limit", "2"]), ["e319fa39", "1074bde6"]);
    assert_eq!(list(&["--reverse", "--limit", "1"]), ["56ba4522"]);
    assert_eq!(list(&["--sort", "project", "--limit", "1"]), ["019fff89"]);
}

#[test]
fn other_formats() {
    let env = TestEnv::new();
    let csv = env.run(&["--demo", "sessions", "--format", "csv"]);
    assert_eq!(csv.stdout.lines().count(), 20);
    assert!(csv.stdout.starts_with("id,kind,project,started,"), "{}", csv.stdout);
    let lines = env.run(&["--demo", "sessions", "--format", "jsonl"]);
    for line in lines.stdout.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(row["id"].is_string());
    }
    let md = env.run(&["--demo", "sessions", "--format", "md", "--limit", "1"]);
    assert_eq!(md.stdout.lines().count(), 3);
}

#[test]
fn nothing_fits() {
    insta::assert_snapshot!(TestEnv::new().run(&["--demo", "sessions", "-p", "nowhere"]).show(), @"
    exit code 1
    --- stderr
    error: no project is called `nowhere`
      hint: `backstory --demo projects` lists them
    ");
    insta::assert_snapshot!(TestEnv::new().run(&["sessions", "--since", "soon"]).show(), @r#"
    exit code 2
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: `--since`: `soon` is not a valid time
      hint: write a date (2026-08-01), a month (2026-08), a time (2026-08-01T14:30), an age (30m, 12h, 7d, 2w, 3mo, 1y, "3 days"), a weekday (monday), today, yesterday, or this or last week, month or year
    "#);
    let json = TestEnv::new().run(&["--demo", "sessions", "-p", "nowhere", "--json"]);
    assert_eq!(json.code, Some(1));
    assert!(json.stdout.contains("backstory.sessions/1"));
}

#[test]
fn nothing_there() {
    insta::assert_snapshot!(TestEnv::new().run(&["sessions"]).show(), @"
    exit code 1
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: no sessions were found
      hint: looked in `~/.claude`: not there
      hint: looked in `~/.codex`: not there
      hint: looked in `~/.gemini`: not there
      hint: looked in `~/.cache/.gemini`: not there
      hint: read another folder: `backstory --from FOLDER`, or `roots` in the config file
      hint: or explore the bundled sample sessions: `backstory --demo`
    ");
}

#[test]
fn faults_are_told_and_strict() {
    let env = small_home();
    let run = env.run(&["sessions"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("2 faults while reading"), "{}", run.stderr);
    assert_eq!(env.run(&["sessions", "--strict"]).code, Some(1));
}
