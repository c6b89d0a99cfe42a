//! Tests `export` of one session.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{RESUMED, SHOP, TestEnv, session, small_home, testdata};

const GEMINI: [&str; 3] = ["--format", "gemini", "--no-redact"];

fn export<'a>(what: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["export", what];
    args.extend(GEMINI);
    args.extend(more);
    args
}

/// Corner cases are exported as Gemini CLI's own loader would; if it rejects one, there is a warning.
#[test]
fn corner_cases() {
    let env = TestEnv::new();
    let mut seen = 0;
    for entry in fs::read_dir(testdata("gemini/edge")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let answer = testdata("gemini/edge-expected").join(format!("{name}.loaded.json"));
        let theirs: Value = serde_json::from_slice(&fs::read(answer).unwrap()).unwrap();
        compare(&env, &path, &theirs);
        seen += 1;
    }
    assert!(seen >= 24, "{seen}");
}

/// Exports the first session of each tree that the real program wrote.
#[test]
fn real_trees() {
    let env = TestEnv::new();
    let mut seen = 0;
    for version in fs::read_dir(testdata("gemini")).unwrap() {
        // The folder also has files that describe where the trees come from.
        let Ok(trees) = fs::read_dir(version.unwrap().path()) else { continue };
        for tree in trees {
            let tree = tree.unwrap().path();
            let Ok(answers) = fs::read_to_string(tree.join("loaded.jsonl")) else { continue };
            let answer: Value = serde_json::from_str(answers.lines().next().unwrap()).unwrap();
            compare(&env, &tree.join(answer["file"].as_str().unwrap()), &answer["record"]);
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

fn compare(env: &TestEnv, path: &Path, theirs: &Value) {
    let run = env.run(&export(path.to_str().unwrap(), &[]));
    let name = path.display();
    assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
    let ours: Value = serde_json::from_str(&run.stdout).unwrap();
    let refuses = run.stderr.contains("Gemini CLI rejects");
    assert_eq!(refuses, theirs.is_null(), "{name}: {}", run.stderr);
    let strict = env.run(&export(path.to_str().unwrap(), &["--strict"]));
    assert!(!refuses || strict.code == Some(1), "{name}");
    if !refuses {
        for key in ["sessionId", "projectHash", "kind", "summary", "directories", "messages"] {
            assert_eq!(ours[key], theirs[key], "{name}: {key}");
        }
    }
}

#[test]
fn a_refused_file_is_answered() {
    let env = TestEnv::new();
    env.write("chats/lost.jsonl", "{\"id\":\"a\",\"type\":\"user\",\"content\":\"hi\"}\n");
    insta::assert_snapshot!(env.run(&export("chats/lost.jsonl", &[])).show(), @r#"
    exit code 0
    --- stdout
    {
      "sessionId": "lost",
      "messages": [
        {"id":"a","type":"user","content":"hi"}
      ],
      "messageCount": 1,
      "userMessageCount": 1,
      "firstUserMessage": "hi",
      "hasResumableContent": true
    }
    --- stderr
    warning: Gemini CLI rejects `chats/lost.jsonl`: it has no header. It was read anyway: 1 message.
    "#);
    let quiet = env.run(&export("chats/lost.jsonl", &["-q"]));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    env.write("empty.jsonl", "");
    insta::assert_snapshot!(env.run(&export("empty.jsonl", &[])).show(), @r#"
    exit code 0
    --- stdout
    {
      "sessionId": "empty",
      "messages": [],
      "userMessageCount": 0,
      "hasResumableContent": false
    }
    --- stderr
    warning: Gemini CLI rejects `empty.jsonl`: there is no session in it. It was read anyway: 0 messages.
    "#);
}

/// If a file does not contain the project's hash, its folder does.
#[test]
fn the_folder_fills_in() {
    let env = TestEnv::new();
    let hash = "b".repeat(64);
    let path = format!(".gemini/tmp/{hash}/chats/session-x.jsonl");
    env.write(&path, "{\"id\":\"a\",\"type\":\"user\",\"content\":\"hi\"}\n");
    let got = env.json(&export(&path, &[]));
    assert_eq!((&got["sessionId"], &got["projectHash"]), (&"session-x".into(), &hash.into()));
}

#[test]
fn what_is_no_conversation() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&export(".gemini", &[])).show(), @"
    exit code 2
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: `.gemini` is a folder
      hint: name a file in it, or a session with `--from FOLDER`
    ");
    env.write("log.json", r#"[{"sessionId":"s","messageId":0,"type":"user","message":"hi"}]"#);
    insta::assert_snapshot!(env.run(&export("log.json", &[])).show(), @"
    exit code 2
    --- stderr
    error: `log.json` contains no conversation
      caused by: the file is: prompt log
    ");
    env.write("package.json", r#"{"name":"x"}"#);
    assert_eq!(env.run(&export("package.json", &[])).code, Some(2));
}

#[test]
fn by_id_prefix_name_and_stem() {
    let env = small_home();
    let stem = "session-2026-07-20T10-00-11111111";
    let file = format!("{stem}.jsonl");
    for name in [SHOP, "11111111", "1", stem, file.as_str()] {
        let got = env.json(&export(name, &[]));
        assert_eq!(got["sessionId"], SHOP, "{name}");
    }
}

/// Of a resumed session, the file with the conversation is exported, not the newer stub.
#[test]
fn the_file_that_gemini_cli_would_load() {
    let env = small_home();
    for name in [RESUMED, "session-2026-08-12T09-30-22222222"] {
        assert_eq!(env.json(&export(name, &[]))["messages"].as_array().unwrap().len(), 2);
    }
    // The folder of a newer version comes before the one it was copied from, even if that is newer.
    let log = session(RESUMED, "2026-08-10T09:00:00.000Z", "2026-08-14T00:00:00.000Z", &["a", "b"]);
    let old =
        format!(".gemini/tmp/{}/chats/session-2026-08-10T09-00-22222222.json", "c".repeat(64));
    env.write(&old, log);
    assert_eq!(env.json(&export(RESUMED, &[]))["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn unknown_and_ambiguous() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&export("99", &[])).show(), @"
    exit code 1
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: no session is called `99`
      hint: name it by its id, a prefix of its id, `latest`, `@N`, `@sN`, its name or a file
      hint: `backstory sessions` lists them
    ");
    env.write(
        ".gemini/tmp/shop/chats/session-2026-08-14T10-00-11112222.jsonl",
        session(
            "11112222-0000-4000-8000-000000000009",
            "2026-08-14T10:00:00.000Z",
            "2026-08-14T10:00:00.000Z",
            &["x"],
        ),
    );
    insta::assert_snapshot!(env.run(&export("1111", &[])).show(), @"
    exit code 2
    --- stderr
    error: `1111` matches 2 sessions
      hint: `11111111-0000-4000-8000-000000000001`: add a cart
      hint: `11112222-0000-4000-8000-000000000009`: x
    ");
}

#[test]
fn to_a_file() {
    let env = small_home();
    env.run(&["sync"]);
    let to = export(SHOP, &["-o", "out.json"]);
    let run = env.run(&to);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    let path = env.home().join("out.json");
    let first = fs::read(&path).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&first).unwrap()["sessionId"], SHOP);
    fs::write(&path, "mine").unwrap();
    insta::assert_snapshot!(env.run(&to).show(), @"
    exit code 2
    --- stderr
    error: `out.json` already exists
      hint: `--force` replaces it
    ");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert_eq!(env.run(&export(SHOP, &["-o", "out.json", "--force"])).code, Some(0));
    assert_eq!(fs::read(&path).unwrap(), first);
    let left: Vec<_> = fs::read_dir(env.home()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_str().unwrap().starts_with(".backstory")), "{left:?}");
    assert_eq!(env.run(&export(SHOP, &["-o", "-"])).stdout.as_bytes(), first);
}

#[test]
fn never_into_the_agents_folder() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&export(SHOP, &["-o", ".gemini/tmp/out.json"])).show(), @"
    exit code 2
    --- stderr
    error: `.gemini/tmp/out.json` is inside an agent's own folder
      hint: choose a place outside of it
    ");
    assert_eq!(env.run(&export(SHOP, &["-o", "nowhere/out.json"])).code, Some(2));
}

#[cfg(unix)]
#[test]
fn through_a_pipe() {
    let env = small_home();
    let log = session(SHOP, "2026-08-14T10:00:00.000Z", "2026-08-14T10:00:00.000Z", &["x"]);
    let path = env.write("piped.jsonl", log);
    let mut cat = std::process::Command::new("cat")
        .arg(path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut command = env.command(&export("/dev/stdin", &[]));
    command.stdin(cat.stdout.take().unwrap());
    let run = env.finish(&mut command);
    cat.wait().unwrap();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["sessionId"], SHOP);
}
