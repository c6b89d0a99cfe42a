//! Registers the SQL functions `time_key` and `bill`.
//!
//! Costs are computed when they are queried and never stored, because a better price table changes
//! them.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Result, Row};

use crate::model::{Bucket, Usage};
use crate::pricing::{Bill, Calls, Table};

pub(super) fn define(db: &Connection, zone: &TimeZone, prices: &Table) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let zone = zone.clone();
    // time_key(at, pattern): the period that a moment belongs to, `undated` if there is none.
    db.create_scalar_function("time_key", 2, pure, move |ctx| {
        let Some(at) = ctx.get::<Option<i64>>(0)? else { return Ok("undated".to_owned()) };
        let at = Timestamp::from_millisecond(at).map_err(|e| Error::UserFunctionError(e.into()))?;
        let pattern = ctx.get_raw(1).as_str()?;
        let at = at.to_zoned(zone.clone());
        // Days are requested most often.
        Ok(if pattern == "%Y-%m-%d" {
            at.date().to_string()
        } else {
            at.strftime(pattern).to_string()
        })
    })?;
    let billing = Billing { prices: prices.clone() };
    db.create_aggregate_function("bill", ARGUMENTS, pure, billing)
}

/// The place of the first bucket among the arguments of `bill`.
const FIRST_BUCKET: usize = 6;
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "there are few")]
const ARGUMENTS: i32 = (FIRST_BUCKET + Bucket::ALL.len()) as i32;

/// `bill(model, at, prompt, calls, caching, at_least, …)`, followed by the buckets in their order:
/// the cost of a group of calls. One row may be several calls of one price class; `prompt` is then
/// the largest of theirs, and `caching` the number of calls with cached tokens.
struct Billing {
    prices: Table,
}

#[derive(Default)]
struct Group {
    bill: Bill,
    /// Whether a model has any price, so that an unpriced routing name is looked up only once.
    known: HashMap<String, bool>,
}

impl Aggregate<Group, String> for Billing {
    fn init(&self, _: &mut Context<'_>) -> Result<Group> {
        Ok(Group::default())
    }

    fn step(&self, ctx: &mut Context<'_>, group: &mut Group) -> Result<()> {
        let model = ctx.get_raw(0).as_str_or_null()?;
        let at = ctx.get::<Option<i64>>(1)?.and_then(|at| Timestamp::from_millisecond(at).ok());
        let number = |n: usize| Ok::<u64, Error>(u64::try_from(ctx.get::<i64>(n)?).unwrap_or(0));
        let mut column = FIRST_BUCKET..;
        let calls = Calls {
            usage: Usage::try_from_buckets(|_| column.next().map_or(Ok(0), number))?,
            prompt: number(2)?,
            count: number(3)?,
            caching: number(4)?,
        };
        let model = model.filter(|model| group.known.get(*model) != Some(&false));
        let mut bill = self.prices.bill_calls(model, at, &calls);
        bill.at_least = number(5)? > 0;
        if let Some(model) = model
            && !group.known.contains_key(model)
        {
            group.known.insert(model.to_owned(), bill.usd.is_some());
        }
        group.bill.add(&bill);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, group: Option<Group>) -> Result<String> {
        Ok(group.unwrap_or_default().bill.to_string())
    }
}

/// Parses the bill in a column.
pub(crate) fn bill(row: &Row<'_>, column: usize) -> Result<Bill> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse()
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}
