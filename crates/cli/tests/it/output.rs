//! Tests colours, control characters and pipes.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::support::{TestEnv, session, small_home};

const ESCAPE: char = '\u{1b}';

#[test]
fn colours_only_when_asked_for() {
    let env = small_home();
    let colours = |command: &mut Command| env.finish(command).stdout.contains(ESCAPE);
    assert!(!colours(&mut env.command(&["doctor"])), "NO_COLOR");
    assert!(!colours(env.command(&["doctor"]).env_remove("NO_COLOR")), "a pipe");
    assert!(colours(&mut env.command(&["doctor", "--color", "always"])), "the flag wins");
    assert!(colours(&mut env.command(&["--help", "--color=always"])), "help too");
    assert!(!colours(&mut env.command(&["doctor", "--json", "--color", "always"])), "JSON never");
    let force = |name| {
        let mut command = env.command(&["doctor"]);
        command.env("CLICOLOR_FORCE", "1").env_remove(name);
        command
    };
    assert!(colours(&mut force("NO_COLOR")), "CLICOLOR_FORCE");
    assert!(!colours(&mut force("NONE")), "NO_COLOR comes first");
    env.write(".config/backstory/config.toml", "color = \"always\"\n");
    assert!(!colours(&mut env.command(&["doctor"])), "NO_COLOR over the file");
    assert!(colours(env.command(&["doctor"]).env_remove("NO_COLOR")), "the file");
    let never = ["doctor", "--color", "never"];
    assert!(!colours(env.command(&never).env_remove("NO_COLOR")), "the flag over the file");
}

#[test]
fn errors_are_coloured_too() {
    let env = TestEnv::new();
    let run = env.run(&["--color", "always", "--tz", "x"]);
    assert!(run.stderr.starts_with("\u{1b}[1m\u{1b}[31merror: \u{1b}[0m"), "{:?}", run.stderr);
}

/// Text in files must not move the cursor, retitle the window or reverse a name.
#[test]
fn control_characters_stay_out() {
    let env = TestEnv::new();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}gnp\u{2066}\r";
    env.write(".gemini/tmp/p/.project_root", format!("/code/{evil}x"));
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &["hi"]);
    let record = r#"{"\u001b[31mkey\u202e":1}"#;
    env.write(
        ".gemini/tmp/p/chats/session-2026-08-14T10-00-99999999.jsonl",
        format!("{log}{record}\n"),
    );
    for args in [&["doctor", "-v"][..], &[], &["export", evil, "--format", "gemini"]] {
        let run = env.run(args);
        for text in [&run.stdout, &run.stderr] {
            let bad = text.chars().find(|c| {
                (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}')
            });
            assert_eq!(bad, None, "{args:?}: {text:?}");
        }
        assert!(
            args.first() == Some(&"export") || run.stdout.contains("]0;owned"),
            "{}",
            run.stdout
        );
    }
    // Programs get the text as it is.
    let got = env.json(&["doctor", "--json"]);
    assert!(got["projects"][0]["path"].as_str().unwrap().contains(ESCAPE), "{got}");
}

const NOW: &str = "2026-08-14T10:00:00.000Z";

/// `backstory … | head` is not an error.
#[test]
fn a_closed_pipe_is_fine() {
    let env = small_home();
    // More than a pipe holds, so that the program must notice.
    let prompts = vec!["x".repeat(1000); 300];
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &prompts);
    env.write("long.jsonl", &log);
    env.write("bad.jsonl", log + &"garbage\n".repeat(1000));
    for args in [
        &["export", "long.jsonl", "--format", "gemini"][..],
        &["doctor", "-v", "--from", "bad.jsonl"],
        &["doctor", "--json", "--from", "bad.jsonl"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut child =
            env.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 10];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut some).unwrap();
        drop(stdout);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let env = small_home();
    env.run(&["sync"]);
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = env.command(&["doctor"]);
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write to standard output\n"), "{said}");
}

#[cfg(unix)]
#[test]
fn interrupted() {
    let env = TestEnv::new();
    let pipe = env.home().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Nobody writes into the pipe, so the program waits.
    let mut command = env.command(&["--demo", "export", "pipe", "--format", "gemini"]);
    let temporary = env.home().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut child = command.env("TMPDIR", &temporary).spawn().unwrap();
    let has_demo = || std::fs::read_dir(&temporary).unwrap().next().is_some();
    for _ in 0..500 {
        if has_demo() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(has_demo(), "the demo was never unpacked");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!has_demo(), "the demo was left behind");
}
