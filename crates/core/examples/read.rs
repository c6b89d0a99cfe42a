//! Loads every session file below a folder, text skipped, and says how much that was: the current
//! view, or with `full` both.
//!
//! `cargo run --release --example read -- FOLDER [full]`; `bench/read` times it.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::fs::File;

use backstory_core::agent::gemini;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: read FOLDER [full]")?;
    let full = std::env::args().nth(2).is_some();
    let (mut files, mut bytes, mut messages, mut faults) = (0u64, 0u64, 0, 0);
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry?;
        let is_chat = entry.path().components().any(|part| part.as_os_str() == "chats");
        if !entry.file_type().is_file() || !is_chat {
            continue;
        }
        bytes += entry.metadata()?.len();
        files += 1;
        let mut file = File::open(entry.path())?;
        let loaded = if full { gemini::load(&mut file)? } else { gemini::load_current(&mut file)? };
        messages += loaded.messages.len();
        faults += loaded.faults.details.len();
    }
    println!(
        "{files} files, {bytes} bytes, {messages} messages in the current views, {faults} faults"
    );
    Ok(())
}
