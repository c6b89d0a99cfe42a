//! Runs the program with a home, a clock and a time zone of its own for every test.

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct TestEnv {
    folder: TempDir,
}

/// The exit code and the output of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnv {
    /// Creates an empty home.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes a file below the home.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns the program with arguments, isolated from the environment of the test.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstory"));
        command
            .args(args)
            .current_dir(self.home())
            .env_clear()
            .envs(inherited())
            .env("HOME", self.home())
            .env("USERPROFILE", self.home())
            .env("BACKSTORY_NOW", "2026-08-14T16:30:00Z")
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", self.folder.path().join("system/settings.json"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.finish(&mut self.command(args))
    }

    /// Runs a command to its end, and replaces the path of the temporary folder in its output.
    pub(crate) fn finish(&self, command: &mut Command) -> Run {
        let output = loop {
            match command.output() {
                // A program that was just copied may still be open for writing in a process that another test started.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                done => break done.unwrap(),
            }
        };
        let folder = self.folder.path().to_str().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(folder, "[TEMP]");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs the program, which must succeed, and returns its answer.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

impl Run {
    /// Formats the run for a snapshot.
    pub(crate) fn show(&self) -> String {
        let mut out = format!("exit code {}\n", self.code.unwrap_or(-1));
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(out, "--- {name}\n{text}").unwrap();
            }
        }
        out
    }
}

/// Returns the variable without which no program starts on Windows.
#[expect(clippy::disallowed_methods, reason = "the test passes it on")]
fn inherited() -> Option<(&'static str, std::ffi::OsString)> {
    Some(("SystemRoot", std::env::var_os("SystemRoot")?))
}

/// Returns a log as Gemini CLI writes it: a header, and a prompt and a reply for each entry of `prompts`.
pub(crate) fn session(id: &str, started: &str, updated: &str, prompts: &[&str]) -> String {
    let hash =
        if [SHOP, RESUMED].contains(&id) { HASH.to_owned() } else { id.replace('-', "").repeat(2) };
    let mut out = format!(
        r#"{{"sessionId":"{id}","projectHash":"{hash}","startTime":"{started}","lastUpdated":"{updated}","kind":"main"}}"#
    );
    out.push('\n');
    for (n, prompt) in prompts.iter().enumerate() {
        writeln!(
            out,
            r#"{{"id":"u{n}","timestamp":"{started}","type":"user","content":[{{"text":"{prompt}"}}]}}"#
        )
        .unwrap();
        writeln!(
            out,
            r#"{{"id":"g{n}","timestamp":"{updated}","type":"gemini","content":"done","model":"gemini-2.5-pro"}}"#
        )
        .unwrap();
    }
    out
}

/// Gemini CLI's hash of `/code/shop`.
pub(crate) const HASH: &str = "89eba2db88c4c3a71c059c56f34a3cae8e10667a5a0cda61fffdcb7eebff3504";

pub(crate) const SHOP: &str = "11111111-0000-4000-8000-000000000001";
pub(crate) const RESUMED: &str = "22222222-0000-4000-8000-000000000002";

/// Returns a home with two projects, a resumed session and damage.
pub(crate) fn small_home() -> TestEnv {
    let env = TestEnv::new();
    let chats = ".gemini/tmp/shop/chats";
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    let july = ("2026-07-20T10:00:00.000Z", "2026-07-20T11:00:00.000Z");
    let log = session(SHOP, july.0, july.1, &["add a cart", "and a till"]);
    env.write(&format!("{chats}/session-2026-07-20T10-00-11111111.jsonl"), log);
    let august = ("2026-08-10T09:00:00.000Z", "2026-08-12T09:30:00.000Z");
    let log = session(RESUMED, august.0, august.1, &["sort the list"]);
    env.write(&format!("{chats}/session-2026-08-10T09-00-22222222.jsonl"), log);
    // The stub that a resume leaves: the same id, and no messages.
    let stub = session(RESUMED, august.1, august.1, &[]);
    env.write(&format!("{chats}/session-2026-08-12T09-30-22222222.jsonl"), stub);
    env.write(".gemini/tmp/shop/logs.json", "[]");
    env.write(".gemini/tmp/shop/memory/notes.md", "remember");
    env.write(&format!("{chats}/session-2026-08-01T00-00-33333333.json"), "{}");
    let other = ".gemini/tmp/tools/chats/session-2026-08-13T08-00-44444444.jsonl";
    let mut log = session(
        "44444444-0000-4000-8000-000000000004",
        "2026-08-13T08:00:00.000Z",
        "2026-08-13T08:05:00.000Z",
        &["why"],
    );
    log.push_str("{\"id\": \"broken\n{\"colour\": \"red\"}\n{\"id\":\"torn");
    env.write(other, log);
    env.write(".gemini/tmp/bin/rg", "");
    env
}

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}
