//! Machines with a home each, and a folder that all of them see.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// Machines, a folder and a key.
pub(crate) struct Lab(TempDir);

pub(crate) struct Machine<'a> {
    lab: &'a Lab,
    name: &'static str,
}

/// How a run ended and what it said.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        fs::create_dir(lab.folder()).unwrap();
        let machine = lab.machine("keys");
        assert_eq!(machine.run(&["share", "--new-key", &lab.key("key")]).code, Some(0));
        lab
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().join("shared")
    }

    pub(crate) fn key(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(crate) fn machine(&self, name: &'static str) -> Machine<'_> {
        let machine = Machine { lab: self, name };
        machine.write(".config/backstory/config.toml", &format!("machine = \"{name}\"\n"));
        machine
    }

    /// Returns the content of every file in the folder, by name.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.folder()).unwrap().map(Result::unwrap);
        let read = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        };
        entries.map(read).collect()
    }

    pub(crate) fn size(&self) -> usize {
        self.files().values().map(Vec::len).sum()
    }
}

impl Machine<'_> {
    pub(crate) fn home(&self) -> PathBuf {
        self.lab.0.path().join(self.name)
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a session of Gemini CLI with the given prompts, in the project `/code/app`.
    pub(crate) fn session(&self, id: &str, prompts: &[&str]) -> PathBuf {
        self.write(".gemini/tmp/app/.project_root", "/code/app");
        let short = &id[..8];
        let path = format!(".gemini/tmp/app/chats/session-2026-08-10T09-00-{short}.jsonl");
        let mut log = format!(
            r#"{{"sessionId":"{id}","projectHash":"x","startTime":"2026-08-10T09:00:00Z","lastUpdated":"2026-08-10T09:00:00Z","kind":"main"}}"#
        );
        for (n, prompt) in prompts.iter().enumerate() {
            let at = format!("2026-08-10T09:{n:02}:00Z");
            write!(
                log,
                "\n{{\"id\":\"{short}u{n}\",\"timestamp\":\"{at}\",\"type\":\"user\",\"content\":[{{\"text\":\"{prompt}\"}}]}}\
                 \n{{\"id\":\"{short}g{n}\",\"timestamp\":\"{at}\",\"type\":\"gemini\",\"content\":\"done\",\"model\":\"gemini-2.5-pro\",\
                 \"tokens\":{{\"input\":100,\"output\":10,\"cached\":0,\"thoughts\":0,\"tool\":0,\"total\":110}}}}"
            )
            .unwrap();
        }
        self.write(&path, &(log + "\n"))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.home())
            .env_clear()
            .env("HOME", self.home())
            .env("BACKSTORY_NOW", "2026-08-14T16:30:00Z")
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        let place = self.lab.0.path().to_str().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(place, "[TEMP]");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs a command that must succeed, and returns its document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[args, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// Shares with the key of the lab.
    pub(crate) fn share(&self) -> Value {
        let folder = self.lab.folder();
        self.json(&["share", folder.to_str().unwrap(), "--key", &self.lab.key("key")])
    }

    /// Returns the ids of all sessions, sorted.
    pub(crate) fn ids(&self) -> Vec<String> {
        let run = self.run(&["sessions", "--all", "--json"]);
        // 1 means that there are none.
        assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
        let sessions: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let sessions = sessions["sessions"].as_array().cloned().unwrap_or_default();
        let id = |session: &Value| session["id"].as_str().unwrap().to_owned();
        let mut ids: Vec<String> = sessions.iter().map(id).collect();
        ids.sort();
        ids
    }
}

/// Returns the program that the extension belongs to, which is built beside it.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let extension = Path::new(env!("CARGO_BIN_EXE_backstory-share"));
        let program =
            extension.with_file_name("backstory").with_extension(std::env::consts::EXE_EXTENSION);
        if !program.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--locked", "-p", "backstory"]);
            assert!(build.status().unwrap().success());
        }
        program
    })
}
