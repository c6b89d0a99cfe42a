//! Computes the cost of calls by a row of the table.

use std::num::NonZeroU32;

use crate::model::{Bucket, Service, Usage};
use crate::money::{Price, Usd};

use super::row::Row;

const HUNDRED: NonZeroU32 = NonZeroU32::new(100).expect("not zero");

/// The cost of a call at list price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The amount.
    pub usd: Usd,
    /// Whether cached tokens were priced as fresh ones because no cache price is known, so that the
    /// real cost is this or less.
    pub upper_bound: bool,
    /// Whether the prompt was long enough for the tier.
    pub tiered: bool,
}

/// Several calls of one model that are of one class of price: served under the same conditions and on the
/// same side of its tier's limit.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// The sum of their tokens.
    pub usage: Usage,
    /// The conditions under which each was served, with the sum of their searches.
    pub service: Service,
    /// The number of calls.
    pub count: u64,
    /// The number of calls with cached tokens.
    pub caching: u64,
    /// The longest prompt among them, including cached tokens.
    pub prompt: u64,
}

impl Calls {
    /// Returns a single call.
    pub fn one(usage: &Usage, service: Service) -> Self {
        Self {
            usage: *usage,
            service,
            count: 1,
            caching: u64::from(usage.cached > 0),
            prompt: usage.prompt(),
        }
    }
}

