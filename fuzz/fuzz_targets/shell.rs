//! Any text as a command line: always answered, soon, and with words that stand in the text.
#![no_main]

use backstory_core::shell::{MAX_TEXT, split};
use libfuzzer_sys::fuzz_target;

/// What stands before a text that is only tried many times over: what takes the square of the time shows.
const AGAIN: char = '*';

fuzz_target!(|text: &str| {
    if let Some(text) = text.strip_prefix(AGAIN).filter(|text| !text.is_empty()) {
        split(&text.repeat(MAX_TEXT / text.len()));
        return;
    }
    let commands = split(text);
    for command in &commands {
        assert!(!command.text.is_empty() && !command.program.is_empty(), "{command:?}");
    }
    let written = squeezed(text);
    // Quotes, escapes and redirections take something out of the middle; nothing else does.
    if !text.contains(['\'', '"', '`', '\\', '<', '>']) {
        for command in &commands {
            assert!(written.contains(&squeezed(&command.text)), "{command:?} is not in {text:?}");
        }
    }
    // And nothing but `$'\x41'` puts in what is not there.
    if !(text.contains('$') && text.contains('\'')) {
        for command in &commands {
            let mut all = written.chars();
            let is_there = |char: char| char == ' ' || all.any(|other| other == char);
            assert!(squeezed(&command.text).chars().all(is_there), "{command:?} is made up");
        }
    }
});

/// The text with one blank wherever there is space.
fn squeezed(text: &str) -> String {
    text.replace('\0', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
