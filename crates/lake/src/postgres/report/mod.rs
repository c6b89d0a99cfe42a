//! The reports `usage`, `sessions` and `tools`, computed inside PostgreSQL, as the same documents as those of the
//! local commands.

mod filters;
mod form;
mod sessions;
mod table;
mod tools;
mod usage;

use backstory_core::model::{Bucket, Usage};
use backstory_core::money::Usd;
use backstory_core::pricing::Bill;
use backstory_core::query::usage::Sum;
pub(crate) use filters::ReportArgs;
use postgres::{Client, Row};
pub(crate) use sessions::{Sessions, run as sessions};
pub(crate) use tools::{Tools, run as tools};
pub(crate) use usage::{UsageReport, run as usage};

use super::{connect, migrate};
use crate::error::Result;

/// Connects to the database of a report.
fn open(asking: &ReportArgs) -> Result<Client> {
    let mut client = connect::connect(&asking.url, asking.insecure, &crate::env)?;
    migrate::require(&mut client)?;
    Ok(client)
}

/// The sums of a group of calls in the columns that [`sum`] reads. A count that is too large for a column becomes the
/// largest one.
const SUMS: &str = "count(*) FILTER (WHERE position = 0) AS calls,
    count(DISTINCT session) AS sessions,
    count(*) FILTER (WHERE position = 0 AND undated) AS undated,
    least(coalesce(sum(input), 0), 9223372036854775807)::bigint AS input,
    least(coalesce(sum(cached), 0), 9223372036854775807)::bigint AS cached,
    least(coalesce(sum(cache_write_5m), 0), 9223372036854775807)::bigint AS cache_write_5m,
    least(coalesce(sum(cache_write_1h), 0), 9223372036854775807)::bigint AS cache_write_1h,
    least(coalesce(sum(output), 0), 9223372036854775807)::bigint AS output,
    least(coalesce(sum(thoughts), 0), 9223372036854775807)::bigint AS thoughts,
    least(coalesce(sum(tool), 0), 9223372036854775807)::bigint AS tool,
    least(coalesce(sum(other), 0), 9223372036854775807)::bigint AS other,
    sum(cost_pico)::text AS cost_pico,
    count(*) FILTER (WHERE position = 0 AND cost_pico IS NULL) AS unpriced,
    count(*) FILTER (WHERE position = 0 AND is_estimate) AS estimated,
    count(*) FILTER (WHERE is_upper_bound) AS upper_bound,
    coalesce(bool_or(at_least), false) AS at_least";

/// Reads the columns of [`SUMS`].
fn sum(row: &Row) -> Sum {
    let number = |name: &str| {
        let number: Option<i64> = row.get(name);
        number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default()
    };
    let mut usage = Usage::default();
    for bucket in Bucket::ALL {
        *usage.get_mut(bucket) = number(bucket.name());
    }
    let pico: Option<&str> = row.get("cost_pico");
    Sum {
        calls: number("calls"),
        sessions: number("sessions"),
        usage,
        bill: Bill {
            usd: pico.map(|pico| Usd::from_pico(pico.parse().unwrap_or(i128::MAX))),
            unpriced: number("unpriced"),
            estimated: number("estimated"),
            upper_bound: number("upper_bound"),
            at_least: row.get::<_, Option<bool>>("at_least").unwrap_or_default(),
        },
        undated: number("undated"),
        first: None,
    }
}
