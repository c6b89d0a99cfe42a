//! Tests restoring deleted sessions of Gemini CLI. `conformance/restore` does the same with the real program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{HASH, RESUMED, SHOP, TestEnv, session, small_home, testdata};

pub(crate) const CHATS: &str = ".gemini/tmp/shop/chats";
pub(crate) const FILE: &str = "session-2026-08-10T09-00-22222222.jsonl";

/// Returns every file below a folder, by its relative path.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                out.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    out.sort();
    out
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// Returns a path that a run named.
pub(crate) fn real(env: &TestEnv, path: &Value) -> PathBuf {
    let temporary = env.home().parent().unwrap().to_str().unwrap().to_owned();
    path.as_str().unwrap().replace("[TEMP]", &temporary).into()
}

/// Returns a home that was synced, and then lost all files of Gemini CLI.
pub(crate) fn lost(env: TestEnv) -> TestEnv {
    assert_eq!(env.run(&["sync"]).code, Some(0));
    fs::remove_dir_all(env.home().join(".gemini")).unwrap();
    env
}

/// Returns trees of all versions and shapes, each with the content of a `.gemini` folder.
fn trees() -> Vec<TestEnv> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut open = vec![testdata("gemini")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.file_name().unwrap().to_str().unwrap() {
                "tmp" => folders.push(folder.clone()),
                "chats" => folders.push(path),
                _ if path.is_dir() => open.push(path),
                _ => {}
            }
        }
    }
    assert!(folders.len() > 40, "{}", folders.len());
    let make = |folder: &PathBuf| {
        let env = TestEnv::new();
        let inside = if folder.ends_with("chats") { ".gemini/tmp/core/chats" } else { ".gemini" };
        copy(folder, &env.home().join(inside));
        env
    };
    folders.iter().map(make).collect()
}

