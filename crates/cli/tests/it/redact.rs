//! Tests `redact`, and redaction in exports.

use std::io::Write;
use std::process::Stdio;

use backstory_core::redact::{Redactor, Rules};
use serde_json::Value;

use crate::support::{Run, SHOP, TestEnv, session, testdata};

/// Assembled here, so that no file contains anything that looks like a token.
fn token(n: u32) -> String {
    format!("ghp_{}{n:04}", "a1B2".repeat(8))
}

fn filter(env: &TestEnv, args: &[&str], input: &[u8]) -> Run {
    let mut command = env.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn text() -> String {
    format!("a {} b\n{}\nDB_PASSWORD=hunter2 {}\nplain\n", token(1), token(2), token(1))
}

#[test]
fn a_filter() {
    let env = TestEnv::new();
    insta::assert_snapshot!(filter(&env, &["redact"], text().as_bytes()).show(), @"
    exit code 0
    --- stdout
    a [redacted:github-token:1] b
    [redacted:github-token:2]
    DB_PASSWORD=[redacted:password:1] [redacted:github-token:1]
    plain
    --- stderr
    4 secrets removed: 3 github-token, 1 password
    ");
    insta::assert_snapshot!(filter(&env, &["redact"], b"plain \xe9\n").show(), @"
    exit code 0
    --- stdout
    plain \u{fffd}
    ");
    env.write("x.log", text());
    assert!(env.run(&["redact", "x.log"]).stdout.starts_with("a [redacted:github-token:1] b\n"));
    insta::assert_snapshot!(env.run(&["redact", "nowhere"]).show(), @"
    exit code 2
    --- stderr
    error: cannot redact `nowhere`
      caused by: No such file or directory (os error 2)
    ");
}

#[test]
fn check_only_counts() {
    let env = TestEnv::new();
    insta::assert_snapshot!(filter(&env, &["redact", "--check"], text().as_bytes()).show(), @"
    exit code 1
    --- stderr
    4 secrets found: 3 github-token, 1 password
    ");
    let run = filter(&env, &["redact", "--check", "--json", "-q"], text().as_bytes());
    insta::assert_snapshot!(run.show(), @r#"
    exit code 1
    --- stdout
    {
      "schema": "backstory.redact/1",
      "found": 4,
      "kinds": [
        {
          "kind": "github-token",
          "found": 3,
          "distinct": 2
        },
        {
          "kind": "password",
          "found": 1,
          "distinct": 1
        }
      ]
    }
    "#);
    assert_eq!(filter(&env, &["redact", "--check"], b"plain").show(), "exit code 0\n");
}

#[test]
fn the_list_of_rules() {
    let env = TestEnv::new();
    let list = env.json(&["redact", "--rules", "--json"]);
    let rows = list["rows"].as_array().unwrap();
    let find = |kind: &str| rows.iter().find(|row| row["kind"] == kind).unwrap();
    assert!(rows.len() > 60);
    assert_eq!(find("github-token")["enabled"], true);
    assert_eq!(
        (&find("email")["enabled"], &find("email")["opt_in"]),
        (&false.into(), &true.into())
    );
    let table = env.run(&["redact", "--rules"]).stdout;
    assert!(
        table.lines().any(|line| line.trim_start().starts_with("jwt ") && line.contains("eyJ")),
        "{table}"
    );
}

#[test]
fn the_config_file() {
    let env = TestEnv::new();
    env.write(
        "c.toml",
        "[redact]\nrules = [{ kind = \"badge\", regex = 'badge-(\\d+)' }]\nallow = [\"hunter2\"]\n\
         enable = [\"email\"]\ndisable = [\"github-token\"]\n",
    );
    let text = format!("badge-12 DB_PASSWORD=hunter2 me@example.org {}\n", token(1));
    let run = filter(&env, &["--config", "c.toml", "redact"], text.as_bytes());
    let want =
        format!("badge-[redacted:badge:1] DB_PASSWORD=hunter2 [redacted:email:1] {}\n", token(1));
    assert_eq!(run.stdout, want);
    env.write("bad.toml", "[redact]\nrules = [{ kind = \"badge\", regex = \"(\" }]\n");
    insta::assert_snapshot!(filter(&env, &["--config", "bad.toml", "redact"], b"").show(), @"
    exit code 2
    --- stderr
    error: cannot use `[redact]` in the config file `bad.toml`
      caused by: rule `badge`: regex parse error:
            (
            ^
        error: unclosed group
      hint: docs/redaction.md shows the syntax
    ");
}

/// Writes a session with secrets in its prompt, its tools and its summary.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let start = "2026-07-20T10:00:00.000Z";
    let mut log = session(SHOP, start, start, &[&format!("use {} please", token(1))]);
    let call = serde_json::json!({
        "id": "t1", "timestamp": start, "type": "gemini", "content": "", "model": "gemini-2.5-pro",
        "tokens": {"input": 1, "output": 1, "cached": 0, "thoughts": 0, "tool": 0, "total": 2},
        "toolCalls": [{
            "id": "c1", "name": "run_shell_command", "status": "success", "timestamp": start,
            "args": {"command": format!("curl -u bob:hunter2 -H 'X: {}' x", token(2)), "password": "hunter2"},
            "result": [{"functionResponse": {"id": "c1", "name": "run_shell_command",
                "response": {"output": format!("{{\"token\":\"{}\"}}", token(1))}}}],
            "resultDisplay": format!("say {}", token(2)),
        }],
    });
    let set = serde_json::json!({ "$set": { "summary": format!("about {}", token(1)) } });
    log += &[call, set].map(|line| line.to_string() + "\n").concat();
    env.write(".gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl", log);
    env
}

#[test]
fn every_export_is_redacted() {
    let env = home();
    for format in ["json", "jsonl", "calls", "csv", "gemini"] {
        let run = env.run(&["export", SHOP, "--format", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for secret in [&token(1), &token(2), "hunter2"] {
            assert!(!run.stdout.contains(secret), "{format}: {}", run.stdout);
        }
        assert!(run.stdout.contains("[redacted:github-token:"), "{format}: {}", run.stdout);
        assert!(run.stderr.contains(" secrets removed: "), "{format}: {}", run.stderr);
        let open = env.run(&["export", SHOP, "--format", format, "--no-redact"]);
        assert!(open.stdout.contains(&token(1)), "{format}: {}", open.stdout);
        assert_eq!(open.stderr, "");
    }
    let gemini = env.run(&["export", SHOP, "--format", "gemini"]);
    insta::assert_snapshot!(gemini.stderr, @"8 secrets removed: 6 github-token, 2 flag-password");
    let document: Value = serde_json::from_str(&gemini.stdout).unwrap();
    assert_eq!(document["sessionId"], SHOP);
    assert_eq!(
        document["messages"][2]["toolCalls"][0]["args"],
        serde_json::json!({
            "command": "curl -u bob:[redacted:flag-password:1] -H 'X: [redacted:github-token:2]' x",
            "password": "[redacted:flag-password:1]"
        })
    );
}

/// Writes two sessions: a key behind its name in the first, and by itself in the title of the second.
fn two_sessions() -> (TestEnv, String) {
    let env = home();
    let key = "3f9c1a7be2d04586a1b2c3d4e5f60718".to_owned();
    let start = "2026-07-21T10:00:00.000Z";
    let other = "22222222-2222-4222-8222-222222222222";
    let prompts = [&*format!("is {key} still valid?"), &format!("RADARR_API_KEY={key} works")];
    let log = session(other, start, start, &prompts);
    env.write(".gemini/tmp/shop/chats/session-2026-07-21T10-00-22222222.jsonl", log);
    (env, key)
}

#[test]
fn no_secret_leaves_with_many_sessions() {
    let (env, key) = two_sessions();
    for format in ["json", "jsonl", "gemini", "html", "markdown"] {
        let run = env.run(&["export", "--all", "--format", format, "-o", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut files = 0;
        for file in std::fs::read_dir(env.home().join(format)).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            let text = std::fs::read_to_string(file.path()).unwrap();
            for secret in [&*key, &token(1), &token(2), "hunter2"] {
                let slug = secret.to_lowercase().replace('_', "-");
                assert!(!text.contains(secret), "{format}: {secret} in {name}");
                assert!(!name.contains(&*slug) && !name.contains(secret), "{name}");
            }
            files += 1;
        }
        assert!(files >= 2, "{format}");
    }
}

#[test]
fn what_is_recognised_in_one_place_is_taken_out_in_all() {
    let (env, key) = two_sessions();
    for format in ["json", "jsonl", "calls", "csv", "gemini", "events", "html", "markdown"] {
        let run = env.run(&["export", "22222222", "--format", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains(&key), "{format}: {}", run.stdout);
    }
    let text = format!("the value {key}\nAPI_KEY={key}\n");
    let run = filter(&env, &["redact"], text.as_bytes());
    assert_eq!(run.stdout, "the value [redacted:secret:1]\nAPI_KEY=[redacted:secret:1]\n");
}

/// Texts of the independent sets, and their secrets that the redactor recognizes.
fn known_secrets() -> (Vec<String>, Vec<String>) {
    let rules = Rules::embedded().unwrap();
    let (mut texts, mut secrets) = (Vec::new(), Vec::new());
    for set in ["seventh", "eighth"] {
        let set = std::fs::read_to_string(testdata(&format!("redaction/{set}.jsonl"))).unwrap();
        for row in set.lines().step_by(9) {
            let row: Value = serde_json::from_str(row).unwrap();
            let text = row["text"].as_str().unwrap().to_owned();
            let out = Redactor::new(&rules).text(&text).into_owned();
            let own = row["secrets"].as_array().unwrap().iter().filter_map(Value::as_str);
            // A shorter one may be part of any text.
            secrets
                .extend(own.filter(|own| own.len() >= 12 && !out.contains(own)).map(str::to_owned));
            texts.push(text);
        }
    }
    (texts, secrets)
}

#[test]
fn what_the_sets_contain_leaves_in_no_format() {
    let env = TestEnv::new();
    let (texts, secrets) = known_secrets();
    assert!(secrets.len() > 150, "{}", secrets.len());
    let start = "2026-07-20T10:00:00.000Z";
    let prompts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let log = session(SHOP, start, start, &prompts);
    env.write(".gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl", log);
    for format in ["json", "jsonl", "calls", "csv", "gemini", "events", "html", "markdown"] {
        let run = env.run(&["export", SHOP, "--format", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for secret in &secrets {
            let json = serde_json::to_string(secret).unwrap();
            let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            for form in [secret.as_str(), json.trim_matches('"'), &html] {
                assert!(!run.stdout.contains(form), "{format}: {form}");
            }
        }
    }
}
