//! Tests `doctor`.

use std::fs;

use serde_json::Value;

use crate::support::{HASH, SHOP, TestEnv, session, small_home};

#[test]
fn small_tree() {
    insta::assert_snapshot!(small_home().run(&["doctor"]).show(), @r#"
    exit code 0
    --- stdout
    3 things to do
      ! 3 files to be deleted, and not in the archive yet: run `backstory sync`
      ! Gemini CLI deletes sessions, and nothing keeps the archive up to date: run `backstory watch`
      ! 2 faults in files: parts that could not be used

    Where it looked
      –  ~/.claude         home, not there
      –  ~/.codex          home, not there
      ✓  ~/.gemini         home
      –  ~/.cache/.gemini  where the macOS sandbox keeps sessions, not there

    Found: 5 files, 1.8 kB
      15 records read: 12 used, 1 ignored on purpose, 2 not usable
      3 files skipped on purpose (`-v` lists them)

    Faults: 2
      ! ~/.gemini/tmp/tools/chats/session-2026-08-13T08-00-44444444.jsonl:4: not JSON: it ends inside a string at column 14
      ! ~/.gemini/tmp/tools/chats/session-2026-08-13T08-00-44444444.jsonl:5: unknown kind of record (`colour`)

    Still being written: 1
      … ~/.gemini/tmp/tools/chats/session-2026-08-13T08-00-44444444.jsonl:6: the last line is incomplete (still being written, or cut off)

    How long agents keep sessions
      Gemini CLI deletes sessions: 30 days after their last use (its own default; no settings file
      changes it)

    Upcoming deletions: 3 sessions, 1 file without one
      WHEN                          PROJECT  SESSION     WHY
      at the next start             shop     no session  it cannot be resumed
      at the next start             shop     22222222    the resume bug
      2026-08-19 11:00   in 4 days  shop     11111111    its age
      1 more, the first 2026-09-12 08:05 (`-v` lists them)
      Gemini CLI cleans up when it is started in the project after that time.
      3 files are not in the archive yet; `backstory sync` adds them.

    At risk from the resume bug: 1
      ! ~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
        will be deleted at the next start; by age alone: on 2026-09-11 09:30
      Resuming a session leaves a second file with nothing in it. Gemini CLI treats that as damage and
      deletes every file with the same id, the session included. `backstory sync` archives them.

    Archive
      ~/.local/share/backstory/archive.db: 0 of 6 files captured
      it is only updated when you run a command
      Gemini CLI will delete sessions. Let `backstory watch` run, or have Gemini CLI sync when a session
      ends. For that, add this to ~/.gemini/settings.json yourself:
        {
          "hooks": {
            "SessionEnd": [{
              "hooks": [{
                "name": "backstory",
                "type": "command",
                "command": "backstory sync --quiet"
              }]
            }]
          }
        }
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    "#);
}

#[test]
fn nothing_there() {
    insta::assert_snapshot!(TestEnv::new().run(&["doctor"]).show(), @"
    exit code 0
    --- stdout
    ✓ Nothing to do

    Where it looked
      –  ~/.claude         home, not there
      –  ~/.codex          home, not there
      –  ~/.gemini         home, not there
      –  ~/.cache/.gemini  where the macOS sandbox keeps sessions, not there
      hint: read another folder: `backstory --from FOLDER`, or `roots` in the config file
      hint: or explore the bundled sample sessions: `backstory --demo`

    Found: no session files

    How long agents keep sessions
      no project, so nothing to decide

    Upcoming deletions: none

    Archive
      ~/.local/share/backstory/archive.db: 0 of 0 files captured
      it is only updated when you run a command
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
}

#[test]
fn verbose_lists_what_was_skipped() {
    let run = small_home().run(&["doctor", "-v"]);
    assert!(run.stdout.contains("~/.gemini/tmp/shop/memory/notes.md"), "{}", run.stdout);
    assert!(run.stdout.contains("session-2026-08-01T00-00-33333333.json"), "{}", run.stdout);
}

#[test]
fn as_json() {
    let got = small_home().json(&["doctor", "--json"]);
    assert_eq!(got["schema"], "backstory.doctor/1");
    for key in ["looked", "roots", "found", "skipped", "problems", "faults", "projects"] {
        assert!(got[key].is_array(), "{key}");
    }
    let faults = got["faults"].as_array().unwrap();
    let lines: Vec<&Value> = faults.iter().map(|fault| &fault["line"]).collect();
    assert_eq!(lines, [4, 5, 6]);
    assert_eq!(faults[2]["pending"], true);
    assert_eq!(got["fault_count"], 2);
    let at_risk = got["at_risk"].as_array().unwrap();
    assert_eq!(at_risk.len(), 1);
    assert_eq!(at_risk[0]["session"], "22222222-0000-4000-8000-000000000002");
    assert_eq!(at_risk[0]["instead_of"], "2026-09-11T09:30:00.000Z");
    assert_eq!(at_risk[0]["at"], Value::Null);
}

#[test]
fn strict_makes_faults_an_exit_code() {
    assert_eq!(small_home().run(&["doctor", "--strict"]).code, Some(1));
    assert_eq!(small_home().run(&["--strict"]).code, Some(1));
    let env = TestEnv::new();
    let log = session("66666666-0000-4000-8000-000000000006", NOW, NOW, &["hi"]);
    // An unfinished line of a session that is being written is not a fault.
    env.write("s.jsonl", format!("{log}{{\"id\":\"half"));
    assert_eq!(env.run(&["doctor", "--strict", "--from", "s.jsonl"]).code, Some(0));
    env.write("s.jsonl", format!("{log}{{\"id\":\"half\n"));
    assert_eq!(env.run(&["doctor", "--strict", "--from", "s.jsonl"]).code, Some(1));
}

/// An unfinished line in a file that another one continues was never finished.
#[test]
fn a_torn_line_in_an_older_file_is_a_fault() {
    let env = TestEnv::new();
    let id = "66666666-0000-4000-8000-000000000006";
    let old = session(id, NOW, "2026-08-13T10:00:00.000Z", &["hi"]);
    let chats = ".gemini/tmp/p/chats";
    env.write(&format!("{chats}/session-2026-08-13T10-00-66666666.jsonl"), old + "{\"id\":\"x");
    assert_eq!(env.run(&["doctor", "--strict"]).code, Some(0));
    let new = session(id, NOW, NOW, &["hi"]);
    env.write(&format!("{chats}/session-2026-08-14T10-00-66666666.jsonl"), new);
    assert_eq!(env.run(&["doctor", "--strict"]).code, Some(1));
}

const NOW: &str = "2026-08-14T10:00:00.000Z";

#[test]
fn a_missing_place_is_a_finding() {
    let run = TestEnv::new().run(&["doctor", "--from", "nope"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("given, not there"), "{}", run.stdout);
}

#[test]
fn many_faults_are_counted_and_cut() {
    let env = TestEnv::new();
    let log = session("77777777-0000-4000-8000-000000000007", NOW, NOW, &["hi"]);
    env.write("s.jsonl", log + &"garbage\n".repeat(1500));
    let run = env.run(&["doctor", "--from", "s.jsonl"]);
    assert!(run.stdout.contains("Faults: 1,500\n"), "{}", run.stdout);
    assert!(run.stdout.contains("and 1,480 more (`-v` lists them)"), "{}", run.stdout);
    assert_eq!(run.stdout.matches("not JSON").count(), 20);
    let run = env.run(&["doctor", "-v", "--from", "s.jsonl"]);
    assert_eq!(run.stdout.matches("not JSON").count(), 1000);
    assert!(run.stdout.contains("and 500 more\n"), "{}", run.stdout);
}

#[test]
fn settings_decide_what_is_kept() {
    let env = small_home();
    let project = env.home().join("shop");
    fs::write(env.home().join(".gemini/tmp/shop/.project_root"), project.to_str().unwrap())
        .unwrap();
    let retention = |env: &TestEnv, project: &str| {
        let got = env.json(&["doctor", "--json"]);
        let all = got["retention"].as_array().unwrap().clone();
        let is_it = |r: &Value| r["project"].as_str().unwrap().ends_with(project);
        all.into_iter().find(is_it).unwrap()
    };
    let set = |age: &str| {
        format!("{{ // mine\n \"general\": {{\"sessionRetention\": {{\"maxAge\": \"{age}\"}}}} }}")
    };
    env.write(".gemini/settings.json", set("90d"));
    let got = retention(&env, "shop");
    assert_eq!((&got["max_age"], &got["active"]), (&"90d".into(), &true.into()));
    assert_eq!(got["decided_by"], "[TEMP]/home/.gemini/settings.json");
    env.write("shop/.gemini/settings.json", set("60d"));
    assert_eq!(retention(&env, "shop")["max_age"], "60d");
    assert_eq!(retention(&env, "tools")["max_age"], "90d");
    env.write("../system/settings.json", set("2h"));
    let got = retention(&env, "tools");
    assert_eq!(got["active"], false, "below the minimum switches it off");
    assert!(env.json(&["doctor", "--json"])["deletions"].as_array().unwrap().is_empty());
    env.write("../system/settings.json", "{,}");
    let got = env.json(&["doctor", "--json"]);
    assert!(got["problems"][0]["path"].as_str().unwrap().contains("system"), "{got}");
    assert_eq!(got["problems"].as_array().unwrap().len(), 1, "told once for all projects");
}

/// Gemini CLI copies hash folders once and never cleans them up.
#[test]
fn hash_folders_are_left_alone() {
    let env = TestEnv::new();
    let log = session("88888888-0000-4000-8000-000000000008", OLD, OLD, &["hi"]);
    let name = "session-2025-01-01T00-00-88888888.json";
    env.write(&format!(".gemini/tmp/{}/chats/{name}", "a".repeat(64)), &log);
    assert!(env.json(&["doctor", "--json"])["deletions"].as_array().unwrap().is_empty());
    env.write(&format!(".gemini/tmp/slug/chats/{name}"), &log);
    assert_eq!(env.json(&["doctor", "--json"])["deletions"][0]["why"], "age");
}

/// Sessions next to a prompt log may prove the project of its hash.
#[test]
fn a_prompt_log_belongs_to_the_project_of_its_folder() {
    let env = TestEnv::new();
    let folder = format!(".gemini/tmp/{HASH}");
    let log = session(SHOP, OLD, OLD, &["why does /code/shop/src/till.c not build?"]);
    env.write(&format!("{folder}/chats/session-2025-01-01T00-00-11111111.jsonl"), log);
    env.write(&format!("{folder}/logs.json"), "[]");
    let projects = &env.json(&["doctor", "--json"])["projects"];
    assert_eq!(projects.as_array().unwrap().len(), 1, "{projects}");
    assert_eq!((&projects[0]["path"], &projects[0]["files"]), (&"/code/shop".into(), &2.into()));
}

/// The id in the name of a file without a session is not that of a session.
#[test]
fn files_without_a_session_have_no_id() {
    let env = TestEnv::new();
    env.write(".gemini/tmp/shop/chats/session-2025-01-01T00-00-99999999.json", "{}");
    let said = env.run(&["doctor"]).stdout;
    assert!(said.contains("no session  it cannot be resumed"), "{said}");
    let said = env.run(&["doctor", "-v"]).stdout;
    assert!(said.contains("session-2025-01-01T00-00-99999999.json  it cannot"), "{said}");
}

const OLD: &str = "2025-01-01T00:00:00.000Z";

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_is_a_problem() {
    let env = small_home();
    let chats = env.home().join(".gemini/tmp/shop/chats");
    std::os::unix::fs::symlink(&chats, chats.join("again")).unwrap();
    let got = env.json(&["doctor", "--json"]);
    let what = got["problems"][0]["what"].as_str().unwrap();
    assert!(what.contains("leads back"), "{what}");
    assert_eq!(got["projects"].as_array().unwrap().len(), 2, "the rest is read");
}

#[test]
fn extra_files_by_their_content() {
    let env = TestEnv::new();
    env.write("mix/share.json", r#"[{"role":"user","parts":[{"text":"hi"}]}]"#);
    env.write("mix/out.json", r#"{"session_id":"s","response":"hi","stats":{}}"#);
    env.write("mix/lfs.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
    env.write("mix/other.json", r#"{"name":"package"}"#);
    env.write("mix/noise.json", "no JSON at all");
    let got = env.json(&["doctor", "--json", "--from", "mix"]);
    let kinds: Vec<&str> =
        got["found"].as_array().unwrap().iter().map(|k| k["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session", "saved history"]);
    let why: Vec<&str> =
        got["skipped"].as_array().unwrap().iter().map(|s| s["why"].as_str().unwrap()).collect();
    assert_eq!(why, ["Git LFS pointer, the content is not here", "JSON, but not a session"]);
    assert_eq!(got["faults"][0]["what"], "the agent refuses this file: it is not JSON");
}

/// Nothing, a hook, or a watch keeps the archive up to date.
#[test]
fn advice_to_keep() {
    let env = small_home();
    let archive = |env: &TestEnv| env.json(&["doctor", "--json"])["archive"].take();
    let first = archive(&env);
    assert_eq!((&first["captured_files"], &first["hook"]), (&0.into(), &false.into()));
    assert_eq!(first["advice"]["command"], "backstory watch");
    let settings = &first["advice"]["settings"];
    let hook = &settings["hooks"]["SessionEnd"][0]["hooks"][0];
    assert_eq!(
        (&hook["type"], &hook["command"]),
        (&"command".into(), &"backstory sync --quiet".into())
    );
    // Its advice works.
    let file = first["advice"]["settings_file"].as_str().unwrap();
    assert!(file.ends_with("home/.gemini/settings.json"), "{file}");
    let file = ".gemini/settings.json";
    assert!(!env.home().join(file).exists(), "the agent's settings are the user's");
    env.write(file, settings.to_string());
    env.run(&["sync", "--quiet"]);
    let second = archive(&env);
    assert_eq!(second["captured_files"], second["files"]);
    assert_eq!((&second["hook"], &second["advice"]), (&true.into(), &Value::Null));
    // Files that are not captured yet are reported all the same.
    let log = session("55555555-0000-4000-8000-000000000005", NOW, NOW, &["hi"]);
    env.write(".gemini/tmp/shop/chats/session-2026-08-14T10-00-55555555.jsonl", log);
    assert_ne!(archive(&env)["advice"], Value::Null);
    // Without a persistent archive there is no advice.
    let home = env.home();
    let elsewhere = env.json(&["doctor", "--json", "--from", home.to_str().unwrap()]);
    assert_eq!(elsewhere["archive"], Value::Null);
}

#[test]
fn the_verdict_comes_first() {
    let env = TestEnv::new();
    let first = |env: &TestEnv| env.run(&["doctor"]).stdout.lines().next().unwrap().to_owned();
    assert_eq!(first(&env), "✓ Nothing to do");
    assert_eq!(first(&small_home()), "3 things to do");
    let env = small_home();
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    // All files are captured, but nothing keeps the archive up to date.
    insta::assert_snapshot!(env.run(&["doctor"]).stdout.split("\n\n").next().unwrap(), @"
    2 things to do
      ! Gemini CLI deletes sessions, and nothing keeps the archive up to date: run `backstory watch`
      ! 2 faults in files: parts that could not be used
    ");
}

#[test]
fn ignored_records_are_counted_by_kind() {
    let env = TestEnv::new();
    let claude = "aaaaaaaa-0000-4000-8000-000000000000";
    let prompt = format!(
        r#"{{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"{claude}","timestamp":"2026-08-13T10:00:00.000Z","cwd":"/w","message":{{"role":"user","content":"hi"}}}}"#
    );
    let title = format!(r#"{{"type":"ai-title","sessionId":"{claude}","aiTitle":"A greeting"}}"#);
    let new = format!(r#"{{"type":"new-kind","sessionId":"{claude}"}}"#);
    let lines = [prompt, title, new.clone(), new, String::new()].join("\n");
    env.write(&format!(".claude/projects/-w/{claude}.jsonl"), lines);
    let codex = "019ff000-0000-7000-8000-000000000000";
    let lines = [
        format!(
            r#"{{"timestamp":"2026-08-13T10:00:00.000Z","type":"session_meta","payload":{{"id":"{codex}","timestamp":"2026-08-13T10:00:00.000Z","cwd":"/w"}}}}"#
        ),
        r#"{"timestamp":"2026-08-13T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#.to_owned(),
        r#"{"timestamp":"2026-08-13T10:00:02.000Z","type":"world_state","payload":{}}"#.to_owned(),
        String::new(),
    ];
    let file = format!(".codex/sessions/2026/08/13/rollout-2026-08-13T10-00-00-{codex}.jsonl");
    env.write(&file, lines.join("\n"));
    let report = env.json(&["doctor", "--json"]);
    insta::assert_snapshot!(
        report["records"],
        @r#"{"ignored":3,"ignored_kinds":{"new-kind":2,"world_state":1},"unusable":0,"used":4}"#
    );
    let text = env.run(&["doctor", "-v"]).stdout;
    let rows = |line: &&str| line.starts_with("  new-kind") || line.starts_with("  world_state");
    let rows: Vec<Vec<&str>> =
        text.lines().filter(rows).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["new-kind", "2"], ["world_state", "1"]], "{text}");
}

#[test]
fn settings_to_paste_are_never_wrapped() {
    let env = small_home();
    let settings = env.json(&["doctor", "--json"])["archive"]["advice"]["settings"].take();
    for width in ["40", "60", "200"] {
        let run = env.finish(env.command(&["doctor"]).env("COLUMNS", width));
        let (_, text) = run.stdout.split_once("\n    {\n").unwrap();
        let text: serde_json::Value = serde_json::from_str(&format!("{{{text}")).unwrap();
        assert_eq!(text, settings, "{width}");
    }
}
