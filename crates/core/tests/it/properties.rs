//! Tests properties of any file, however odd or damaged.

use std::io::Cursor;
use std::path::Path;

use backstory_core::agent::gemini::{self, Loaded, LogReader, Mode, Shape};
use backstory_core::agent::gemini::{Fallback, write_native};
use backstory_core::content::View;
use backstory_core::discover::{Discovery, Source};
use backstory_core::facts::Form;
use backstory_core::model::MessageKind;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::counting::a_count_is_a_sync;
use crate::expected::differences;
use crate::support::discover_at;
use crate::support::{Home, seen, testdata, trees_below};

const TEXTS: [&str; 8] = [
    "continue",
    "fix the tests",
    "done",
    "<session_context>\nx\n</session_context>",
    "<state_snapshot>so far</state_snapshot>",
    "Got it. Thanks for the additional context!",
    "/stats",
    "",
];

/// Generates a message with one of a few ids, so that records share ids often. The content of an id
/// is always the same, its form is not; several ids have the same content.
fn message() -> impl Strategy<Value = Value> {
    let flags = (any::<bool>(), any::<bool>());
    (0..36_u8, flags).prop_map(|(id, (tokens, parts))| {
        let kind =
            ["user", "gemini", "user", "gemini", "gemini", "info", "error"][usize::from(id % 7)];
        let text = TEXTS[usize::from(id) * 5 % 11 % TEXTS.len()];
        let (call, calls) = (id % 4, id % 3 == 0);
        let name = if call % 2 == 0 { "glob" } else { "read_file" };
        let id = message_id(id);
        let mut message =
            json!({ "id": id, "type": kind, "timestamp": time(call), "content": text });
        if parts {
            message["content"] = json!([{ "text": text }]);
        }
        if kind == "gemini" && tokens {
            message["tokens"] = json!({ "input": 10, "output": 5, "cached": 3, "total": 15 });
            message["model"] = "gemini-2.5-pro".into();
        }
        let response = json!({ "functionResponse": { "id": format!("c{call}"), "name": name,
                "response": { "output": "Output: x\nExit Code: 1" } } });
        match (kind, calls, parts) {
            ("gemini", true, false) => {
                message["toolCalls"] = json!([{ "id": format!("c{call}"), "name": name,
                        "args": {}, "status": "success", "result": [response] }]);
            }
            ("gemini", true, true) => {
                let call = json!({ "functionCall": { "name": name, "args": {} } });
                message["content"] = json!([{ "text": text }, call]);
            }
            ("user", true, _) => message["content"] = json!([response]),
            _ => {}
        }
        message
    })
}

/// Returns an id. Some ids are unique everywhere, so sessions share messages.
fn message_id(n: u8) -> String {
    if n.is_multiple_of(2) {
        format!("m{n}")
    } else {
        format!("{n:08}-0000-4000-8000-000000000000")
    }
}

fn time(n: u8) -> String {
    format!("2026-03-01T10:{n:02}:00.000Z")
}

fn session_id(n: u8) -> String {
    match n {
        0 => "a2a-server".to_owned(),
        n => format!("0000000{n}-0000-4000-8000-000000000000"),
    }
}

fn header() -> impl Strategy<Value = Value> {
    (0..3_u8, 0..60_u8, any::<bool>()).prop_map(|(id, start, marked)| {
        let mut header = json!({ "sessionId": session_id(id), "projectHash": "ab".repeat(32),
            "startTime": time(start), "lastUpdated": time(start) });
        if marked {
            header["kind"] = "main".into();
        }
        header
    })
}

fn record() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(message(), 0..8);
    prop_oneof![
        8 => message(),
        2 => header(),
        2 => (0..60_u8).prop_map(|n| json!({ "$set": { "lastUpdated": time(n) } })),
        1 => Just(json!({ "$set": { "summary": "SourceSummary it", "sessionId": session_id(1) } })),
        3 => (list, 0..60_u8)
            .prop_map(|(list, n)| json!({ "$set": { "messages": list, "lastUpdated": time(n) } })),
        1 => (0..38_u8).prop_map(|id| json!({ "$rewindTo": message_id(id) })),
        1 => Just(json!({ "nobody": "knows" })),
    ]
}

/// Generates a line: a record, or a damaged one.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let whole = record().prop_map(|record| record.to_string().into_bytes());
    let damaged =
        (record(), 0..8_u8, any::<prop::sample::Index>()).prop_map(|(record, how, at)| {
            let text = record.to_string();
            let cut = at.index(text.len());
            match how {
                0 => text.as_bytes()[..cut].to_vec(),
                1 => format!("\u{FEFF}{text}").into_bytes(),
                2 => text.replace("continue", "con\ttinue").into_bytes(),
                3 => [text.as_bytes(), b"\0\0"].concat(),
                4 => [&text.as_bytes()[..cut], text.as_bytes()].concat(),
                5 => text.bytes().map(|byte| if byte == b'o' { 0xFF } else { byte }).collect(),
                6 => b" \t\xC2\xA0".to_vec(),
                _ => b"[]".to_vec(),
            }
        });
    prop_oneof![5 => whole, 1 => damaged]
}

