//! Tests the overview, which is printed without a command.

use crate::support::{TestEnv, session, small_home};

#[test]
fn small_tree() {
    insta::assert_snapshot!(small_home().run(&[]).show(), @"
    exit code 0
    --- stdout
    Last 7 days: 2 sessions, 0 model calls, 0 tokens

    Latest sessions
      @1  1 day ago    tools  why
      @2  2 days ago   shop   sort the list
      @3  25 days ago  shop   add a cart

    3 sessions in 2 projects
      PROJECT  SESSIONS  TOKENS  UPDATED     PATH
      tools           1       0  1 day ago   not known
      shop            2       0  2 days ago  /code/shop

    ! 1 session will be lost at the next start of Gemini CLI, through its resume bug (`backstory doctor`)
    ! 1 session will be deleted by Gemini CLI within 7 days (`backstory doctor`)
    ! 2 faults in 1 file (`backstory doctor`)

    Next
      backstory sessions --since 7d  sessions of the last 7 days
      backstory show @1              read the latest one
      backstory doctor               files found, damage, and upcoming deletions
      backstory --help               everything else
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
}

#[test]
fn nothing_there() {
    insta::assert_snapshot!(TestEnv::new().run(&[]).show(), @"
    exit code 0
    --- stdout
    No sessions were found.

    It looked here:
      ~/.claude         home, not there
      ~/.codex          home, not there
      ~/.gemini         home, not there
      ~/.cache/.gemini  where the macOS sandbox keeps sessions, not there

    hint: read another folder: `backstory --from FOLDER`, or `roots` in the config file
    hint: or explore the bundled sample sessions: `backstory --demo`
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
}

#[test]
fn only_antigravity() {
    let env = TestEnv::new();
    env.write(".gemini/antigravity-cli/state.json", "{}");
    insta::assert_snapshot!(env.run(&[]).show(), @"
    exit code 0
    --- stdout
    No sessions were found.
    There is data of Antigravity CLI, another product, which is not read.

    It looked here:
      ~/.claude         home, not there
      ~/.codex          home, not there
      ~/.gemini         home, nothing in it
      ~/.cache/.gemini  where the macOS sandbox keeps sessions, not there

    hint: read another folder: `backstory --from FOLDER`, or `roots` in the config file
    hint: or explore the bundled sample sessions: `backstory --demo`
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
    let doctor = env.run(&["doctor"]);
    assert!(doctor.stdout.contains("Antigravity CLI only"), "{}", doctor.stdout);
}

#[test]
fn as_json() {
    let env = small_home();
    let got = env.json(&["--json"]);
    assert_eq!(got["schema"], "backstory.overview/1");
    assert_eq!(got["sessions"], 3);
    assert_eq!(got["recent"][0]["updated"], "2026-08-13T08:05:00.000Z");
    assert_eq!(got["usage"].as_array().unwrap().len(), 7);
    assert_eq!(got["usage"][6]["key"], "2026-08-14");
    assert_eq!(got["faults"]["files"], 1);
    assert_eq!(got["at_risk"][0]["why"], "shares_id");
    let empty = TestEnv::new().json(&["--json"]);
    assert_eq!(empty["schema"], "backstory.overview/1");
    assert_eq!(empty["totals"]["calls"], 0);
    assert_eq!(empty["recent"].as_array().unwrap().len(), 0);
}

/// A hash folder and the slug folder it was copied to are one project, and the copy one session.
#[test]
fn one_project_in_two_folders() {
    let env = TestEnv::new();
    let path = "/code/shop";
    let hash = env.json(&["--json"]);
    assert_eq!(hash["projects"].as_array().unwrap().len(), 0);
    let log = session("55555555-0000-4000-8000-000000000005", NOW, NOW, &["hello"]);
    let name = "session-2026-08-14T10-00-55555555.jsonl";
    env.write(".gemini/tmp/shop/.project_root", path);
    env.write(&format!(".gemini/tmp/shop/chats/{name}"), &log);
    let hash = env.json(&["--json"])["projects"][0]["hash"].as_str().unwrap().to_owned();
    env.write(&format!(".gemini/tmp/{hash}/chats/{name}"), &log);
    let got = env.json(&["--json"]);
    assert_eq!(got["projects"].as_array().unwrap().len(), 1);
    assert_eq!(got["sessions"], 1);
    assert_eq!(got["recent"][0]["parts"].as_array().unwrap().len(), 2);
    assert_eq!(got["projects"][0]["dirs"].as_array().unwrap().len(), 2);
    assert_eq!(got["projects"][0]["path"], path);
}

const NOW: &str = "2026-08-14T10:00:00.000Z";

#[test]
fn a_given_place_must_exist() {
    insta::assert_snapshot!(TestEnv::new().run(&["--from", "nope"]).show(), @"
    exit code 2
    --- stderr
    error: `nope` does not exist
      hint: `--from` takes a session file, or a folder: a home, or one of an agent
    ");
}

#[test]
fn given_places_add_up_on_both_sides_of_the_command() {
    let env = small_home();
    let got = env.json(&[
        "--from",
        ".gemini/tmp/shop",
        "doctor",
        "--json",
        "--from",
        ".gemini/tmp/tools",
    ]);
    assert_eq!(got["projects"].as_array().unwrap().len(), 2);
}
