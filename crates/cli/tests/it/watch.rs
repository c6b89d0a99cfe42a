//! Tests commands that keep running, `watch` and `events --follow`, while files change.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{RESUMED, SHOP, TestEnv, session};

/// Far more than a test takes, for busy machines.
const PATIENCE: Duration = Duration::from_secs(20);

const DAY: (&str, &str) = ("2026-08-14T10:00:00.000Z", "2026-08-14T10:05:00.000Z");

/// A running command, and the lines that it prints.
struct Live {
    child: Child,
    lines: Receiver<String>,
    talk: Receiver<String>,
}

impl Live {
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let mut command = env.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = read(child.stdout.take().unwrap());
        let talk = read(child.stderr.take().unwrap());
        Self { child, lines, talk }
    }

    /// Waits for the next line that matches.
    fn line(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            let value: Value = serde_json::from_str(&line).unwrap();
            if fits(&value) {
                return value;
            }
            seen.push(line);
        }
        let talk: Vec<String> = self.talk.try_iter().collect();
        panic!("{what}: no such line; there were {seen:#?}, and it said {talk:#?}");
    }

    /// Waits for a line that contains `word`.
    fn said(&self, word: &str) -> String {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Ok(line) = self.talk.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(word) {
                return line;
            }
            seen.push(line);
        }
        panic!("`{word}` was not said; there was {seen:#?}");
    }

    /// Sends a signal, and returns the exit code and the remaining lines.
    fn end(mut self, signal: &str) -> (Option<i32>, Vec<String>) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), self.lines.iter().collect());
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not end on {signal}");
    }
}

/// Kills the command, however the test ends.
impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    lines
}

fn chat(project: &str, id: &str) -> String {
    format!(".gemini/tmp/{project}/chats/session-2026-08-14T10-00-{}.jsonl", &id[..8])
}

fn add(env: &TestEnv, path: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(env.home().join(path)).unwrap();
    writeln!(file, "{text}").unwrap();
}

/// Returns a prompt, and a reply with tokens.
fn turn(number: u32) -> String {
    format!(
        r#"{{"id":"p{number}","timestamp":"2026-08-14T10:1{number}:00.000Z","type":"user","content":[{{"text":"turn {number}"}}]}}
{{"id":"r{number}","timestamp":"2026-08-14T10:1{number}:30.000Z","type":"gemini","content":"done","model":"gemini-2.5-pro","tokens":{{"input":1000,"output":100,"cached":0,"thoughts":0,"tool":0,"total":1100}}}}"#
    )
}

fn is(session: &str, what: &str) -> impl Fn(&Value) -> bool {
    move |line: &Value| line["session"] == session && line["what"] == what
}

fn changes(extra: &[&str], signal: &str) {
    let env = TestEnv::new();
    let file = chat("shop", SHOP);
    env.write(&file, session(SHOP, DAY.0, DAY.1, &["add a cart"]));
    let live = Live::start(&env, &[&["watch", "--json"], extra].concat());
    assert!(live.said("Files").contains("1 new"));
    live.said("Watching");

    add(&env, &file, &turn(1));
    let grew = live.line("turn", is(SHOP, "grew"));
    assert_eq!(grew["schema"], "backstory.change/1");
    assert_eq!((&grew["calls"], &grew["new_calls"]), (&1.into(), &1.into()));
    assert_eq!(grew["cost_usd"], "0.002250");
    assert_eq!(grew["at"], "2026-08-14T16:30:00.000Z");
    add(&env, &file, &turn(2));
    let grew = live.line("another turn", is(SHOP, "grew"));
    assert_eq!((&grew["calls"], &grew["new_calls"]), (&2.into(), &1.into()));

    let other = chat("tools", RESUMED);
    env.write(&other, session(RESUMED, DAY.0, DAY.1, &["sort it"]));
    assert_eq!(live.line("new project", is(RESUMED, "started"))["calls"], 0);

    fs::remove_file(env.home().join(&file)).unwrap();
    assert_eq!(live.line("deleted file", is(SHOP, "gone"))["calls"], 2);

    fs::remove_dir_all(env.home().join(".gemini")).unwrap();
    live.line("no root", is(RESUMED, "gone"));
    let third = "77777777-0000-4000-8000-000000000007";
    env.write(&chat("again", third), session(third, DAY.0, DAY.1, &["hello"]));
    live.line("root again", is(third, "started"));
    add(&env, &chat("again", third), &turn(3));
    live.line("turn in the new root", is(third, "grew"));

    let (code, rest) = live.end(signal);
    assert_eq!(code, Some(0));
    assert_eq!(rest, Vec::<String>::new());
    // The file was captured before it was deleted.
    let shown = env.run(&["show", SHOP]);
    assert!(shown.stdout.contains("turn 2"), "{}", shown.stdout);
}

