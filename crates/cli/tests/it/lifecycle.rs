//! Tests restoring deleted sessions of Claude Code and Codex CLI. `conformance/restore-claude` and
//! `conformance/restore-codex` do the same with the real programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::restore::{copy, files, real};
use crate::restore_attacks::tamper;
use crate::support::{TestEnv, testdata};

const CLAUDE: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
const PROJECT: &str = ".claude/projects/-code-shop";
const CODEX: &str = "01a10000-0000-7000-8000-00000000000a";
const FORK: &str = "01a20000-0000-7000-8000-00000000000b";
const DAY: &str = ".codex/sessions/2026/08/10";

/// The time of all runs, 2026-08-14T16:30:00Z.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_786_725_000)
}

/// Makes a file look as if it was changed some days ago.
pub(crate) fn age(path: &Path, days: u64) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(now() - Duration::from_secs(days * 24 * 3600)).unwrap();
}

/// One prompt and one reply as Claude Code writes them; those of a subagent name it.
fn transcript(session: &str, agent: Option<&str>, prompt: &str) -> String {
    let agent = agent.map(|id| format!(r#","isSidechain":true,"agentId":"{id}""#));
    let agent = agent.unwrap_or_else(|| r#","isSidechain":false"#.to_owned());
    let envelope = format!(
        r#""sessionId":"{session}","cwd":"/code/shop","version":"2.1.325","timestamp":"2026-08-10T09:00:00.000Z"{agent}"#
    );
    format!(
        r#"{{"type":"user","uuid":"u-{prompt}","parentUuid":null,{envelope},"message":{{"role":"user","content":"{prompt}"}}}}
{{"type":"assistant","uuid":"a-{prompt}","parentUuid":"u-{prompt}",{envelope},"message":{{"id":"msg_{prompt}","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"done"}}],"stop_reason":"end_turn","usage":{{"input_tokens":3,"output_tokens":5}}}}}}
"#
    )
}

/// The files of a session of Claude Code, with a subagent and a stored tool output.
pub(crate) fn of_claude() -> [String; 5] {
    [
        format!("{PROJECT}/{CLAUDE}.jsonl"),
        format!("{PROJECT}/{CLAUDE}/subagents/agent-a1.jsonl"),
        format!("{PROJECT}/{CLAUDE}/subagents/agent-a1.meta.json"),
        format!("{PROJECT}/{CLAUDE}/tool-results/toolu_1.txt"),
        // The place of subagents before 2.1.
        format!("{PROJECT}/agent-b2.jsonl"),
    ]
}

pub(crate) fn claude_home() -> TestEnv {
    let env = TestEnv::new();
    let [main, agent, meta, output, old_agent] = of_claude();
    env.write(&main, transcript(CLAUDE, None, "cart"));
    env.write(&agent, transcript(CLAUDE, Some("a1"), "task"));
    env.write(&meta, r#"{"agentType":"general-purpose","description":"task"}"#);
    env.write(&output, "a long output\n");
    env.write(&old_agent, transcript(CLAUDE, Some("b2"), "other"));
    for file in of_claude() {
        age(&env.home().join(file), 2);
    }
    env
}

/// The lines of a thread of Codex CLI; a fork begins where its base ends.
fn rollout(id: &str, base: Option<&str>, prompt: &str) -> String {
    let at = r#""timestamp":"2026-08-10T09:00:00.000Z""#;
    let from = if base.is_some() { 3 } else { 0 };
    let base = base.map(|base| {
        format!(
            r#","forked_from_id":"{base}","history_base":{{"thread_id":"{base}","end_ordinal_exclusive":3}}"#
        )
    });
    let base = base.unwrap_or_default();
    let message = |n: u64, role: &str, kind: &str, text: &str| {
        format!(
            r#"{{{at},"ordinal":{n},"type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}}}"#
        )
    };
    format!(
        "{{{at},\"ordinal\":{from},\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",{at},\"cwd\":\"/code/shop\",\"cli_version\":\"0.166.0\",\"source\":\"cli\",\"history_mode\":\"paginated\"{base}}}}}\n{}\n{}\n",
        message(from + 1, "user", "input_text", prompt),
        message(from + 2, "assistant", "output_text", "done")
    )
}

fn rollout_name(id: &str) -> String {
    format!("rollout-2026-08-10T11-00-00-{id}.jsonl")
}

pub(crate) fn codex_home() -> TestEnv {
    let env = TestEnv::new();
    env.write(&format!("{DAY}/{}", rollout_name(CODEX)), rollout(CODEX, None, "cart"));
    env.write(&format!("{DAY}/{}", rollout_name(FORK)), rollout(FORK, Some(CODEX), "till"));
    env
}

/// Returns a home that was synced, and then lost all files of its agent.
fn lost(env: TestEnv) -> TestEnv {
    assert_eq!(env.run(&["sync"]).code, Some(0));
    for root in [".claude", ".codex"] {
        let _ = fs::remove_dir_all(env.home().join(root));
    }
    env
}

#[test]
fn a_session_of_claude_code_comes_back_with_all_that_belongs_to_it() {
    let env = claude_home();
    let before: Vec<Vec<u8>> =
        of_claude().iter().map(|file| fs::read(env.home().join(file)).unwrap()).collect();
    let env = lost(env);
    let run = env.run(&["restore", "aaaa"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stdout
      written  session      ~/.claude/projects/-code-shop/aaaaaaaa-0000-4000-8000-00000000000a.jsonl
      written  subagent     ~/.claude/projects/-code-shop/aaaaaaaa-0000-4000-8000-00000000000a/subagents/agent-a1.jsonl
      written  note         ~/.claude/projects/-code-shop/aaaaaaaa-0000-4000-8000-00000000000a/subagents/agent-a1.meta.json
      written  tool output  ~/.claude/projects/-code-shop/aaaaaaaa-0000-4000-8000-00000000000a/tool-results/toolu_1.txt
      written  subagent     ~/.claude/projects/-code-shop/agent-b2.jsonl
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    ");
    for (file, before) in of_claude().iter().zip(before) {
        let path = env.home().join(file);
        assert_eq!(fs::read(&path).unwrap(), before, "{file}");
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), now(), "{file}");
    }
    let again = env.json(&["restore", "aaaa", "--json"]);
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["done"] == "there"));
    assert_eq!(again["deleted_again"], Value::Null);
    let run = env.run(&["restore", &format!("{CLAUDE}/agent-a1")]);
    assert!(
        run.stderr.contains(&format!("comes back with its parent `{CLAUDE}`")),
        "{}",
        run.stderr
    );
}

#[test]
fn an_old_session_that_exists_can_be_made_recent() {
    let env = claude_home();
    for file in of_claude() {
        age(&env.home().join(file), 40);
    }
    let run = env.run(&["restore", "aaaa"]);
    insta::assert_snapshot!(run.stderr, @"
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    warning: Claude Code will delete it again when it is used in any project, because of its age: `--fresh` prevents that
    ");
    assert_eq!(env.json(&["restore", "aaaa", "--json"])["deleted_again"], "age");
    let fresh = env.json(&["restore", "aaaa", "--fresh", "--json"]);
    assert_eq!(fresh["deleted_again"], Value::Null);
    assert_eq!(fresh["files"][0]["done"], "freshened");
    for file in of_claude() {
        let about = fs::metadata(env.home().join(&file)).unwrap();
        assert_eq!(about.modified().unwrap(), now(), "{file}");
    }
    assert_eq!(env.json(&["restore", "aaaa", "--json"])["deleted_again"], Value::Null);
}

#[test]
fn a_session_of_claude_code_moves_with_its_project() {
    let env = lost(claude_home());
    fs::create_dir(env.home().join("New Shop")).unwrap();
    let document = env.json(&["restore", "aaaa", "--project", "New Shop", "--json"]);
    let folder = real(&env, &document["project"]);
    let name: String = folder
        .to_str()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let restored = env.home().join(".claude/projects").join(&name);
    let names: Vec<PathBuf> = of_claude().iter().map(PathBuf::from).collect();
    let expected = names.iter().map(|file| file.strip_prefix(PROJECT).unwrap().to_owned());
    let mut expected: Vec<PathBuf> = expected.collect();
    expected.sort();
    assert_eq!(files(&restored), expected);
    let run = env.run(&["resume", "aaaa", "--project", "New Shop", "--print"]);
    let command = format!("cd '[TEMP]/home/New Shop' && claude --resume {CLAUDE}\n");
    assert_eq!(run.stdout, command, "{}", run.stderr);
    // The copy that exists is the session now.
    let document = env.json(&["restore", "aaaa", "--json"]);
    assert_eq!(document["files"][0]["done"], "there");
    assert!(!env.home().join(&of_claude()[0]).exists());
}

#[test]
fn a_session_in_a_worktree_is_resumed_there() {
    let env = TestEnv::new();
    let worktree = env.home().join("app/.claude/worktrees/x");
    fs::create_dir_all(&worktree).unwrap();
    let path = worktree.to_str().unwrap();
    let folder = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let lines = transcript(CLAUDE, None, "cart").replace("/code/shop", path);
    env.write(&format!(".claude/projects/{folder}/{CLAUDE}.jsonl"), lines);
    let print = env.run(&["resume", CLAUDE, "--print"]);
    assert!(
        print.stdout.ends_with(&format!("/app/.claude/worktrees/x && claude --resume {CLAUDE}\n"))
    );
}

#[test]
fn a_session_of_another_folder_is_resumed_with_the_variable_that_names_it() {
    let env = claude_home();
    fs::rename(env.home().join(".claude"), env.home().join("elsewhere")).unwrap();
    fs::create_dir(env.home().join("shop")).unwrap();
    let config = format!("roots = [\"{}\"]\n", env.home().join("elsewhere").display());
    env.write(".config/backstory/config.toml", config);
    let run = env.run(&["resume", "aaaa", "--print", "--project", "shop"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stdout
    backstory restore aaaaaaaa-0000-4000-8000-00000000000a --project [TEMP]/home/shop && cd [TEMP]/home/shop && CLAUDE_CONFIG_DIR=[TEMP]/home/elsewhere claude --resume aaaaaaaa-0000-4000-8000-00000000000a
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    ");
    let mut command = env.command(&["resume", "aaaa", "--print", "--project", "shop"]);
    let usual = env.finish(command.env("CLAUDE_CONFIG_DIR", env.home().join("elsewhere")));
    assert!(!usual.stdout.contains("CLAUDE_CONFIG_DIR"), "{}", usual.stdout);
}

#[test]
fn a_fork_of_codex_cli_comes_back_with_the_session_it_continues() {
    let env = codex_home();
    let before =
        [CODEX, FORK].map(|id| fs::read(env.home().join(DAY).join(rollout_name(id))).unwrap());
    let env = lost(env);
    insta::assert_snapshot!(env.run(&["restore", "01a2"]).show(), @"
    exit code 0
    --- stdout
      written  session  ~/.codex/sessions/2026/08/10/rollout-2026-08-10T11-00-00-01a20000-0000-7000-8000-00000000000b.jsonl
      written  part     ~/.codex/sessions/2026/08/10/rollout-2026-08-10T11-00-00-01a10000-0000-7000-8000-00000000000a.jsonl
    --- stderr
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    ");
    for (id, before) in [CODEX, FORK].into_iter().zip(before) {
        assert_eq!(fs::read(env.home().join(DAY).join(rollout_name(id))).unwrap(), before);
    }
    // The session itself does not need its forks.
    let env = lost(env);
    let document = env.json(&["restore", "01a1", "--json"]);
    assert_eq!(document["files"].as_array().unwrap().len(), 1);
    fs::create_dir(env.home().join("shop")).unwrap();
    let run = env.run(&["resume", "01a1", "--print", "--project", "shop"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stdout
    cd [TEMP]/home/shop && codex resume 01a10000-0000-7000-8000-00000000000a
    ");
    let run = env.run(&["restore", "01a1", "--fresh"]);
    insta::assert_snapshot!(run.stderr, @"
    The project's folder `/code/shop` does not exist; `--project DIR` names its new location.
    Codex CLI deletes no sessions for their age: `--fresh` changes nothing.
    ");
}

#[test]
fn a_session_of_codex_cli_gets_its_name_back() {
    let env = codex_home();
    let list = ".codex/session_index.jsonl";
    let entry = |id: &str, name: &str| {
        format!(r#"{{"id":"{id}","thread_name":"{name}","updated_at":"2026-08-10T09:00:00Z"}}"#)
    };
    env.write(list, [entry(CODEX, "Old"), entry(CODEX, "The cart")].join("\n"));
    let env = lost(env);
    // Another thread was named since, and the line was not finished.
    let path = env.write(list, entry(FORK, "Till"));
    let restore = |args: &[&str]| {
        let document = env.json(&[&["restore", "01a1", "--json"], args].concat());
        let files = document["files"].as_array().unwrap().clone();
        let list = files.into_iter().find(|file| file["what"] == "registry");
        list.map_or(Value::Null, |list| list["done"].clone())
    };
    let before = fs::read_to_string(&path).unwrap();
    assert_eq!(restore(&["--dry-run"]), "would write");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(restore(&[]), "written");
    let after = fs::read_to_string(&path).unwrap();
    let added = after.strip_prefix(&before).unwrap().strip_prefix('\n').unwrap();
    let added: Value = serde_json::from_str(added.strip_suffix('\n').unwrap()).unwrap();
    assert_eq!((&added["id"], &added["thread_name"]), (&CODEX.into(), &"The cart".into()));
    assert_eq!(restore(&[]), Value::Null, "it is there");
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    // A link could lead to any file of the folder.
    fs::remove_file(&path).unwrap();
    let secret = env.write(".codex/auth.json", "{}");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, &path).unwrap();
    #[cfg(unix)]
    assert_eq!(restore(&[]), Value::Null);
    assert_eq!(fs::read_to_string(secret).unwrap(), "{}");
}

#[test]
fn an_archived_session_of_codex_cli() {
    let env = codex_home();
    assert_eq!(env.run(&["sync"]).code, Some(0));
    // What `codex archive` does.
    let archived = env.home().join(".codex/archived_sessions");
    fs::create_dir(&archived).unwrap();
    let name = rollout_name(CODEX);
    fs::rename(env.home().join(DAY).join(&name), archived.join(&name)).unwrap();
    let document = env.json(&["restore", "01a1", "--json"]);
    assert_eq!(real(&env, &document["files"][0]["path"]), archived.join(&name));
    assert_eq!(document["files"][0]["done"], "there");
    fs::create_dir(env.home().join("shop")).unwrap();
    let run = env.run(&["resume", "01a1", "--print", "--project", "shop"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: Codex CLI would not find the session where it is
      caused by: `~/.codex` has it among the archived sessions; `codex unarchive 01a10000-0000-7000-8000-00000000000a` brings it back
    ");
    // If it is deleted there, it comes back as an archived one.
    fs::remove_file(archived.join(&name)).unwrap();
    let document = env.json(&["restore", "01a1", "--json"]);
    assert_eq!(real(&env, &document["files"][0]["path"]), archived.join(&name));
    assert_eq!(document["files"][0]["done"], "written");
}

#[test]
fn a_session_of_another_machine_goes_to_the_folder_of_its_agent() {
    for (other, root, id, file) in [
        (claude_home(), ".claude", "aaaa", of_claude()[0].clone()),
        (codex_home(), ".codex", "01a2", format!("{DAY}/{}", rollout_name(FORK))),
    ] {
        let env = TestEnv::new();
        let from = other.home().join(root);
        let run = env.run(&["sync", "--from", from.to_str().unwrap(), "--as", "laptop"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(env.run(&["restore", id]).code, Some(0));
        let is = fs::read(env.home().join(&file)).unwrap();
        assert_eq!(is, fs::read(other.home().join(&file)).unwrap());
        assert_eq!(files(&env.home().join(root)), files(&from));
    }
}

#[test]
fn a_path_that_climbs_out_of_claude_codes_folder_is_refused() {
    let climbing =
        [format!("{CLAUDE}/tool-results/../../../../../.bash_login"), format!("{CLAUDE}/..")];
    for below in climbing {
        let env = lost(claude_home());
        let statement = format!(
            "UPDATE sources SET path = folder || '/{below}' WHERE path LIKE '%toolu_1.txt'"
        );
        tamper(&env, &statement);
        let run = env.run(&["--no-sync", "restore", "aaaa"]);
        let named = format!("`~/{PROJECT}/{below}` is not a path below");
        assert!(run.code == Some(2) && run.stderr.contains(&named), "{}", run.stderr);
        assert!(!env.home().join(".claude").exists() && !env.home().join(".bash_login").exists());
    }
}

/// A session goes back to where it was only if that is a place of its agent.
#[test]
fn a_folder_that_is_not_of_the_agent_is_not_written_to() {
    for folder in [".config/projects/-code-shop", ".claude", ".gemini/tmp/shop", "."] {
        let env = lost(claude_home());
        let place = env.home().join(folder);
        let statement = format!(
            "UPDATE sources SET path = '{0}' || substr(path, length(folder) + 1), folder = '{0}'",
            place.display()
        );
        tamper(&env, &statement);
        let before = files(&env.home());
        let run = env.run(&["--no-sync", "restore", "aaaa"]);
        assert_eq!(run.code, Some(0), "{folder}: {}", run.stderr);
        let new = files(&env.home()).into_iter().filter(|file| !before.contains(file));
        let new: Vec<PathBuf> = new.filter(|file| !file.starts_with(".local")).collect();
        assert!(new.len() >= 4, "{folder}: {}", run.show());
        assert!(new.iter().all(|file| file.starts_with(PROJECT)), "{folder}: {}", run.show());
    }
    for folder in
        ["/.codex/sessions/../../hostile", "/.config/sessions", "/.codex", "/.claude/sessions"]
    {
        let env = lost(codex_home());
        let place = format!("{}{folder}", env.home().display());
        tamper(
            &env,
            &format!(
                "UPDATE sources SET path = '{place}/{}' WHERE path LIKE '%{CODEX}%'",
                rollout_name(CODEX)
            ),
        );
        let run = env.run(&["--no-sync", "restore", CODEX]);
        assert_eq!(run.code, Some(0), "{folder}: {}", run.stderr);
        let all = files(&env.home()).into_iter();
        let restored: Vec<PathBuf> =
            all.filter(|file| file.ends_with(rollout_name(CODEX))).collect();
        assert_eq!(restored, [Path::new(DAY).join(rollout_name(CODEX))], "{folder}");
    }
    // Without the time in its name there is no place for it.
    let env = lost(codex_home());
    tamper(&env, &format!("UPDATE sources SET path = '/x/y.jsonl' WHERE path LIKE '%{CODEX}%'"));
    let run = env.run(&["--no-sync", "restore", CODEX]);
    assert!(run.code == Some(2) && run.stderr.contains("is not a path below"), "{}", run.show());
    assert!(!env.home().join(".codex").exists());
}

#[test]
fn a_differing_file_is_left_alone() {
    let env = lost(claude_home());
    let path = env.write(&of_claude()[0], "mine");
    let run = env.run(&["restore", "aaaa"]);
    assert!(
        run.code == Some(2) && run.stderr.contains("already exists and differs"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    let env = lost(codex_home());
    let path = env.write(&format!("{DAY}/{}", rollout_name(CODEX)), "mine");
    let run = env.run(&["restore", "01a1"]);
    assert!(
        run.code == Some(2) && run.stderr.contains("already exists and differs"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(path).unwrap(), "mine");
}

/// The homes of all recorded versions of an agent.
fn homes(agent: &str) -> Vec<TestEnv> {
    let mut out = Vec::new();
    for version in fs::read_dir(testdata(agent)).unwrap() {
        for case in fs::read_dir(version.unwrap().path()).unwrap() {
            let tree = case.unwrap().path().join(agent);
            if tree.is_dir() {
                let env = TestEnv::new();
                copy(&tree, &env.home().join(format!(".{agent}")));
                out.push(env);
            }
        }
    }
    assert!(out.len() > 10);
    out
}

/// Returns the last name of each session in a list of names.
fn names(list: &[u8]) -> BTreeMap<String, String> {
    let lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| (text(&line["id"]), text(&line["thread_name"]))).collect()
}

#[test]
fn every_recorded_session_comes_back_to_the_byte() {
    for agent in ["claude", "codex"] {
        let mut restored = 0;
        for env in homes(agent) {
            let (root, kept) = (env.home().join(format!(".{agent}")), env.home().join("kept"));
            copy(&root, &kept);
            let env = lost(env);
            let list = env.json(&["sessions", "--json"]);
            for session in list["sessions"].as_array().unwrap() {
                let run = env.run(&["restore", session["id"].as_str().unwrap(), "--json"]);
                assert_eq!(run.code, Some(0), "{}", run.stderr);
                restored += 1;
                let document: Value = serde_json::from_str(&run.stdout).unwrap();
                let written = document["files"].as_array().unwrap().iter();
                let written: Vec<PathBuf> = written.map(|file| real(&env, &file["path"])).collect();
                for path in &written {
                    let was = fs::read(kept.join(path.strip_prefix(&root).unwrap())).unwrap();
                    let is = fs::read(path).unwrap();
                    if path.ends_with("session_index.jsonl") {
                        // A list of all sessions, of which only those restored so far are named.
                        let (was, is) = (names(&was), names(&is));
                        assert!(is.iter().all(|(id, name)| was[id] == *name), "{was:?} {is:?}");
                        assert!(is.contains_key(session["id"].as_str().unwrap()), "{is:?}");
                        continue;
                    }
                    assert_eq!(is, was, "{}", path.display());
                }
                for part in session["parts"].as_array().unwrap() {
                    let part = real(&env, &part["file"]);
                    assert!(written.contains(&part), "{}", part.display());
                }
            }
        }
        assert!(restored > 20, "{agent}: {restored}");
    }
}
