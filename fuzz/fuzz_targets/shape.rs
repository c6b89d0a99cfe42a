//! Any text as a file of unknown shape, as a log of prompts, and as settings.
#![no_main]

use std::io::Cursor;

use backstory_core::agent::gemini::retention::{ChatFile, Retention, Settings, plan};
use backstory_core::agent::gemini::{Shape, read_prompt_log};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let shape = Shape::of(&mut Cursor::new(bytes)).expect("memory can be read");
    assert_eq!(shape, Shape::of(&mut Cursor::new(bytes)).expect("memory can be read"));

    let typed = read_prompt_log(bytes).expect("memory can be read");
    assert!(typed.iter().all(|typed| !typed.session.is_empty()));

    // The text before a NUL is one settings file, the text behind it the next, stronger one.
    let text = String::from_utf8_lossy(bytes);
    let settings: Vec<Settings> = text
        .split('\0')
        .map(|text| Settings { name: "settings.json".to_owned(), text: text.to_owned() })
        .collect();
    let (retention, unreadable) = Retention::decide(&settings);
    assert!(unreadable.len() <= settings.len());

    let files: Vec<ChatFile> = text
        .lines()
        .take(64)
        .map(|line| ChatFile {
            name: line.to_owned(),
            resumable_since: line.get(..20).and_then(|time| time.parse().ok()),
        })
        .collect();
    assert!(plan(&files, &retention, Timestamp::UNIX_EPOCH).len() <= files.len());
});
