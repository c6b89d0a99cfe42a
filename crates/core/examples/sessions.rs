//! Lists the sessions of a home as JSON lines, without any program around the library.
//!
//! `cargo run --release -p backstory-core --example sessions -- HOME [transcript]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use backstory_core::agent::Agents;
use backstory_core::archive::Archive;
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::export::json::{MessageRow, SessionRow};
use backstory_core::pricing::Table;
use backstory_core::query::Reports;
use jiff::tz::TimeZone;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::args().nth(1).ok_or("usage: sessions HOME [transcript]")?;
    let with_messages = std::env::args().nth(2).is_some();
    let found = Agents::default().discover_at(Path::new(&home));
    let archive = Archive::of(&found)?;
    let mut all = Collection::new(&archive, found)?;
    for session in &mut all.sessions {
        archive.add_prompts(session)?;
    }
    let prices = Table::embedded();
    let costs = Reports::new(&archive, &TimeZone::UTC, &prices).session_costs()?;
    for session in &all.sessions {
        let row = SessionRow::new(session, costs.of(&session.id));
        println!("{}", serde_json::to_string(&row)?);
        if let Some(assembled) = archive.assembled(&session.id)?.filter(|_| with_messages) {
            let find = |id: &str| all.agent_session(id);
            for message in archive.reader().transcript(&assembled, View::Full, &find)? {
                println!("  {}", serde_json::to_string(&MessageRow::new(&message, &prices))?);
            }
        }
    }
    Ok(())
}
