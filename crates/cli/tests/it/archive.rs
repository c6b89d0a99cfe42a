//! Tests the archive at work: kills, rebuilds, deletions, several machines.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::{RESUMED, SHOP, TestEnv, session, small_home};

/// Returns a home with many sessions, so that a sync takes a while.
fn large_home(sessions: usize) -> TestEnv {
    let env = TestEnv::new();
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    let long = "word ".repeat(400);
    for n in 0..sessions {
        let id = format!("{n:08x}-0000-4000-8000-000000000000");
        let prompts: Vec<&str> = std::iter::repeat_n(long.as_str(), 10).collect();
        let log = session(&id, "2026-07-20T10:00:00.000Z", "2026-07-20T11:00:00.000Z", &prompts);
        let name = format!("session-2026-07-20T10-00-{n:08x}.jsonl");
        env.write(&format!(".gemini/tmp/shop/chats/{name}"), log);
    }
    env
}

/// Returns the answers about all sessions, and the state of the archive.
fn told(env: &TestEnv, archive: &str) -> [Value; 3] {
    let info = env.json(&["archive", "info", "--json", "--archive", archive]);
    let keys = ["sources", "sessions", "source_bytes", "captured_bytes"];
    let info = keys.iter().map(|key| info[*key].clone()).collect();
    let found = env.json(&["search", "more", "--json", "--no-sync", "--archive", archive]);
    let sessions = ["sessions", "--all", "--json", "--no-sync", "--archive", archive];
    [env.json(&sessions), info, found["hits"].clone()]
}