/// Bytes that are mostly text.
#[derive(Clone)]
struct Log(Vec<u8>);

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Generates a log that usually has a valid beginning.
fn log() -> impl Strategy<Value = Log> {
    let first = prop_oneof![4 => header().prop_map(Some), 1 => Just(None)];
    let ending = select(vec![&b"\n"[..], b"\n", b"\r\n", b"\r"]);
    let lines = prop::collection::vec((line(), ending), 0..25);
    (first, lines, any::<bool>()).prop_map(|(first, lines, open)| {
        let mut out = Vec::new();
        if let Some(header) = first {
            out.extend(header.to_string().into_bytes());
            out.push(b'\n');
        }
        for (line, ending) in lines {
            out.extend(line);
            out.extend(ending);
        }
        if open {
            out.pop();
        }
        Log(out)
    })
}

fn export(loaded: &Loaded, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write_native(loaded, &Fallback::default(), &mut Cursor::new(bytes), &mut out).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

fn said(loaded: &Loaded) -> Vec<String> {
    let segments = loaded.segments.iter().enumerate();
    let said = segments.flat_map(|(n, segment)| segment.said.iter().map(move |said| (n, said)));
    said.map(|(n, said)| {
        let (kind, fate, copy) = (said.kind.name(), said.fate.name(), said.is_copy);
        format!("{n} {} {kind} {fate} {copy} {:?}", said.id, said.spans)
    })
    .collect()
}

/// Counts the lines that are not blank, as Gemini CLI's loader sees them.
fn lines(bytes: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let is_blank =
        |line: &str| line.chars().all(|c| c == '\u{FEFF}' || (c.is_whitespace() && c != '\u{85}'));
    text.split(['\n', '\r']).filter(|line| !is_blank(line)).count() as u64
}

fn never_panics(bytes: &[u8]) {
    let loaded = gemini::load(&mut Cursor::new(bytes)).unwrap();
    export(&loaded, bytes);
    Shape::of(&mut Cursor::new(bytes)).unwrap();
    let _ = gemini::read_conversation(&mut Cursor::new(bytes)).unwrap();
}

fn accounts_add_up(bytes: &[u8]) {
    let loaded = gemini::load(&mut Cursor::new(bytes)).unwrap();
    if loaded.form == Form::Log {
        let faults = &loaded.faults;
        let sum = faults.used + faults.ignored + faults.unusable;
        assert_eq!(sum, lines(bytes), "{:?}", String::from_utf8_lossy(bytes));
    }
}

/// Generates files of one root: a hash folder and a slug folder, as a tree on disk.
fn tree() -> impl Strategy<Value = Vec<(String, Log)>> {
    let folder = select(vec!["app".to_owned(), "ab".repeat(32)]);
    let place = (
        folder,
        0..3_u8,
        0..4_u8,
        select(vec!["", "", "", "00000001-0000-4000-8000-000000000000/"]),
    );
    let file = (place, log()).prop_map(|((folder, id, minute, below), log)| {
        let id = session_id(id);
        let name = format!("session-2026-03-01T10-{minute:02}-{}.jsonl", &id[..8]);
        (format!("tmp/{folder}/chats/{below}{name}"), log)
    });
    let typed =
        (select(vec!["app".to_owned(), "tool".to_owned(), "ab".repeat(32)]), 0..4_u8, 0..3_u8);
    let typed = typed.prop_map(|(folder, session, n)| {
        let entry = json!([{ "sessionId": session_id(session + 5), "messageId": n, "type": "user",
            "message": "hello", "timestamp": time(n) }]);
        (format!("tmp/{folder}/logs.json"), Log(entry.to_string().into_bytes()))
    });
    let files = prop::collection::vec(file, 1..7);
    (files, prop::collection::vec(typed, 0..4)).prop_map(|(files, typed)| [files, typed].concat())
}

fn plant(folder: &Path, files: &[(String, Log)]) {
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &bytes.0).unwrap();
    }
}

fn home(sources: &[Source]) -> Home {
    Home::of(Discovery { sources: sources.to_vec(), ..Discovery::default() })
}

fn any_order_is_the_same(folder: &Path, shifts: &[usize]) {
    let mut sources = discover_at(folder).sources;
    let first = seen(&home(&sources));
    for shift in shifts {
        let count = sources.len().max(1);
        sources.rotate_left(shift % count);
        sources.reverse();
        let differences = differences(&first, &seen(&home(&sources)));
        assert!(differences.is_empty(), "{}\n{differences}", folder.display());
    }
}

