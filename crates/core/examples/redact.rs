//! Redacts every session file below a folder into nothing, and says what there was.
//!
//! `cargo run --release --example redact -- FOLDER`; `bench/redact` times it.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::fs::File;
use std::io;

use backstory_core::redact::{Redactor, Rules};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: redact FOLDER")?;
    let rules = Rules::embedded()?;
    let mut redactor = Redactor::new(&rules);
    let (mut files, mut bytes) = (0u64, 0u64);
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry?;
        let is_chat = entry.path().components().any(|part| part.as_os_str() == "chats");
        if !entry.file_type().is_file() || !is_chat {
            continue;
        }
        bytes += entry.metadata()?.len();
        files += 1;
        redactor.stream(&mut File::open(entry.path())?, &mut io::sink())?;
    }
    println!("{files} files, {bytes} bytes");
    for count in redactor.counts() {
        println!("{:>8} {}, {} different", count.found, count.kind, count.distinct);
    }
    Ok(())
}
