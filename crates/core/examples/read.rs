//! Scans every file of every agent below a folder and prints what was read.
//!
//! `cargo run --release --example read -- FOLDER`; `bench/read` times it.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use backstory_core::Agents;
use backstory_core::agent::Detail;
use backstory_core::read::bytes::Disk;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: read FOLDER")?;
    let agents = Agents::default();
    let found = agents.discover_at(Path::new(&folder));
    let (mut bytes, mut messages, mut faults) = (0, 0, 0);
    for source in &found.sources {
        let Some(agent) = agents.get(&source.agent) else { continue };
        let facts = agent.scan(source, &Disk, Detail::Full)?.facts;
        bytes += source.size;
        messages += facts.messages().count();
        faults += facts.faults.details.len();
    }
    let files = found.sources.len();
    println!("{files} files, {bytes} bytes, {messages} messages, {faults} faults");
    Ok(())
}
