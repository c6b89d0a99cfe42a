//! Any bytes as a session file: loaded, exported, assembled, read as a transcript and told as events.
#![no_main]

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;

use backstory_core::agent::gemini::{self, Fallback, write_native};
use backstory_core::agent::{Agents, Detail};
use backstory_core::assemble::{ScannedSource, assemble};
use backstory_core::content::{Reader, View};
use backstory_core::discover::{Source, SourceKind};
use backstory_core::export::events::{self, Choice};
use backstory_core::export::json;
use backstory_core::model::EventType;
use backstory_core::pricing::{Bill, Table};
use backstory_core::projects::{ProjectHints, Projects};
use backstory_core::read::bytes::Disk;
use backstory_core::read::json::check;
use backstory_core::transcript::{Options, blocks};
use libfuzzer_sys::fuzz_target;

/// Transcripts are read from files; everything before that is done in memory.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("backstory-fuzz-{}.jsonl", std::process::id());
    std::env::temp_dir().join(name)
});

fuzz_target!(|bytes: &[u8]| {
    let mut input = Cursor::new(bytes);
    let loaded = gemini::load(&mut input).expect("memory can be read");
    assert_eq!(loaded.ids.len(), loaded.messages.len());
    let mut exported = Vec::new();
    write_native(&loaded, &Fallback::default(), &mut input, &mut exported).expect("all spans are inside");
    let exported = String::from_utf8(exported).expect("an export is UTF-8");
    check(&exported).expect("an export is JSON");

    std::fs::write(&*FILE, bytes).expect("the temporary folder can be written to");
    for agent in Agents::default().iter() {
        let source = Source {
            agent: agent.id(),
            path: FILE.clone(),
            kind: SourceKind::Conversation,
            folder: None,
            size: bytes.len() as u64,
            modified: None,
            changed: None,
            inode: None,
            archived: None,
        };
        let facts = agent.scan(&source, &Disk, Detail::Full).expect("it was written").facts;
        all_views(ScannedSource { source, facts });
    }
});

/// Assembles what was scanned, reads its text, and writes it as a document and as events.
fn all_views(scanned: ScannedSource) {
    let mut projects = Projects::new(&ProjectHints::default());
    let agents = Agents::default();
    let sessions = assemble(vec![scanned], &agents, &mut projects, &|_, _| None);
    let everything = Options { thoughts: true, tool_output: true, info: true, only: Vec::new() };
    for assembled in &sessions {
        for view in [View::Current, View::Full] {
            let messages = Reader::new(agents, &Disk)
                .transcript(assembled, view, &|_| None)
                .expect("it was written");
            blocks(&messages, &everything);
            let mut document = Vec::new();
            json::write(&assembled.session, Bill::default(), &messages, &Table::embedded(), &mut document)
                .expect("it can be written");
            let document = String::from_utf8(document).expect("a document is UTF-8");
            check(&document).expect("a document is JSON");
            if view == View::Full {
                let mut lines = Vec::new();
                let choice = Choice { types: EventType::ALL.to_vec(), ..Choice::default() };
                events::write(assembled, &messages, &Table::embedded(), &choice, &mut lines)
                    .expect("they can be written");
                let lines = String::from_utf8(lines).expect("events are UTF-8");
                lines.lines().for_each(|line| check(line).expect("an event is JSON on one line"));
            }
        }
    }
}
