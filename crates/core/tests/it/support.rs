//! Helpers that several tests need.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::agent::gemini;
use backstory_core::agent::gemini::{Fallback, write_native};
use backstory_core::archive::Archive;
use backstory_core::assemble::SessionFacts;
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::export::json::{MessageRow, SessionRow};
use backstory_core::model::{Message, SessionId};
use backstory_core::pricing::{Bill, Table};
use serde_json::{Value, json};

/// Finds the files of all agents below a path.
pub(crate) fn discover_at(path: &Path) -> Discovery {
    Agents::default().discover_at(path)
}

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}

/// Returns the `gemini` export of a file, and whether Gemini CLI's loader would accept it.
pub(crate) fn export(input: &mut (impl Read + Seek)) -> (Value, bool) {
    let (text, accepted) = export_text(input);
    (serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")), accepted)
}

fn export_text(input: &mut (impl Read + Seek)) -> (String, bool) {
    let loaded = gemini::load_current(input).unwrap();
    let mut out = Vec::new();
    write_native(&loaded, &Fallback::default(), input, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), loaded.accepted)
}

pub(crate) fn export_file(path: &Path) -> (Value, bool) {
    export(&mut File::open(path).unwrap())
}

pub(crate) fn export_bytes(bytes: &[u8]) -> (String, bool) {
    export_text(&mut Cursor::new(bytes))
}

/// Returns every file below `folder`, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files_below(&path));
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// Compares the documented fields and the counts that Gemini CLI adds.
pub(crate) fn compare(name: &str, ours: &Value, theirs: &Value) {
    for key in [
        "sessionId",
        "projectHash",
        "kind",
        "summary",
        "directories",
        "memoryScratchpad",
        "startTime",
        "lastUpdated",
        "messageCount",
        "userMessageCount",
        "memoryScratchpadIsStale",
        "firstUserMessage",
        "hasResumableContent",
    ] {
        assert_eq!(ours.get(key), theirs.get(key), "{name}: {key}");
    }
    assert_eq!(ours["messages"], theirs["messages"], "{name}: messages");
}

/// Returns the folders that contain `tmp` or `chats`.
pub(crate) fn trees_below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("tmp").is_dir() || path.join("chats").is_dir() {
            out.push(path);
        } else if path.is_dir() {
            out.extend(trees_below(&path));
        }
    }
    out
}

/// The sessions of some files, and their archive.
pub(crate) struct Home {
    pub(crate) archive: Archive,
    pub(crate) all: Collection,
    /// Sorted by id.
    pub(crate) sessions: Vec<SessionFacts>,
}

impl Home {
    pub(crate) fn at(path: &Path) -> Self {
        Self::of(discover_at(path))
    }

    pub(crate) fn of(found: Discovery) -> Self {
        Self::new(Archive::of(&found).unwrap(), found)
    }

    pub(crate) fn new(archive: Archive, found: Discovery) -> Self {
        let all = Collection::new(&archive, found).unwrap();
        let ids: Vec<SessionId> = all.sessions.iter().map(|session| session.id.clone()).collect();
        let mut sessions = Vec::new();
        let put = |mut assembled: SessionFacts| {
            assembled.session = all.get(&assembled.session.id).unwrap().clone();
            archive.add_prompts(&mut assembled.session)?;
            sessions.push(assembled);
            Ok(())
        };
        archive.each_assembled(&ids, put).unwrap();
        sessions.sort_by(|a, b| a.session.id.cmp(&b.session.id));
        Self { archive, all, sessions }
    }

    pub(crate) fn messages(&self, assembled: &SessionFacts, view: View) -> Vec<Message> {
        let agent = |id: &str| self.all.agent_session(id);
        self.archive.reader().transcript(assembled, view, &agent).unwrap()
    }
}

/// Returns everything that a reader of these sessions would see.
pub(crate) fn seen(home: &Home) -> Value {
    let one = |assembled: &SessionFacts| {
        let messages = |view| {
            let messages = home.messages(assembled, view);
            let rows = messages
                .iter()
                .map(|message| serde_json::to_value(MessageRow::new(message, &Table::embedded())));
            rows.collect::<Result<Vec<_>, _>>().unwrap()
        };
        json!({ "session": serde_json::to_value(SessionRow::new(&assembled.session, Bill::default())).unwrap(),
            "full": messages(View::Full), "current": messages(View::Current) })
    };
    home.sessions.iter().map(one).collect()
}
