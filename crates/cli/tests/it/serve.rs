//! The web app as the program starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::TestEnv;

/// A server that ends with the test.
struct Serving {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let args: Vec<&str> =
            ["serve", "--no-open", "--port", "0"].iter().chain(args).copied().collect();
        let mut child =
            env.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/?token=").unwrap();
        let address = address.strip_prefix("http://").unwrap().to_owned();
        Self { child, address, token: token.to_owned() }
    }

    fn get(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (host, token) = (&self.address, &self.token);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].to_owned(), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, "200", "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Waits until the files have been read.
    fn wait(&self) {
        let start = Instant::now();
        while self.get("/").1.contains("reading files…") {
            assert!(start.elapsed() < Duration::from_secs(60), "the files were never read");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn documents_are_those_of_the_command_line() {
    let env = TestEnv::new();
    let serving = Serving::start(&env, &["--demo"]);
    serving.wait();
    for (path, args) in [
        ("/api/v1/sessions?limit=3&sort=cost", &["sessions", "--limit", "3", "--sort", "cost"][..]),
        ("/api/v1/usage/model?since=2026-08-01", &["usage", "model", "--since", "2026-08-01"]),
        ("/api/v1/usage?breakdown=true", &["usage", "--breakdown"]),
        ("/api/v1/tools", &["tools"]),
        ("/api/v1/commands?full", &["commands", "--full"]),
        ("/api/v1/prompts?limit=5", &["prompts", "--limit", "5"]),
        ("/api/v1/show/e319fa39?view=current", &["show", "e319fa39", "--view", "current"]),
        ("/api/v1/verify", &["verify"]),
    ] {
        let args: Vec<&str> = ["--demo", "--json"].iter().chain(args).copied().collect();
        let (mut ours, mut theirs) = (serving.json(path), env.json(&args));
        // The sample is unpacked into another folder by each of them.
        for document in [&mut ours, &mut theirs] {
            forget_folders(document);
        }
        assert_eq!(ours, theirs, "{path}");
    }
    // The text of a session is read from files of this machine, although nothing was captured.
    let (status, page) = serving.get("/sessions/gemini/e319fa39-7e54-4f63-8a76-ad2788a65839");
    assert!(status == "200" && page.contains("census.py"), "{page}");
    let (status, body) = serving.get("/usage/model.csv?period=all");
    let csv = env.run(&["--demo", "usage", "model", "--format", "csv"]);
    assert_eq!((status.as_str(), body), ("200", csv.stdout));
}

/// Replaces the paths of files, which contain a temporary folder, and what depends on the archive.
fn forget_folders(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "file" | "captured" | "took_ms"));
            fields.values_mut().for_each(forget_folders);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_folders),
        _ => {}
    }
}

#[test]
fn requests_cannot_name_files_or_other_archives() {
    let env = TestEnv::new();
    env.write("secret.jsonl", "{}");
    let serving = Serving::start(&env, &["--demo"]);
    serving.wait();
    for (path, want) in [
        ("/api/v1/show/secret.jsonl", "404"),
        ("/api/v1/show/..%2Fsecret.jsonl", "404"),
        ("/api/v1/sessions?archive=%2Ftmp%2Fx.db", "400"),
        ("/api/v1/sessions?from=%2Ftmp", "400"),
        ("/api/v1/usage?pricing=secret.jsonl", "400"),
        ("/api/v1/show/latest?follow=true", "400"),
        ("/api/v1/sync", "404"),
        ("/api/v1/usage/nothing", "400"),
    ] {
        assert_eq!(serving.get(path).0, want, "{path}");
    }
}

#[test]
fn programs_get_documents_of_what_went_wrong() {
    let env = TestEnv::new();
    let serving = Serving::start(&env, &["--demo"]);
    serving.wait();
    for (path, status) in [
        ("/api/v1/nosuch", "404"),
        ("/api/v1/show/nosuch", "404"),
        ("/api/v1/sessions?since=foo", "400"),
        ("/api/v1/search?nosuch=1", "400"),
    ] {
        let (found, body) = serving.get(path);
        let document: Value = serde_json::from_str(&body).expect(path);
        assert_eq!((&*found, &document["schema"]), (status, &"backstory.error/1".into()), "{body}");
        assert!(!document["error"].as_str().unwrap().is_empty(), "{body}");
    }
}

#[test]
fn other_machines_need_a_flag() {
    let run = TestEnv::new().run(&["serve", "--no-open", "--listen", "0.0.0.0"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: `--listen 0.0.0.0` lets other machines connect
      hint: add `--allow-remote` if you mean it; what is sent is not encrypted
    ");
}

#[test]
fn an_empty_home_says_where_it_looked() {
    let env = TestEnv::new();
    let serving = Serving::start(&env, &[]);
    serving.wait();
    let (status, page) = serving.get("/");
    assert_eq!(status, "200");
    assert!(page.contains("No sessions were found") && page.contains("--demo"), "{page}");
    assert_eq!(serving.get("/sessions").0, "200");
}

#[test]
fn the_server_of_another_command_ends_with_it() {
    let env = TestEnv::new();
    let mut command = env.command(&["serve", "--no-open", "--port", "0", "--until-closed"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("http://127.0.0.1:"), "{line}");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
