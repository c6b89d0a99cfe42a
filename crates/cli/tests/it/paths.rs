//! Tests odd entries below an agent's folder, and how the program reports them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{TestEnv, session, small_home};

/// Runs a command that must not wait, and returns its exit code.
fn ends(env: &TestEnv, args: &[&str]) -> Option<i32> {
    let mut child = env.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("{args:?} still runs after a minute");
}

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn whys(report: &Value) -> Vec<&str> {
    report["skipped"].as_array().unwrap().iter().map(|s| s["why"].as_str().unwrap()).collect()
}

#[test]
fn the_doctor_names_links_that_lead_out() {
    let env = small_home();
    let outside = env.write("outside/secret.md", "secret");
    let shop = env.home().join(".gemini/tmp/shop");
    symlink(outside.parent().unwrap(), shop.join("plans")).unwrap();
    symlink(&outside, shop.join("logs.json.1.bak")).unwrap();
    let report = env.json(&["doctor", "--json"]);
    let out = "a link that leads out of the agent's folder";
    assert_eq!(whys(&report).iter().filter(|why| **why == out).count(), 2);
    let run = env.run(&["doctor", "-v"]);
    assert!(
        run.stdout.contains("2  a link that leads out of the agent's folder"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("~/.gemini/tmp/shop/plans"), "{}", run.stdout);
    // Files that were not read are not captured.
    env.run(&["sync", "--quiet"]);
    let archive = fs::read(env.home().join(".local/share/backstory/archive.db")).unwrap();
    assert!(!archive.windows(9).any(|bytes| bytes == b"secret.md"));
}

#[test]
fn nothing_waits_for_a_fifo() {
    for place in [
        ".gemini/tmp/shop/.project_root",
        ".gemini/tmp/shop/logs.json",
        ".gemini/tmp/shop/chats/session-2026-08-14T10-00-99999999.jsonl",
        ".gemini/tmp/shop/chats",
        ".gemini/projects.json",
        ".gemini/trustedFolders.json",
        ".gemini/settings.json",
    ] {
        let env = small_home();
        let path = env.home().join(place);
        let _ = fs::remove_dir_all(&path);
        fifo(&path);
        assert_eq!(ends(&env, &["doctor"]), Some(0), "{place}");
        assert_eq!(ends(&env, &["sync"]), Some(0), "{place}");
        assert_eq!(ends(&env, &["sessions"]), Some(0), "{place}");
    }
}

#[test]
fn settings_that_are_not_a_file_are_a_problem() {
    let env = small_home();
    symlink("/dev/zero", env.home().join(".gemini/settings.json")).unwrap();
    let report = env.json(&["doctor", "--json"]);
    let problem = &report["problems"][0];
    assert_eq!(problem["what"], "it is not a regular file");
    assert!(problem["path"].as_str().unwrap().ends_with(".gemini/settings.json"));
}

#[test]
fn a_config_file_is_a_regular_file() {
    let env = small_home();
    let config = env.home().join("config.toml");
    fifo(&config);
    assert_eq!(ends(&env, &["--config", "config.toml", "sessions"]), Some(2));
    let run = env.run(&["--config", "/dev/zero", "sessions"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("it is not a regular file"), "{}", run.stderr);
    env.write("config.toml.large", vec![b'#'; (16 << 20) + 1]);
    let run = env.run(&["--config", "config.toml.large", "sessions"]);
    assert!(run.stderr.contains("it is larger than 16 MiB"), "{}", run.stderr);
    assert_eq!(env.run(&["--config", "/dev/null", "sessions"]).code, Some(0));
    let usual = env.write(".config/backstory/config.toml", "");
    fifo(&usual);
    assert_eq!(ends(&env, &["sessions"]), Some(2));
}

#[test]
fn a_name_that_is_not_utf8_is_shown_and_kept() {
    let env = TestEnv::new();
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &["hi there"]);
    let chats = env.home().join(".gemini/tmp/shop/chats");
    fs::create_dir_all(&chats).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"session-2026-08-14T10-00-caf\xE9.jsonl");
    fs::write(chats.join(name), log).unwrap();
    let report = env.json(&["doctor", "--json"]);
    assert_eq!((whys(&report), &report["projects"][0]["sessions"]), (vec![], &1.into()));
    env.run(&["sync", "--quiet"]);
    fs::remove_dir_all(&chats).unwrap();
    let run = env.run(&["show", "99999999"]);
    assert!(run.stdout.contains("hi there"), "{}", run.show());
    let got = env.json(&["sessions", "--json"]);
    let file = got["sessions"][0]["parts"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("caf\u{FFFD}.jsonl"), "{file}");
}

const NOW: &str = "2026-08-14T10:00:00.000Z";

/// The text of a long output is in a file beside the session, which must be there, not behind a link.
#[test]
fn a_tool_output_behind_a_link_is_not_shown() {
    let env = TestEnv::new();
    let call = r#"{"id":"g","timestamp":"2026-08-14T10:00:00.000Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"run_shell_command","args":{"command":"ls"},"status":"success","result":[{"functionResponse":{"id":"c","name":"run_shell_command","response":{"output":"Output too large. For full output see: /x/tool-outputs/session-9/c.txt\nstart"}}}]}]}"#;
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &["hi"]);
    env.write(
        ".gemini/tmp/shop/chats/session-2026-08-14T10-00-99999999.jsonl",
        format!("{log}{call}\n"),
    );
    let shown = || env.run(&["show", "99999999", "--tool-output"]).show();
    env.write("outside/session-9/c.txt", "the secret");
    let outputs = env.home().join(".gemini/tmp/shop/tool-outputs");
    symlink(env.home().join("outside"), &outputs).unwrap();
    assert!(shown().contains("start"), "{}", shown());
    assert!(!shown().contains("the secret"));
    fs::remove_file(&outputs).unwrap();
    env.write(".gemini/tmp/shop/tool-outputs/session-9/c.txt", "all of it");
    assert!(shown().contains("all of it"), "{}", shown());
}