#[test]
fn changes_are_reported_by_the_system() {
    changes(&[], "TERM");
}

#[test]
fn changes_are_found_by_polling() {
    changes(&["--poll", "1"], "INT");
}

#[test]
fn a_home_that_is_empty_at_first() {
    let env = TestEnv::new();
    let live = Live::start(&env, &["watch", "--json"]);
    live.said("Watching");
    env.write(&chat("shop", SHOP), session(SHOP, DAY.0, DAY.1, &["add a cart"]));
    live.line("first session", is(SHOP, "started"));
    // The doctor reports that a watch is running.
    let is_watched = || env.json(&["doctor", "--json"])["archive"]["watched"].take();
    assert_eq!(is_watched(), true);
    assert_eq!(live.end("INT").0, Some(0));
    assert_eq!(is_watched(), false);
}

#[test]
fn lines_for_people() {
    let env = TestEnv::new();
    let file = chat("shop", SHOP);
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    env.write(&file, session(SHOP, DAY.0, DAY.1, &["add a cart"]));
    let live = Live::start(&env, &["watch"]);
    live.said("Watching");
    let next = || live.lines.recv_timeout(PATIENCE).unwrap();
    let lines = |n: usize| (0..n).map(|_| next()).collect::<Vec<_>>().join("\n");
    add(&env, &file, &turn(1));
    insta::assert_snapshot!(lines(3), @"
    16:30:00  11111111  shop  grew     +1 call  +$0.0023  add a cart
              › turn 1
              · done
    ");
    // A tool is printed when it has finished; the message that calls it was printed before.
    let tool = |status: &str| {
        turn(1).lines().last().unwrap().replace(
            r#""content":"done""#,
            &format!(r#""content":"done","toolCalls":[{{"id":"t1","name":"run_shell_command","args":{{"command":"cargo test\necho"}},"status":"{status}","result":[{{"functionResponse":{{"id":"t1","name":"run_shell_command","response":{{"output":"Output: boom\nExit Code: 101"}}}}}}]}}]"#),
        )
    };
    add(&env, &file, &tool("executing"));
    insta::assert_snapshot!(next(), @"16:30:00  11111111  shop  grew     add a cart");
    add(&env, &file, &tool("success"));
    insta::assert_snapshot!(lines(2), @"
    16:30:00  11111111  shop  grew     add a cart
              ✗ Bash  cargo test …  exit code 101
    ");
    fs::remove_file(env.home().join(&file)).unwrap();
    insta::assert_snapshot!(next(), @"16:30:00  11111111  shop  gone     kept  add a cart");
    env.write(&chat("shop", RESUMED), session(RESUMED, DAY.0, DAY.1, &["sort it"]));
    insta::assert_snapshot!(lines(3), @"
    16:30:00  22222222  shop  started  sort it
              › sort it
              · done
    ");
    assert_eq!(live.end("TERM").0, Some(0));
}

#[test]
fn what_makes_no_sense() {
    let env = TestEnv::new();
    for args in [
        &["watch", "--no-sync"][..],
        &["watch", "--poll", "0"],
        &["watch", "--from", "nowhere"],
        &["events", "--follow", "--no-sync"],
        &["events", "--follow", "--types", "session_end"],
    ] {
        assert_eq!(env.run(args).code, Some(2), "{args:?}");
    }
}

fn types(seen: &[Value]) -> Vec<(&str, u64)> {
    seen.iter().map(|e| (e["type"].as_str().unwrap(), e["seq"].as_u64().unwrap())).collect()
}

#[test]
fn events_as_they_happen() {
    let env = TestEnv::new();
    let file = chat("shop", SHOP);
    env.write(&file, session(SHOP, DAY.0, DAY.1, &["add a cart"]));
    // Earlier events are printed only on request.
    let live = Live::start(&env, &["events", "--follow", "--types", "all"]);
    let all = Live::start(
        &env,
        &["events", "--follow", "--since", "2026-08-01", "--types", "user_prompt"],
    );
    let first = all.line("what was", |_| true);
    assert_eq!((&first["text"], &first["seq"]), (&"add a cart".into(), &1.into()));
    live.said("Following");
    env.write(&chat("tools", RESUMED), session(RESUMED, DAY.0, DAY.1, &["sort it"]));
    let start = live.line("new session", |e| e["session"] == RESUMED);
    assert_eq!((&start["type"], &start["seq"]), (&"session_start".into(), &1.into()));
    live.line("its prompt", |e| e["text"] == "sort it");
    live.line("its reply", |e| e["text"] == "done");

    let secret = format!("AKIA{}", "QYLPMN5HNM4OPQRA");
    add(&env, &file, &turn(1).replace("turn 1", &format!("turn 1 with {secret}")));
    let seen: Vec<Value> = (0..3).map(|_| live.line("turn", |_| true)).collect();
    assert_eq!(types(&seen), [("user_prompt", 4), ("assistant_message", 5), ("model_call", 6)]);
    let text = seen[0]["text"].as_str().unwrap();
    assert!(text.contains("turn 1") && !text.contains(&secret), "{text}");
    let prompt = all.line("turn", |e| e["session"] == SHOP);
    assert_eq!(prompt["seq"], 2);

    // A tool call is added to a message that was printed already.
    let grown = r#"{"id":"r1","timestamp":"2026-08-14T10:11:30.000Z","type":"gemini","content":"done","model":"gemini-2.5-pro","toolCalls":[{"id":"t1","name":"read_file","args":{"file_path":"a"},"status":"success","timestamp":"2026-08-14T10:11:31.000Z","result":[]}]}"#;
    add(&env, &file, grown);
    let seen: Vec<Value> = (0..2).map(|_| live.line("tool", |_| true)).collect();
    assert_eq!(types(&seen), [("tool_use", 7), ("tool_result", 8)]);
    let (code, rest) = live.end("INT");
    assert_eq!((code, rest.len()), (Some(0), 0));
    assert_eq!(all.end("TERM").0, Some(0));
}

#[test]
fn events_of_one_file() {
    let env = TestEnv::new();
    let file = env.write("here/a.jsonl", session(SHOP, DAY.0, DAY.1, &["add a cart"]));
    let args = ["events", file.to_str().unwrap(), "--follow", "--since", "2026-08-01"];
    let live = Live::start(&env, &args);
    live.line("what was", |e| e["text"] == "add a cart");
    add(&env, "here/a.jsonl", &turn(1));
    assert_eq!(live.line("turn", |e| e["text"] == "turn 1")["seq"], 3);
    assert_eq!(live.end("TERM").0, Some(0));
}

#[test]
fn a_tool_is_shown_while_it_runs() {
    let env = TestEnv::new();
    let id = "cafecafe-0000-4000-8000-00000000000a";
    let record = |kind: &str, uuid: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"{id}","timestamp":"2026-08-14T10:00:00.000Z","cwd":"/code/shop","version":"2.1.0","message":{message}}}"#
        ) + "\n"
    };
    let file = format!(".claude/projects/-code-shop/{id}.jsonl");
    let prompt = record("user", "u1", "null", r#"{"role":"user","content":"run the tests"}"#);
    let call = record(
        "assistant",
        "a1",
        r#""u1""#,
        r#"{"id":"msg_1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"cargo test"}}],"usage":{"input_tokens":5,"output_tokens":8}}"#,
    );
    let result = record(
        "user",
        "u2",
        r#""a1""#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}"#,
    );
    env.write(&file, prompt + &call);
    let live = Live::start(&env, &["show", "--follow", "latest"]);
    let until = |what: &str| {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Ok(line) = live.lines.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            if line.contains(what) {
                return line;
            }
            seen.push(line);
        }
        panic!("no `{what}` in {seen:#?}");
    };
    assert_eq!(until("Bash"), "  … Bash  cargo test  running");
    live.said("Following");
    add(&env, &file, &result);
    assert_eq!(until("Bash"), "  ✓ Bash  cargo test");
    assert_eq!(live.end("INT").0, Some(0));
}