/// Returns whether `text` is one of the texts, or several of them in order.
fn is_made_of(text: &str, texts: &[String]) -> bool {
    let fits = |(n, part): (usize, &String)| {
        let rest = text.strip_prefix(part.as_str()).filter(|_| !part.is_empty());
        rest.is_some_and(|rest| is_made_of(rest, &texts[n + 1..]))
    };
    text.is_empty() || texts.iter().enumerate().any(fits)
}

/// Asserts that nothing Gemini CLI would show is missing: each message of the current view is
/// listed, or its text and calls are in those that are.
fn full_contains_current(home: &Home) {
    for assembled in &home.sessions {
        let view = |view| home.messages(assembled, view);
        let (full, current) = (view(View::Full), view(View::Current));
        let listed = |id: &str| full.iter().any(|message| message.id == id);
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let texts: Vec<String> = full.iter().map(|message| squeezed(&message.text)).collect();
        let call_names: Vec<&str> = full
            .iter()
            .flat_map(|message| message.tool_calls.iter().map(|call| call.name.name.as_str()))
            .collect();
        for message in current.iter().filter(|message| !listed(&message.id)) {
            // One copy can join several originals.
            let text = squeezed(&message.text);
            assert!(is_made_of(&text, &texts), "`{text}` of {} is lost", message.id);
            for call in message.tool_calls.iter().filter(|_| message.kind == MessageKind::Reply) {
                assert!(call_names.contains(&call.name.name.as_str()), "{} is lost", message.id);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        never_panics(&bytes);
        accounts_add_up(&bytes);
    }

    #[test]
    fn json_like_text_never_panics(text in r#"[\[\]{}",:\\\n\r 0-9a-zA-Z$\u{0}\u{feff}]{0,200}"#) {
        never_panics(text.as_bytes());
        accounts_add_up(text.as_bytes());
    }

    #[test]
    fn logs_never_panic_and_add_up(Log(log) in log(), cut in any::<prop::sample::Index>()) {
        never_panics(&log);
        accounts_add_up(&log);
        let part = &log[..cut.index(log.len() + 1)];
        never_panics(part);
        accounts_add_up(part);
    }

    #[test]
    fn documents_never_panic(messages in prop::collection::vec(message(), 0..8), cut in any::<prop::sample::Index>()) {
        let mut document = json!({ "sessionId": session_id(1), "projectHash": "h", "startTime": time(0),
            "lastUpdated": time(9), "messages": messages });
        let pretty = serde_json::to_vec_pretty(&document).unwrap();
        never_panics(&pretty[..cut.index(pretty.len() + 1)]);
        let turns = messages.iter().map(|m| json!({ "role": "user", "parts": [{ "text": m["content"] }] }));
        document = turns.collect();
        let pretty = serde_json::to_vec_pretty(&document).unwrap();
        never_panics(&pretty[..cut.index(pretty.len() + 1)]);
    }

    #[test]
    fn a_log_read_in_two_steps_is_the_same(Log(log) in log(), cut in any::<prop::sample::Index>(), kind in any::<bool>()) {
        let manner = if kind { Mode::Lenient } else { Mode::Strict };
        let mut once = LogReader::new(manner);
        let tail = once.feed(log.as_slice()).unwrap();
        let once = once.finish(tail.as_ref());
        let mut twice = LogReader::new(manner);
        let _ = twice.feed(&log[..cut.index(log.len() + 1)]).unwrap();
        let offset = usize::try_from(twice.offset()).unwrap();
        let tail = twice.feed(&log[offset..]).unwrap();
        let twice = twice.finish(tail.as_ref());
        prop_assert_eq!(said(&once), said(&twice));
        prop_assert_eq!(export(&once, &log), export(&twice, &log));
        prop_assert_eq!(once.faults, twice.faults);
    }
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_files_does_not_matter(files in tree(), shifts in prop::collection::vec(0..10_usize, 3)) {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), &files);
        any_order_is_the_same(folder.path(), &shifts);
    }

    #[test]
    fn counting_alone_comes_to_the_same(files in tree()) {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), &files);
        a_count_is_a_sync(folder.path());
    }

    #[test]
    fn the_full_view_contains_the_current_one(log in log()) {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), &[("tmp/app/chats/session-2026-03-01T10-00-00000001.jsonl".to_owned(), log)]);
        full_contains_current(&Home::at(folder.path()));
    }
}

#[test]
fn all_of_it_on_real_trees() {
    let mut trees = 0;
    for folder in trees_below(&testdata("gemini")) {
        any_order_is_the_same(&folder, &[1, 2, 5]);
        full_contains_current(&Home::at(&folder));
        a_count_is_a_sync(&folder);
        trees += 1;
    }
    assert!(trees > 80, "only {trees} trees");
}