#[test]
fn every_captured_file_comes_back_to_the_byte() {
    for env in trees() {
        let kept = env.home().join("kept");
        copy(&env.home().join(".gemini"), &kept);
        let env = lost(env);
        let out = env.home().join("out");
        let run = env.run(&["restore", "--to", out.to_str().unwrap(), "--all-files"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let place = env.home().join(".gemini");
        let below = out.join(place.strip_prefix("/").unwrap_or(&place));
        for file in files(&kept) {
            if !file.starts_with("tmp") || file.ends_with(".project_root") {
                continue;
            }
            let (was, is) = (fs::read(kept.join(&file)).unwrap(), fs::read(below.join(&file)));
            assert_eq!(is.ok(), Some(was), "{}", file.display());
        }
        assert!(!place.exists());
    }
}

#[test]
fn every_session_comes_back_to_the_byte_and_without_stubs() {
    let (mut restored, mut refused) = (0, 0);
    for env in trees() {
        let kept = env.home().join("kept");
        copy(&env.home().join(".gemini"), &kept);
        let env = lost(env);
        let list = env.run(&["sessions", "--json"]);
        let list: Value = serde_json::from_str(&list.stdout).unwrap();
        for session in list["sessions"].as_array().unwrap() {
            let run = env.run(&["restore", session["id"].as_str().unwrap(), "--json"]);
            if run.code != Some(0) {
                assert!(run.stderr.contains("finds nothing to resume"), "{}", run.stderr);
                refused += 1;
                continue;
            }
            restored += 1;
            let document: Value = serde_json::from_str(&run.stdout).unwrap();
            for file in document["files"].as_array().unwrap() {
                if ["marker", "registry"].contains(&file["what"].as_str().unwrap()) {
                    continue;
                }
                let path = real(&env, &file["path"]);
                let below = path.strip_prefix(env.home().join(".gemini/tmp")).unwrap();
                let below: PathBuf = below.iter().skip(1).collect();
                let is = fs::read(&path).unwrap();
                // A file of a hash folder comes back in the project's new one.
                let folders = fs::read_dir(kept.join("tmp")).unwrap();
                let mut was = folders.map(|folder| folder.unwrap().path().join(&below));
                assert!(
                    was.any(|was| fs::read(was).ok() == Some(is.clone())),
                    "{}",
                    path.display()
                );
            }
            for part in session["parts"].as_array().unwrap() {
                let stub = real(&env, &part["file"]);
                assert!(part["why"] != "stub" || !stub.exists(), "{}", stub.display());
            }
        }
    }
    assert!(restored > 60 && refused < 10, "{restored} restored, {refused} refused");
}

#[test]
fn a_lost_session() {
    let env = lost(small_home());
    insta::assert_snapshot!(env.run(&["restore", "2222", "--dry-run"]).show(), @"
    exit code 0
    --- stdout
      would write  marker    ~/.gemini/tmp/shop/.project_root
      would write  marker    ~/.gemini/history/shop/.project_root
      would write  session   ~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
      would write  registry  ~/.gemini/projects.json
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    ");
    assert!(!env.home().join(".gemini").exists());
    insta::assert_snapshot!(env.run(&["restore", "2222"]).show(), @"
    exit code 0
    --- stdout
      written  marker    ~/.gemini/tmp/shop/.project_root
      written  marker    ~/.gemini/history/shop/.project_root
      written  session   ~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
      written  registry  ~/.gemini/projects.json
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    ");
    insta::assert_snapshot!(env.run(&["restore", "2222"]).show(), @"
    exit code 0
    --- stdout
      there  session  ~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    ");
    let root = env.home().join(".gemini");
    let names: Vec<_> = files(&root).iter().map(|file| file.display().to_string()).collect();
    insta::assert_snapshot!(names.join("\n"), @"
    history/shop/.project_root
    projects.json
    tmp/shop/.project_root
    tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
    ");
}

#[test]
fn a_differing_file_stays() {
    let env = lost(small_home());
    let path = env.write(&format!("{CHATS}/{FILE}"), "mine");
    // The archive keeps what it captured as an older version of the file.
    let old = session(
        RESUMED,
        "2026-08-10T09:00:00.000Z",
        "2026-08-12T09:30:00.000Z",
        &["sort the list"],
    );
    let out = env.home().join("out");
    let run = env.run(&["restore", "2222"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: `~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl` already exists and differs
      hint: nothing was written; `--to DIR --all-files` restores the captured files elsewhere
    ");
    let all = env.run(&["restore", "2222", "--to", out.to_str().unwrap(), "--all-files"]);
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    assert!(files(&out).iter().any(|file| fs::read_to_string(out.join(file)).unwrap() == old));
}

#[test]
fn too_old_to_stay_without_a_new_line() {
    let env = small_home();
    let log = session(SHOP, "2026-06-01T10:00:00.000Z", "2026-06-01T11:00:00.000Z", &["old"]);
    let name = format!("{CHATS}/session-2026-07-20T10-00-11111111.jsonl");
    env.write(&name, &log);
    let env = lost(env);
    let run = env.run(&["restore", "1111"]);
    insta::assert_snapshot!(run.stderr, @"
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    warning: Gemini CLI will delete it again when it is started in the project, because of its age: `--fresh` prevents that
    ");
    let path = env.home().join(&name);
    assert_eq!(fs::read_to_string(&path).unwrap(), log);
    let again = env.json(&["restore", "1111", "--json"]);
    assert_eq!(again["deleted_again"], "age");
    let fresh = env.json(&["restore", "1111", "--fresh", "--json"]);
    assert_eq!(fresh["deleted_again"], Value::Null);
    assert_eq!(fresh["files"][0]["done"], "freshened");
    let line = "{\"$set\":{\"lastUpdated\":\"2026-08-14T16:30:00.000Z\"}}\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{log}{line}"));
    // After it is written again, it is the same.
    env.run(&["sync"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(env.run(&["restore", "1111"]).code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{log}{line}"));
}

#[test]
fn a_moved_project() {
    let env = lost(small_home());
    let moved = env.home().join("New Shop");
    fs::create_dir(&moved).unwrap();
    let moved = moved.canonicalize().unwrap();
    env.write(".gemini/tmp/new-shop/.project_root", "/somebody/else");
    let document = env.json(&["restore", "2222", "--project", "New Shop", "--json"]);
    assert_eq!(real(&env, &document["project"]), moved);
    let folder = env.home().join(".gemini/tmp/new-shop-1");
    assert_eq!(fs::read_to_string(folder.join(".project_root")).unwrap(), moved.to_str().unwrap());
    assert!(folder.join("chats").join(FILE).exists());
    let registry = fs::read_to_string(env.home().join(".gemini/projects.json")).unwrap();
    assert!(registry.ends_with("/New Shop\": \"new-shop-1\"\n  }\n}"), "{registry}");
    // From now on it is known to be there.
    let run = env.run(&["resume", "2222", "--print"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stdout
    cd '[TEMP]/home/New Shop' && gemini --resume 22222222-0000-4000-8000-000000000002
    ");
    // If it is lost again after it was continued there, it is restored there.
    let path = folder.join("chats").join(FILE);
    let line = "{\"$set\":{\"lastUpdated\":\"2026-08-13T10:00:00.000Z\"}}\n";
    let log = fs::read_to_string(&path).unwrap() + line;
    fs::write(&path, &log).unwrap();
    let env = lost(env);
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    let back = env.home().join(".gemini/tmp/new-shop/chats").join(FILE);
    assert_eq!(fs::read_to_string(back).unwrap(), log);
}

#[test]
fn a_session_of_another_machine_goes_to_this_home() {
    let other = small_home();
    let env = TestEnv::new();
    let from = other.home().join(".gemini");
    let run = env.run(&["sync", "--from", from.to_str().unwrap(), "--as", "laptop"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    let is = fs::read(env.home().join(CHATS).join(FILE)).unwrap();
    assert_eq!(is, fs::read(other.home().join(CHATS).join(FILE)).unwrap());
}

#[test]
fn what_belongs_to_a_session() {
    let env = small_home();
    let folder = ".gemini/tmp/shop";
    let agent = "55555555-0000-4000-8000-000000000005";
    let log = session(agent, "2026-08-10T09:10:00.000Z", "2026-08-10T09:20:00.000Z", &["task"]);
    let mine = [
        format!("{folder}/chats/{RESUMED}/{agent}.jsonl"),
        format!("{folder}/tool-outputs/session-{RESUMED}/shell_1.txt"),
        format!("{folder}/tool-outputs/session-{agent}/shell_2.txt"),
        format!("{folder}/{RESUMED}/plans/plan.md"),
        format!("{folder}/{RESUMED}/tracker/abc123.json"),
    ];
    let others = [
        format!("{folder}/tool-outputs/session-{SHOP}/shell_3.txt"),
        format!("{folder}/{SHOP}/plans/plan.md"),
    ];
    env.write(&mine[0], log);
    for file in mine[1..].iter().chain(&others) {
        env.write(file, "{}");
    }
    let env = lost(env);
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    assert!(mine.iter().all(|file| env.home().join(file).exists()));
    assert!(others.iter().all(|file| !env.home().join(file).exists()));
    let run = env.run(&["restore", agent]);
    assert!(
        run.stderr.contains(&format!("comes back with its parent `{RESUMED}`")),
        "{}",
        run.stderr
    );
}

#[test]
fn a_hash_folder_is_copied_by_gemini_cli_only_while_the_new_one_is_empty() {
    let env = TestEnv::new();
    let name = "session-2026-08-10T09-00-22222222.json";
    let document = format!(
        r#"{{"sessionId":"{RESUMED}","projectHash":"{HASH}","startTime":"2026-08-10T09:00:00.000Z","lastUpdated":"2026-08-10T09:00:00.000Z","messages":[{{"id":"u","timestamp":"2026-08-10T09:00:00.000Z","type":"user","content":"sort"}}]}}"#
    );
    let old = format!(".gemini/tmp/{HASH}");
    env.write(&format!("{old}/chats/{name}"), &document);
    env.write(".gemini/projects.json", r#"{"projects":{"/code/shop":"shop"}}"#);
    assert_eq!(env.run(&["sync"]).code, Some(0));
    let there = |path: &str| env.home().join(path).exists();
    // If the old folder exists, Gemini CLI copies all of it.
    fs::remove_file(env.home().join(format!("{old}/chats/{name}"))).unwrap();
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    assert!(there(&format!("{old}/chats/{name}")) && !there(".gemini/tmp/shop"));
    // If it does not, the session goes where Gemini CLI looks.
    fs::remove_dir_all(env.home().join(&old)).unwrap();
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    assert_eq!(fs::read_to_string(env.home().join(format!("{CHATS}/{name}"))).unwrap(), document);
    assert!(there(".gemini/history/shop/.project_root") && !there(&old));
    let run = env.run(&["restore", "2222", "--fresh"]);
    assert!(run.code == Some(2) && run.stderr.contains("not a log"), "{}", run.stderr);
}

#[test]
fn a_stub_that_is_still_there_is_named() {
    let env = small_home();
    assert_eq!(env.run(&["sync"]).code, Some(0));
    fs::remove_file(env.home().join(CHATS).join(FILE)).unwrap();
    insta::assert_snapshot!(env.run(&["restore", "2222"]).show(), @"
    exit code 0
    --- stdout
      written  marker    ~/.gemini/history/shop/.project_root
      written  session   ~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl
      written  registry  ~/.gemini/projects.json
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    warning: Gemini CLI will delete it again when it is started in the project, because of `~/.gemini/tmp/shop/chats/session-2026-08-12T09-30-22222222.jsonl`: remove that file first
    ");
}

#[test]
fn what_was_not_captured() {
    let env = small_home();
    env.write(".config/backstory/config.toml", "auto_capture = false\n");
    assert_eq!(env.run(&["sessions"]).code, Some(0));
    fs::remove_dir_all(env.home().join(".gemini")).unwrap();
    insta::assert_snapshot!(env.run(&["restore", "2222"]).show(), @"
    exit code 2
    --- stderr
    error: cannot restore session `22222222-0000-4000-8000-000000000002`
      caused by: `~/.gemini/tmp/shop/chats/session-2026-08-10T09-00-22222222.jsonl` was not captured before it was deleted
    ");
}

#[cfg(unix)]
#[test]
fn resume_runs_the_agent() {
    use std::os::unix::fs::PermissionsExt;

    let env = lost(small_home());
    let project = env.home().join("it's here");
    fs::create_dir(&project).unwrap();
    let run = env.run(&["resume", "2222"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: the project's folder `/code/shop` does not exist
      hint: if the project was moved: `backstory resume 22222222-0000-4000-8000-000000000002 --project DIR`
    ");
    let shown = env.run(&["resume", "2222", "--project", "it's here", "--print"]);
    insta::assert_snapshot!(shown.show(), @r"
    exit code 0
    --- stdout
    backstory restore 22222222-0000-4000-8000-000000000002 --project '[TEMP]/home/it'\''s here' && cd '[TEMP]/home/it'\''s here' && gemini --resume 22222222-0000-4000-8000-000000000002
    ");
    assert!(!env.home().join(".gemini").exists());
    let program = env.write("bin/gemini", "#!/bin/sh\necho \"$PWD: $*\"\nexit 7\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = env.command(&["resume", "2222", "--project", "it's here"]);
    let run = env.finish(command.env("PATH", env.home().join("bin")));
    insta::assert_snapshot!(run.show(), @"
    exit code 7
    --- stdout
    [TEMP]/home/it's here: --resume 22222222-0000-4000-8000-000000000002
    --- stderr
    Its files were restored first.
    ");
    let run = env.finish(env.command(&["resume", "2222"]).env("PATH", "/nowhere"));
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: cannot run `gemini`
      caused by: No such file or directory (os error 2)
      hint: Gemini CLI must be installed: `npm install -g @google/gemini-cli`
    ");
}
