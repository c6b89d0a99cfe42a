//! Prints the sessions of a home that contain some words, the best first: `find HOME WORDS`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::collections::HashSet;
use std::path::Path;

use backstory_core::archive::Order;
use backstory_core::search::Query;
use backstory_core::{Agents, Archive, Collection};
use jiff::Zoned;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(home), Some(words)) = (args.next(), args.next()) else {
        return Err("usage: find HOME WORDS".into());
    };
    let found = Agents::default().discover_at(Path::new(&home));
    let mut archive = Archive::of(&found)?;
    archive.index(&|| {})?;
    let all = Collection::new(&archive, found)?;
    let query = Query::parse(&words, &Zoned::now())?;
    let mut seen = HashSet::new();
    let hits = archive.matches(&query, &all.sessions, Order::Relevance, &|_| true)?;
    for hit in hits.iter().filter(|hit| seen.insert(&hit.session.id)) {
        println!("{}\t{}", hit.session.id, hit.session.title().0);
    }
    Ok(())
}
