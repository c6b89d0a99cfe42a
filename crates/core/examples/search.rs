//! Asks an archive many questions in one process: `search ARCHIVE < QUERIES`, a query a line. Prints how
//! long the answers took, the text of the best hits read again as `backstory search` does.
#![allow(clippy::print_stdout, reason = "an example")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Instant;

use backstory_core::archive::{Archive, Order};
use backstory_core::collection::Collection;
use backstory_core::discover::Discovery;
use backstory_core::search::Query;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const SHOWN: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: search ARCHIVE < QUERIES")?;
    let archive = Archive::open(Path::new(&path))?;
    let all = Collection::new(&archive, Discovery::default())?;
    let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let mut took = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let start = Instant::now();
        let query = Query::parse(&line, &now)?;
        let hits = archive.matches(&query, &all.sessions, Order::Relevance, &|session| {
            query.filters.takes_session(session)
        })?;
        let asked = start.elapsed();
        for hit in hits.iter().take(SHOWN) {
            if let Some(message) = archive.text_row(hit.row)?.and_then(|row| row.message) {
                let wanted = BTreeMap::from([(hit.session.id.as_str(), vec![message.as_str()])]);
                archive.read_around(&wanted, 0)?;
            }
        }
        took.push((start.elapsed(), asked, hits.len(), line));
    }
    took.sort();
    let Some(last) = took.len().checked_sub(1) else { return Ok(()) };
    for percent in [50, 95, 100] {
        let (with_text, ..) = &took[last * percent / 100];
        let mut asked: Vec<_> = took.iter().map(|(_, asked, ..)| *asked).collect();
        asked.sort();
        println!("p{percent}: {:?} asked, {with_text:?} with text", asked[last * percent / 100]);
    }
    let found = took.iter().filter(|(_, _, hits, _)| *hits > 0).count();
    println!(
        "{} questions, {found} of them found something; the slowest: {}",
        took.len(),
        took[last].3
    );
    Ok(())
}
