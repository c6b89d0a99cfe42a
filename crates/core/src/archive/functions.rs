//! What SQL has to learn: the day of a moment in a zone, and what calls cost.
//!
//! Costs are computed when they are asked for, never stored: a better price table changes them.

use std::collections::HashMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};

use crate::model::Usage;
use crate::money::Usd;
use crate::pricing::{Table, cost_of_prompt};

pub(super) fn define(db: &Connection, zone: &TimeZone, prices: &Table) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let zone = zone.clone();
    // time_key(at, pattern): the stretch of time that a moment belongs to, `undated` for none.
    db.create_scalar_function("time_key", 2, pure, move |ctx| {
        let Some(at) = ctx.get::<Option<i64>>(0)? else { return Ok("undated".to_owned()) };
        let at = Timestamp::from_millisecond(at).map_err(|e| Error::UserFunctionError(e.into()))?;
        let pattern = ctx.get_raw(1).as_str()?;
        let at = at.to_zoned(zone.clone());
        // Days are asked for most.
        Ok(if pattern == "%Y-%m-%d" {
            at.date().to_string()
        } else {
            at.strftime(pattern).to_string()
        })
    })?;
    let billing = Billing { prices: prices.clone() };
    db.create_aggregate_function("bill", 11, pure, billing)
}

/// bill(model, at, prompt, calls, caching, input, cached, output, thoughts, tool, other): what the
/// calls of a group cost. A row may be several calls of one class of price; `prompt` is then the
/// largest of theirs, and `caching` how many had anything cached.
struct Billing {
    prices: Table,
}

/// The sum so far, and how many calls it can answer for.
#[derive(Default)]
pub(super) struct Bill {
    usd: Usd,
    priced: u64,
    unpriced: u64,
    estimated: u64,
    upper_bound: u64,
    /// Whether a model has any price at all, so that a routing name is not looked up a thousand times.
    known: HashMap<String, bool>,
}

impl Aggregate<Bill, String> for Billing {
    fn init(&self, _: &mut Context<'_>) -> Result<Bill> {
        Ok(Bill::default())
    }

    fn step(&self, ctx: &mut Context<'_>, bill: &mut Bill) -> Result<()> {
        let model = ctx.get_raw(0).as_str_or_null()?;
        let at = ctx.get::<Option<i64>>(1)?.and_then(|at| Timestamp::from_millisecond(at).ok());
        let number = |n| Ok::<u64, Error>(u64::try_from(ctx.get::<i64>(n)?).unwrap_or(0));
        let usage = Usage {
            input: number(5)?,
            cached: number(6)?,
            output: number(7)?,
            thoughts: number(8)?,
            tool: number(9)?,
            other: number(10)?,
        };
        let (prompt, calls, caching) = (number(2)?, number(3)?, number(4)?);
        let Some(found) = model.and_then(|model| self.find(bill, model, at)) else {
            bill.unpriced += calls;
            return Ok(());
        };
        let cost = cost_of_prompt(found.row, &usage, prompt);
        bill.usd += cost.usd;
        bill.priced += calls;
        bill.estimated += if found.estimated { calls } else { 0 };
        bill.upper_bound += if cost.upper_bound { caching } else { 0 };
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, bill: Option<Bill>) -> Result<String> {
        let bill = bill.unwrap_or_default();
        let mut out = String::new();
        let Bill { usd, priced, unpriced, estimated, upper_bound, .. } = bill;
        // Read back by `BillText`; writing to a string cannot fail.
        let _ = write!(out, "{} {priced} {unpriced} {estimated} {upper_bound}", usd.pico());
        Ok(out)
    }
}

impl Billing {
    fn find(
        &self,
        bill: &mut Bill,
        model: &str,
        at: Option<Timestamp>,
    ) -> Option<crate::pricing::Found<'_>> {
        if bill.known.get(model) == Some(&false) {
            return None;
        }
        let found = self.prices.lookup(model, at);
        if !bill.known.contains_key(model) {
            bill.known.insert(model.to_owned(), found.is_some());
        }
        found
    }
}

/// What `bill` gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Billed {
    /// None when not one call has a price.
    pub usd: Option<Usd>,
    pub unpriced: u64,
    pub estimated: u64,
    pub upper_bound: u64,
}

impl Billed {
    pub(crate) fn add(&mut self, other: &Self) {
        self.usd = match (self.usd, other.usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.unpriced += other.unpriced;
        self.estimated += other.estimated;
        self.upper_bound += other.upper_bound;
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split(' ');
        let usd = parts.next().and_then(|usd| usd.parse().ok()).map(Usd::from_pico);
        let mut number = || parts.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let (priced, unpriced, estimated, upper_bound) = (number(), number(), number(), number());
        Self { usd: usd.filter(|_| priced > 0), unpriced, estimated, upper_bound }
    }
}
