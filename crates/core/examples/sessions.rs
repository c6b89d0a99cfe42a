//! Lists the sessions of a home as JSON lines, without any program around the library.
//!
//! `cargo run --release -p backstory-core --example sessions -- HOME [transcript]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use backstory_core::agent::gemini::{self, Candidates, View};
use backstory_core::collection::{Collection, session_cost};
use backstory_core::export::json::{MessageRow, SessionRow};
use backstory_core::pricing::Table;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::args().nth(1).ok_or("usage: sessions HOME [transcript]")?;
    let with_messages = std::env::args().nth(2).is_some();
    let found = gemini::discover_given(Path::new(&home));
    let all = Collection::read(found, &Candidates::default(), &|_| ());
    let prices = Table::embedded();
    for assembled in &all.sessions {
        println!(
            "{}",
            serde_json::to_string(&SessionRow::new(
                &assembled.session,
                session_cost(assembled, &prices)
            ))?
        );
        if with_messages {
            let find = |id: &str| all.agent_session(id);
            for message in gemini::transcript(assembled, View::Full, &find)? {
                println!("  {}", serde_json::to_string(&MessageRow::new(&message, &prices))?);
            }
        }
    }
    Ok(())
}