#[test]
fn a_sync_that_is_killed_again_and_again_ends_like_a_clean_one() {
    let env = large_home(40);
    let archive = env.home().join("killed.db");
    // Each run is killed at another time; where that is depends on the machine.
    let mut moment: u64 = 88_172_645_463_325_252;
    let mut killed = 0;
    for round in 0..400 {
        if killed == 50 {
            break;
        }
        // There is always work: sessions grow, and now and then the archive is deleted.
        for n in 0..10 {
            let name = format!("session-2026-07-20T10-00-{:08x}.jsonl", (round * 7 + n) % 40);
            let path = env.home().join(".gemini/tmp/shop/chats").join(name);
            let mut log = fs::read_to_string(&path).unwrap();
            let more = format!(r#"{{"id":"more-{round}-{n}","type":"user","content":"more"}}"#);
            log.push_str(&more);
            fs::write(path, log + "\n").unwrap();
        }
        if round % 9 == 8 {
            for ending in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(format!("{}{ending}", archive.display()));
            }
        }
        let mut child = env
            .command(&["sync", "--archive", "killed.db"])
            .env("BACKSTORY_BATCH", "65536")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        sleep(Duration::from_micros(moment % 40_000));
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // It is consistent at any time.
        if archive.exists() {
            let run = env.run(&["archive", "check", "--archive", "killed.db"]);
            assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        }
        if killed % 10 == 9 {
            let found = env.json(&["search", "more", "--json", "--archive", "killed.db"]);
            assert_eq!(found["total"], (round + 1) * 10, "after the kill of round {round}");
        }
    }
    assert_eq!(killed, 50, "too few were still running");
    for archive in ["killed.db", "clean.db"] {
        let run = env.run(&["sync", "--archive", archive]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    assert_eq!(told(&env, "killed.db"), told(&env, "clean.db"));
}

#[test]
fn everything_answers_the_same_when_the_files_are_gone() {
    let env = small_home();
    let commands: [&[&str]; 5] = [
        &["usage", "--json"],
        &["tools", "--json"],
        &["show", SHOP, "--json"],
        &["export", SHOP, "--format", "json"],
        &["export", RESUMED, "--format", "gemini"],
    ];
    assert_eq!(env.run(&["sync"]).code, Some(0));
    let answer = |args: &&[&str]| {
        let run = env.run(args);
        (run.code, run.stdout.replace("\"state\": \"gone\"", "\"state\": \"live\""))
    };
    let before: Vec<_> = commands.iter().map(answer).collect();
    let listed = env.json(&["sessions", "--all", "--json"]);
    fs::remove_dir_all(env.home().join(".gemini")).unwrap();
    let after: Vec<_> = commands.iter().map(answer).collect();
    assert_eq!(before, after);
    let gone = env.json(&["sessions", "--all", "--json"]);
    let states = |value: &Value| -> Vec<Value> {
        value["sessions"].as_array().unwrap().iter().map(|s| s["state"].clone()).collect()
    };
    assert_eq!(states(&listed).len(), states(&gone).len());
    assert!(states(&gone).iter().all(|state| state == "gone"), "{gone}");
    insta::assert_snapshot!(env.run(&["archive", "check"]).show(), @"
    exit code 0
    --- stdout
    6 pieces in 6 files (1.8 kB): all intact.
    ");
}

#[test]
fn names_and_tags_survive_a_rebuild() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["name", SHOP, "the till"]).show(), @"
    exit code 0
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    Session `11111111-0000-4000-8000-000000000001` is now called `the till`.
    ");
    insta::assert_snapshot!(env.run(&["tag", "the till", "money", "later"]).show(), @"
    exit code 0
    --- stderr
    Tags of session `11111111-0000-4000-8000-000000000001`: later, money.
    ");
    insta::assert_snapshot!(env.run(&["untag", "the till", "later", "never"]).show(), @"
    exit code 1
    --- stderr
    warning: session `11111111-0000-4000-8000-000000000001` has no tag `never`
    ");
    insta::assert_snapshot!(env.run(&["sync", "--rebuild"]).show(), @"
    exit code 0
    --- stderr
    Rebuilt with 6 files.
    Files: 6 unchanged. Captured: 0 B in 0 files. Indexed: 8 messages.
    ");
    insta::assert_snapshot!(env.run(&["sessions", "--tag", "money"]).show(), @"
    exit code 0
    --- stdout
          ID        UPDATED      PROJECT  PROMPTS  TOKENS  COST  TITLE
      @3  11111111  25 days ago  shop           2       0     –  #money the till
    --- stderr
    2 faults while reading; see `backstory doctor`.
    ");
    insta::assert_snapshot!(env.run(&["name", "the till", " "]).show(), @"
    exit code 2
    --- stderr
    error: a name cannot be empty
      hint: `--clear` removes the name
    ");
    insta::assert_snapshot!(env.run(&["tag", "the till", "two words"]).show(), @"
    exit code 2
    --- stderr
    error: `two words` cannot be a tag
      hint: a tag is one word, without spaces or commas
    ");
    let listed = env.json(&["sessions", "--json", "--tag", "money"]);
    assert_eq!(listed["sessions"][0]["title_from"], "name");
}

#[test]
fn forgetting_asks_first_and_lasts() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["forget", SHOP, "--dry-run"]).show(), @"
    exit code 0
    --- stdout
    11111111-0000-4000-8000-000000000001  2026-07-20 11:00  add a cart
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    1 session would be forgotten.
    ");
    insta::assert_snapshot!(env.run(&["forget", SHOP]).show(), @"
    exit code 1
    --- stdout
    11111111-0000-4000-8000-000000000001  2026-07-20 11:00  add a cart
    --- stderr
    error: nothing was forgotten
      hint: `--yes` skips the question
    ");
    insta::assert_snapshot!(env.run(&["forget", "--project", "shop", "--before", "2026-08-01", "--yes"]).show(), @"
    exit code 0
    --- stdout
    11111111-0000-4000-8000-000000000001  2026-07-20 11:00  add a cart
    --- stderr
    Forgotten: 1 session, 1 file and 0 B of captured text.
    warning: the agent's own file still has it: `~/.gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl`
    ");
    insta::assert_snapshot!(env.run(&["show", SHOP]).show(), @"
    exit code 1
    --- stderr
    error: no session is called `11111111-0000-4000-8000-000000000001`
      hint: name it by its id, a prefix of its id, `latest`, `@N`, `@sN`, its name or a file
      hint: `backstory sessions` lists them
    ");
    insta::assert_snapshot!(env.run(&["unforget", "--list"]).show(), @"
    exit code 0
    --- stdout
    11111111-0000-4000-8000-000000000001
    ");
    insta::assert_snapshot!(env.run(&["unforget", SHOP]).show(), @"
    exit code 0
    --- stderr
    1 session comes back with the next sync.
    ");
    assert_eq!(env.run(&["show", SHOP]).code, Some(0));
    insta::assert_snapshot!(env.run(&["forget"]).show(), @"
    exit code 2
    --- stderr
    error: no sessions were named
      hint: name sessions, or use `--project` or `--before`
    ");
}

#[test]
fn excluded_projects_stay_out() {
    let env = small_home();
    env.write(".config/backstory/config.toml", "exclude = [\"/code/sh*\"]\n");
    let typed = r#"[{"sessionId":"77777777-0000-4000-8000-000000000007","messageId":0,"type":"user","message":"my diary","timestamp":"2026-08-01T10:00:00Z"}]"#;
    env.write(".gemini/tmp/shop/logs.json", typed);
    let listed = env.json(&["sessions", "--all", "--json"]);
    let projects: Vec<&Value> =
        listed["sessions"].as_array().unwrap().iter().map(|s| &s["project"]["name"]).collect();
    assert!(!projects.is_empty() && projects.iter().all(|name| *name != "shop"), "{projects:?}");
    let archive = fs::read(env.home().join(".local/share/backstory/archive.db")).unwrap();
    assert!(
        !archive.windows(8).any(|window| window == b"my diary"),
        "what was typed there is kept"
    );
    // The patterns change, and the projects that they excluded are read.
    env.write(".config/backstory/config.toml", "");
    assert_eq!(env.run(&["show", SHOP]).code, Some(0));
    assert_eq!(env.run(&["show", "77777777"]).code, Some(0));
    env.write(".config/backstory/config.toml", "exclude = [\"[\"]\n");
    insta::assert_snapshot!(env.run(&["sessions"]).show(), @"
    exit code 2
    --- stderr
    error: `exclude` in the config file
      caused by: error parsing glob '[': unclosed character class; missing ']'
      hint: write patterns for paths or names: `/home/me/private/**`, `secret-*`
    ");
}

#[test]
fn another_machines_sessions() {
    let (here, there) = (small_home(), TestEnv::new());
    let id = "99999999-0000-4000-8000-000000000009";
    let log = session(id, "2026-08-01T10:00:00.000Z", "2026-08-01T11:00:00.000Z", &["far away"]);
    there.write(".gemini/tmp/far/chats/session-2026-08-01T10-00-99999999.jsonl", log);
    assert_eq!(there.run(&["sync", "--as", "laptop"]).code, Some(0));
    let other = there.home().join(".local/share/backstory/archive.db");
    let copy = here.home().join("laptop.db");
    let run = there.run(&["archive", "backup", copy.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(other.exists());
    assert_eq!(here.run(&["sync", "--as", "desk"]).code, Some(0));
    for _ in 0..2 {
        let run = here.run(&["archive", "merge", "laptop.db"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let listed = here.json(&["sessions", "--machine", "laptop", "--json", "--no-sync"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(here.run(&["show", "9999", "--no-sync"]).code, Some(0));
}

#[test]
fn what_cannot_be_used_is_said() {
    let env = small_home();
    assert_eq!(env.run(&["sync"]).code, Some(0));
    let archive = env.home().join(".local/share/backstory/archive.db");
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, [&b"garbage "[..], &bytes[8..]].concat()).unwrap();
    insta::assert_snapshot!(env.run(&["usage"]).show(), @"
    exit code 2
    --- stderr
    error: the archive cannot be used
      caused by: `~/.local/share/backstory/archive.db` is damaged
      hint: `backstory sync --rebuild` saves what can be read and reads the agent's files again
    ");
    insta::assert_snapshot!(env.run(&["sync", "--rebuild"]).show(), @"
    exit code 0
    --- stderr
    warning: could not be saved: everything: not even its tables can be read
    warning: the old archive was damaged and was set aside as `~/.local/share/backstory/archive.damaged`
    Rebuilt with 0 files.
    Files: 6 new. Captured: 1.8 kB in 6 files. Indexed: 8 messages.
    1 file has faults; `backstory doctor` lists them.
    ");
    assert_eq!(env.run(&["archive", "check"]).code, Some(0));
    insta::assert_snapshot!(env.run(&["archive", "merge", "nowhere.db"]).show(), @"
    exit code 2
    --- stderr
    error: `nowhere.db` cannot be merged
      caused by: `nowhere.db` is not an archive of this version of backstory: it is not a regular file
      hint: it must be a backstory archive; yours was not changed
    ");
    let info = env.run(&["--demo", "archive", "info"]).stdout;
    assert!(info.contains("25, the oldest from 2026-03-18 20:07"), "{info}");
}

#[cfg(unix)]
#[test]
fn the_archive_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = small_home();
    assert_eq!(env.run(&["sync"]).code, Some(0));
    let file = env.home().join(".local/share/backstory/archive.db");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_file_that_is_read_alone_leaves_the_archive_alone() {
    let env = small_home();
    let file = ".gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl";
    let archive = env.home().join(".local/share/backstory/archive.db");
    assert_eq!(env.run(&["show", file]).code, Some(0));
    assert!(!archive.exists());
    // An option that is invalid is reported too.
    fs::create_dir_all(archive.parent().unwrap()).unwrap();
    fs::write(&archive, "garbage").unwrap();
    assert_eq!(env.run(&["show", file]).code, Some(0));
    assert_eq!(fs::read(&archive).unwrap(), b"garbage");
}

#[test]
fn without_a_place_for_the_archive_it_answers_all_the_same() {
    let env = small_home();
    env.write("file", "");
    insta::assert_snapshot!(env.run(&["sessions", "--archive", "file/archive.db", "-n", "1"]).show(), @"
    exit code 0
    --- stdout
          ID        UPDATED    PROJECT  PROMPTS  TOKENS  COST  TITLE
      @1  44444444  1 day ago  tools          1       0     –  why
    --- stderr
    warning: nothing is archived, because `file/archive.db` cannot be opened (Not a directory (os error 20))
    2 more; `--limit 3` lists them all.
    2 faults while reading; see `backstory --archive file/archive.db doctor`.
    ");
    insta::assert_snapshot!(env.run(&["sync", "--archive", "file/archive.db"]).show(), @"
    exit code 2
    --- stderr
    error: the archive cannot be used
      caused by: `file/archive.db` cannot be opened: Not a directory (os error 20)
      hint: check its folder, or name another one with `--archive`
    ");
    insta::assert_snapshot!(env.run(&["tag", SHOP, "x", "--archive", "file/archive.db"]).show(), @"
    exit code 2
    --- stderr
    warning: nothing is archived, because `file/archive.db` cannot be opened (Not a directory (os error 20))
    error: the archive `file/archive.db` cannot be written
      hint: check the permissions of the file and its folder, or name another with `--archive`
    ");
}