/// Prices calls by a row.
///
/// The tier is selected by the whole prompt, including cached tokens, and then applies to the whole
/// request; it is not a bracket. Thoughts, and the excess of the agent's total over its parts, are
/// priced as output; the prompts of tool use as input. The surcharge for the United States applies to
/// tokens, not to searches. It is rounded per price, so that the cost of a sum is the sum of the costs.
pub fn cost(row: &Row, calls: &Calls) -> Cost {
    let Calls { usage, service, prompt, .. } = calls;
    let tier = row.tier.filter(|tier| *prompt > tier.above);
    let (input, output) = tier.map_or((row.input, row.output), |tier| (tier.input, tier.output));
    let cache = tier.and_then(|tier| tier.cache_read).or(row.cache_read);
    let write_5m = tier.and_then(|tier| tier.cache_write_5m).or(row.cache_write_5m);
    let write_1h = tier.and_then(|tier| tier.cache_write_1h).or(row.cache_write_1h);
    let percent = row.us_percent.filter(|_| service.us_only);
    let billed = |price: Price, tokens: u64| match percent {
        Some(percent) => price.times(percent.into(), HUNDRED) * tokens,
        None => price * tokens,
    };
    let price = |bucket: Bucket| match bucket {
        Bucket::Input | Bucket::Tool => input,
        Bucket::Cached => cache.unwrap_or(input),
        Bucket::CacheWrite5m => write_5m.unwrap_or(input),
        Bucket::CacheWrite1h => write_1h.or(write_5m).unwrap_or(input),
        Bucket::Output | Bucket::Thoughts | Bucket::Other => output,
    };
    let usd: Usd =
        Bucket::ALL.into_iter().map(|bucket| billed(price(bucket), usage.get(bucket))).sum();
    // The fee is quoted for a thousand, a price of tokens for a million.
    let searches = row.web_search.unwrap_or_default() * (u64::from(service.searches) * 1000);
    Cost {
        usd: usd + searches,
        upper_bound: cache.is_none() && usage.cached > 0,
        tiered: tier.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pricing::Table;

    fn table(rows: &str) -> Table {
        Table::embedded().with_file(&format!("[{rows}]"), "test.json").unwrap()
    }

    fn of(row: &Row, usage: &Usage) -> Cost {
        cost(row, &Calls::one(usage, Service::default()))
    }

    fn price(table: &Table, model: &str, usage: Usage) -> Cost {
        of(table.lookup(model, None).unwrap().row, &usage)
    }

    fn usage(input: u64, cached: u64) -> Usage {
        Usage { input, cached, ..Usage::default() }
    }

    #[test]
    fn every_bucket_at_its_rate() {
        let table = table(
            r#"{"model": "m", "input": 1, "output": 100, "cache_read": 0.01,
                "cache_write_5m": 1.25, "cache_write_1h": 2}"#,
        );
        let one = |usage| price(&table, "m", usage).usd.pico();
        assert_eq!(one(Usage { input: 1, ..Usage::default() }), 1_000_000);
        assert_eq!(one(Usage { tool: 1, ..Usage::default() }), 1_000_000);
        assert_eq!(one(Usage { cached: 1, ..Usage::default() }), 10_000);
        assert_eq!(one(Usage { output: 1, ..Usage::default() }), 100_000_000);
        assert_eq!(one(Usage { thoughts: 1, ..Usage::default() }), 100_000_000);
        assert_eq!(one(Usage { other: 1, ..Usage::default() }), 100_000_000);
        assert_eq!(one(Usage { cache_write_5m: 1, ..Usage::default() }), 1_250_000);
        assert_eq!(one(Usage { cache_write_1h: 1, ..Usage::default() }), 2_000_000);
        assert_eq!(one(Usage::default()), 0);
    }

    #[test]
    fn each_tier_of_the_table_starts_above_its_limit() {
        let table = Table::embedded();
        let mut tiers = 0;
        for row in table.rows() {
            let Some(tier) = row.tier else {
                assert!(!of(row, &usage(10_000_000, 0)).tiered);
                continue;
            };
            tiers += 1;
            let (at, over) = (of(row, &usage(tier.above, 0)), of(row, &usage(tier.above + 1, 0)));
            assert_eq!((at.usd, at.tiered), (row.input * tier.above, false), "{row:?}");
            assert_eq!((over.usd, over.tiered), (tier.input * (tier.above + 1), true), "{row:?}");
            // Cached tokens count towards the limit; those of tools and output do not.
            assert!(of(row, &usage(1, tier.above)).tiered, "{row:?}");
            let aside = Usage { output: 1 << 30, tool: 1 << 30, ..usage(tier.above, 0) };
            assert!(!of(row, &aside).tiered, "{row:?}");
        }
        assert!(tiers > 26, "{tiers}");
    }

    #[test]
    fn two_hundred_thousand_is_still_the_base_price() {
        let table = Table::embedded();
        let at = |n: u64| price(&table, "gemini-2.5-pro", usage(n - 1000, 1000));
        assert_eq!(at(200_000).usd.to_string(), "0.248875");
        assert_eq!(at(200_001).usd.to_string(), "0.4977525");
    }

    #[test]
    fn without_a_cache_price() {
        let table = table(
            r#"{"model": "none", "input": 1, "output": 2, "above": 10, "tier_input": 3, "tier_output": 4},
               {"model": "base", "input": 1, "output": 2, "cache_read": 0.5, "above": 10, "tier_input": 3,
                "tier_output": 4}"#,
        );
        let got = |model, usage| {
            let cost = price(&table, model, usage);
            (cost.usd.pico(), cost.upper_bound, cost.tiered)
        };
        assert_eq!(got("none", usage(5, 0)), (5_000_000, false, false));
        assert_eq!(got("none", usage(5, 1)), (6_000_000, true, false));
        assert_eq!(got("none", usage(5, 10)), (45_000_000, true, true));
        assert_eq!(got("base", usage(5, 10)), (20_000_000, false, true));
    }

    #[test]
    fn absurd_counts_do_not_overflow() {
        let table = table(r#"{"model": "m", "input": 1000000, "output": 1000000}"#);
        let n = u64::MAX;
        let mut all = Usage::default();
        for bucket in Bucket::ALL {
            *all.get_mut(bucket) = n;
        }
        assert_eq!(price(&table, "m", all).usd.pico(), 8 * i128::from(n) * 10_i128.pow(12));
    }

    /// Prices in thousandths of a dollar per million tokens: input, output, cache read, and the same above 200,000.
    type Mills = [i128; 3];
    const MILLS: [(&str, Mills, Option<Mills>); 5] = [
        ("gemini-2.5-pro", [1250, 10_000, 125], Some([2500, 15_000, 250])),
        ("gemini-2.5-flash", [300, 2500, 30], None),
        ("gemini-2.5-flash-lite", [100, 400, 10], None),
        ("gemini-3-pro-preview", [2000, 12_000, 200], Some([4000, 18_000, 400])),
        ("gemini-3-flash-preview", [500, 3000, 50], None),
    ];
    /// The same prices as a file.
    const PRICES: &str = r#"{"rows": [
        {"model": "gemini-2.5-pro", "input": 1.25, "output": 10.0, "cache_read": 0.125,
         "above": 200000, "tier_input": 2.5, "tier_output": 15.0, "tier_cache_read": 0.25},
        {"model": "gemini-2.5-flash", "input": 0.30, "output": 2.50, "cache_read": 0.03},
        {"model": "gemini-2.5-flash-lite", "input": 0.10, "output": 0.40, "cache_read": 0.01},
        {"model": "gemini-3-pro-preview", "input": 2.0, "output": 12.0, "cache_read": 0.20,
         "above": 200000, "tier_input": 4.0, "tier_output": 18.0, "tier_cache_read": 0.40},
        {"model": "gemini-3-flash-preview", "input": 0.50, "output": 3.0, "cache_read": 0.05}
    ]}"#;

    proptest! {
        /// The same sums without fractions: a thousandth of a dollar per million tokens is a thousand
        /// pico-dollars per token. Here, `input` includes the cached tokens.
        #[test]
        fn sums_are_those_of_a_second_implementation(
            calls in prop::collection::vec(
                (0..5_usize, 0..400_000_u64, 0..=100_u64, 0..70_000_u64, 0..70_000_u64, 0..9000_u64),
                1..40,
            ),
        ) {
            let table = Table::embedded().with_file(PRICES, "prices.json").unwrap();
            let (mut got, mut want) = (Usd::ZERO, 0_i128);
            for (model, input, share, output, thoughts, tool) in calls {
                let (name, flat, long) = MILLS[model];
                let cached = input * share / 100;
                let prices = if input > 200_000 { long.unwrap_or(flat) } else { flat };
                let tokens = [input - cached + tool, output + thoughts, cached].map(i128::from);
                want += tokens.iter().zip(prices).map(|(n, price)| n * price * 1000).sum::<i128>();
                let usage = Usage {
                    input: input - cached,
                    cached,
                    output,
                    thoughts,
                    tool,
                    ..Usage::default()
                };
                got += price(&table, name, usage).usd;
            }
            prop_assert_eq!(got.pico(), want);
        }
    }
}
