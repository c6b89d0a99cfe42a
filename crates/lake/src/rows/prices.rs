//! The rows of prices: the price table as it applies to each model that calls name, so that an engine computes
//! the same costs without knowing how a model is looked up. Models have the names under which they leave, without
//! secrets.

use std::collections::{BTreeMap, BTreeSet};

use backstory_core::Session;
use backstory_core::model::{Bucket, Service, ServiceClass, Usage};
use backstory_core::pricing::{Calls, PriceMatch, Row, cost};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use crate::filter::Filter;
use crate::policy::Policy;
use crate::tables::PriceRow;
use crate::value::{Text, count};

/// The beginning and the end of time, as far as every engine can represent it.
const EVER: (i16, i16) = (1970, 2200);

/// Returns the prices of all models of sessions.
pub(super) fn rows(sessions: &[&Session], policy: &Policy, filter: &Filter<'_>) -> Vec<PriceRow> {
    let models: BTreeSet<&str> =
        sessions.iter().flat_map(|s| &s.models).map(String::as_str).collect();
    let models: BTreeMap<Text, &str> =
        models.into_iter().map(|model| (filter.clean(model), model)).collect();
    let mut out = Vec::new();
    for (name, model) in &models {
        let Some(found) = policy.prices.lookup(model, None) else { continue };
        let priced = &found.row.model;
        let dates: BTreeSet<Timestamp> = policy
            .prices
            .rows()
            .filter(|row| row.model == *priced)
            .filter_map(|row| Some(midnight(row.from?)))
            .filter(|from| *from > first_of(EVER.0))
            .collect();
        let starts = [first_of(EVER.0)].into_iter().chain(dates.iter().copied());
        let ends = dates.iter().copied().chain([first_of(EVER.1)]);
        for period in starts.zip(ends) {
            for class in ServiceClass::ALL {
                for (us_only, is_elsewhere) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let service = Service { class, us_only, is_elsewhere, searches: 0 };
                    let found = policy.prices.lookup_served(model, Some(period.0), service);
                    out.extend(found.iter().flat_map(|found| {
                        tiers(found.row)
                            .map(move |tier| row(name, found, service, period, tier, policy))
                    }));
                }
            }
        }
    }
    out
}

/// Returns the ranges of prompt sizes that a row has prices for: above, up to.
fn tiers(row: &Row) -> impl Iterator<Item = (i64, i64)> + use<> {
    let limit = row.tier.map(|tier| count(tier.above));
    let first = (-1, limit.unwrap_or(i64::MAX));
    [first].into_iter().chain(limit.map(|limit| (limit, i64::MAX)))
}

fn row(
    model: &Text,
    found: &PriceMatch<'_>,
    service: Service,
    (since, until): (Timestamp, Timestamp),
    (above, up_to): (i64, i64),
    policy: &Policy,
) -> PriceRow {
    let prompt = u64::try_from(above).map_or(0, |above| above.saturating_add(1));
    let calls = |usage, service| Calls { usage, service, count: 1, caching: 0, prompt };
    let one = |bucket| {
        let mut usage = Usage::default();
        *usage.get_mut(bucket) = 1;
        cost(found.row, &calls(usage, service))
    };
    let price = |bucket| count(one(bucket).usd.pico());
    let search = Service { searches: 1, ..service };
    PriceRow {
        model: model.clone(),
        class: service.class.name().into(),
        us_only: service.us_only,
        is_elsewhere: service.is_elsewhere,
        since,
        above,
        up_to,
        until,
        version: policy.price_version.as_str().into(),
        input: price(Bucket::Input),
        cached: price(Bucket::Cached),
        cache_write_5m: price(Bucket::CacheWrite5m),
        cache_write_1h: price(Bucket::CacheWrite1h),
        output: price(Bucket::Output),
        web_search: count(cost(found.row, &calls(Usage::default(), search)).usd.pico()),
        is_estimate: found.estimated,
        is_upper_bound: one(Bucket::Cached).upper_bound,
    }
}

fn midnight(day: Date) -> Timestamp {
    Offset::UTC.to_timestamp(day.into()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn first_of(year: i16) -> Timestamp {
    midnight(Date::constant(year, 1, 1))
}
