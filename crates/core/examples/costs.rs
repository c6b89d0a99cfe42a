//! Prints what each project of a home used and cost: `costs HOME`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use backstory_core::query::usage::{Group, Question};
use backstory_core::{Agents, Archive, PriceTable, Reports};
use jiff::tz::TimeZone;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::args().nth(1).ok_or("usage: costs HOME")?;
    let found = Agents::default().discover_at(Path::new(&home));
    let archive = Archive::of(&found)?;
    let prices = PriceTable::embedded();
    let reports = Reports::new(&archive, &TimeZone::UTC, &prices);
    for row in reports.usage(&Question::new(Group::Project))?.rows {
        let cost = row.sum.bill.usd.map_or_else(|| "unknown".to_owned(), |usd| format!("${usd}"));
        println!("{}\t{} tokens\t{cost}", row.key, row.sum.usage.total());
    }
    Ok(())
}
