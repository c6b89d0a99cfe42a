//! Reads `LiteLLM`'s `model_prices_and_context_window.json`: USD per token, by provider and model.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::ServiceClass;
use crate::money::{NotMoney, Price};

use super::error::{PricingError, Unit};
use super::file::{File, Object, price, shown};
use super::row::PriceRow;

const INPUT: &str = "input_cost_per_token";
const OUTPUT: &str = "output_cost_per_token";
const CACHE: &str = "cache_read_input_token_cost";
const WRITE_5M: &str = "cache_creation_input_token_cost";
const WRITE_1H: &str = "cache_creation_input_token_cost_above_1hr";
/// The factors of a vendor's own.
const SPECIAL: &str = "provider_specific_entry";
/// The fees of web searches, in USD per search, by size.
const SEARCH: &str = "search_context_cost_per_query";
/// The classes of service, and the endings of their fields.
const CLASSES: [(ServiceClass, &str); 4] = [
    (ServiceClass::Flex, "_flex"),
    (ServiceClass::Batch, "_batches"),
    (ServiceClass::Priority, "_priority"),
    (ServiceClass::Ultrafast, "_ultrafast"),
];
const HUNDRED: NonZeroU32 = NonZeroU32::new(100).expect("not zero");
const THOUSAND: NonZeroU32 = NonZeroU32::new(1000).expect("not zero");
/// The entry that explains the fields; its prices are zeros.
const SAMPLE: &str = "sample_spec";

/// Returns whether an object is a `LiteLLM` file, in which some entry has one of its fields.
pub(super) fn looks_like(file: &Object) -> bool {
    let fields = [INPUT, OUTPUT, "litellm_provider"];
    file.values().any(|entry| {
        object(entry).is_some_and(|entry| fields.iter().any(|field| entry.contains_key(*field)))
    })
}

/// Reads every entry with token prices. `gemini/X`, the Gemini API, takes precedence over a bare
/// `X`, which is often Vertex, and that over resellers; among equals, the first by name wins.
pub(super) fn read(file: &Object, name: &str) -> Result<File, PricingError> {
    let mut rows: IndexMap<&str, (u8, Vec<PriceRow>)> = IndexMap::new();
    let mut skipped = 0;
    for (key, entry) in file {
        let fields = object(entry).filter(|_| key != SAMPLE).unwrap_or_default();
        let entry = Entry { key, fields: &fields, file: name }.rows()?;
        if entry.is_empty() {
            skipped += usize::from(key != SAMPLE);
            continue;
        }
        let (model, rank) = match key.rsplit_once('/') {
            Some(("gemini", model)) => (model, 0),
            None => (key.as_str(), 1),
            Some((_, model)) => (model, 2),
        };
        let named = |row| PriceRow { model: model.to_owned(), ..row };
        let entry = entry.into_iter().map(named).collect();
        match rows.get_mut(model) {
            Some(known) if known.0 <= rank => {}
            Some(known) => *known = (rank, entry),
            None => {
                rows.insert(model, (rank, entry));
            }
        }
    }
    Ok(File { rows: rows.into_values().flat_map(|(_, rows)| rows).collect(), skipped })
}

fn object(raw: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// An entry of the file, with what error messages need.
struct Entry<'a> {
    key: &'a str,
    fields: &'a Object<'a>,
    file: &'a str,
}

impl Entry<'_> {
    /// Returns the prices of each class of service, or nothing if the entry has none for tokens.
    fn rows(&self) -> Result<Vec<PriceRow>, PricingError> {
        let Some(mut standard) = self.row(ServiceClass::Standard, "")? else { return Ok(vec![]) };
        let special: Option<Special> =
            self.fields.get(SPECIAL).and_then(|raw| serde_json::from_str(raw.get()).ok());
        let special = special.unwrap_or_default();
        standard.us_percent = percent(special.us);
        standard.web_search = self.search_fee()?;
        let fast = percent(special.fast).map(|percent| scaled(&standard, percent.into()));
        let mut rows = vec![standard];
        rows.extend(fast);
        for (class, suffix) in CLASSES {
            let row = self.row(class, suffix)?;
            rows.extend(row.map(|row| PriceRow { us_percent: rows[0].us_percent, ..row }));
        }
        Ok(rows)
    }

    /// Returns the prices in the fields with a suffix.
    fn row(&self, service: ServiceClass, suffix: &str) -> Result<Option<PriceRow>, PricingError> {
        let read = |field: &str| self.price(&format!("{field}{suffix}"), Price::per_token);
        let (Some(input), Some(output)) = (read(INPUT)?, read(OUTPUT)?) else { return Ok(None) };
        let mut row = PriceRow {
            model: self.key.to_owned(),
            service,
            input,
            output,
            cache_read: read(CACHE)?,
            cache_write_5m: read(WRITE_5M)?,
            cache_write_1h: read(WRITE_1H)?,
            above: None,
            tier_input: None,
            tier_output: None,
            tier_cache_read: None,
            tier_cache_write_5m: None,
            tier_cache_write_1h: None,
            us_percent: None,
            web_search: None,
            source: None,
            from: None,
            to: None,
        };
        if let Some((thousands, digits)) = tiers(self.fields, suffix).first_key_value() {
            let above = |field: &str| read(&format!("{field}_above_{digits}k_tokens"));
            row.above = Some(thousands * 1000);
            // `LiteLLM`'s own rule: prices that the tier omits are those below it.
            row.tier_input = Some(above(INPUT)?.unwrap_or(input));
            row.tier_output = Some(above(OUTPUT)?.unwrap_or(output));
            row.tier_cache_read = above(CACHE)?;
            row.tier_cache_write_5m = above(WRITE_5M)?;
            row.tier_cache_write_1h = above(WRITE_1H)?;
        }
        Ok(Some(row))
    }

    /// Returns the fee of a thousand web searches. Only Claude Code records them.
    fn search_fee(&self) -> Result<Option<Price>, PricingError> {
        let provider = self.fields.get("litellm_provider").map(|raw| raw.get());
        let sizes = self.fields.get(SEARCH).filter(|_| provider == Some("\"anthropic\""));
        let sizes = sizes.and_then(|raw| object(raw)).unwrap_or_default();
        let entry = Entry { key: self.key, fields: &sizes, file: self.file };
        let read = |text: &str| Price::per_token(text).map(|fee| fee.times(1, THOUSAND));
        entry.price("search_context_size_medium", read)
    }

    fn price(
        &self,
        field: &str,
        read: impl Fn(&str) -> Result<Price, NotMoney>,
    ) -> Result<Option<Price>, PricingError> {
        let raw = self.fields.get(field).filter(|raw| raw.get() != "null");
        let read = |raw: &&RawValue| {
            price(raw, &read).map_err(|why| PricingError::Price {
                file: self.file.to_owned(),
                model: self.key.to_owned(),
                key: field.to_owned(),
                got: shown(raw),
                why,
                unit: Unit::PerToken,
            })
        };
        raw.map(read).transpose()
    }
}

/// Factors of a vendor's own.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Special {
    us: Option<f64>,
    fast: Option<f64>,
}

/// Returns a factor in percent; `None` for one that cannot be right.
fn percent(factor: Option<f64>) -> Option<u16> {
    let percent = (factor? * 100.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    (1.0..=f64::from(u16::MAX)).contains(&percent).then_some(percent as u16)
}

/// Returns the prices of the fast class.
fn scaled(row: &PriceRow, percent: u32) -> PriceRow {
    let times = |price: Price| price.times(percent, HUNDRED);
    PriceRow {
        service: ServiceClass::Fast,
        input: times(row.input),
        output: times(row.output),
        cache_read: row.cache_read.map(times),
        cache_write_5m: row.cache_write_5m.map(times),
        cache_write_1h: row.cache_write_1h.map(times),
        tier_input: row.tier_input.map(times),
        tier_output: row.tier_output.map(times),
        tier_cache_read: row.tier_cache_read.map(times),
        tier_cache_write_5m: row.tier_cache_write_5m.map(times),
        tier_cache_write_1h: row.tier_cache_write_1h.map(times),
        ..row.clone()
    }
}

/// Returns the limits in an entry's field names, in thousands. A row has room for one, and the
/// lowest is used; in the file of release 1.108.4 no entry has two.
fn tiers<'a>(entry: &'a Object, suffix: &str) -> BTreeMap<u64, &'a str> {
    let limit = |field: &'a String| {
        let (base, rest) = field.split_once("_above_")?;
        // The suffix must be the last: `…_above_200k_tokens_priority` is another service.
        let rest = rest.strip_suffix(suffix)?.strip_suffix("k_tokens");
        let digits = rest.filter(|_| [INPUT, OUTPUT].contains(&base))?;
        let thousands: u64 = digits.parse().ok().filter(|&n| n < 1_000_000)?;
        Some((thousands, digits))
    };
    entry
        .iter()
        .filter(|(_, raw)| raw.get() != "null")
        .filter_map(|(field, _)| limit(field))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::pricing::Table;

    fn load(text: &str) -> Result<Table, String> {
        Table::embedded().with_file(text, "l.json").map_err(|error| error.to_string())
    }

    /// Returns input, output, cache and tier of a model as text.
    fn prices(table: &Table, model: &str) -> String {
        let row = table.lookup(model, None).unwrap().row;
        let cache = row.cache_read.map_or(String::new(), |price| price.to_string());
        let tier = row.tier.map_or(String::new(), |tier| {
            let cache = tier.cache_read.map_or(String::new(), |price| price.to_string());
            format!(" {}: {}/{}/{cache}", tier.above, tier.input, tier.output)
        });
        format!("{}/{}/{cache}{tier}", row.input, row.output)
    }

    #[test]
    fn entries_become_rows() {
        let table = load(
            r#"{
            "sample_spec": {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "max_tokens": "text"},
            "gemini-2.5-pro": {"input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06},
            "gemini/gemini-2.5-pro": {"input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
                "cache_read_input_token_cost": 1.25e-07, "input_cost_per_token_above_200k_tokens": 2.5e-06,
                "output_cost_per_token_above_200k_tokens": 1.5e-05,
                "cache_read_input_token_cost_above_200k_tokens": 2.5e-07,
                "input_cost_per_token_above_200k_tokens_priority": 9, "litellm_provider": "gemini"},
            "openrouter/google/gemini-2.5-pro": {"input_cost_per_token": 8e-06, "output_cost_per_token": 8e-06},
            "azure/m": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
            "other/m": {"input_cost_per_token": 5e-06, "output_cost_per_token": 5e-06},
            "openai/n": {"input_cost_per_token": 5e-06, "output_cost_per_token": 5e-06},
            "n": {"input_cost_per_token": "0.00000001875", "output_cost_per_token": 9.999999999999999e-08,
                "input_cost_per_token_above_272k_tokens": 2e-06, "cache_read_input_token_cost": null},
            "dall-e-2": {"input_cost_per_pixel": 1.9e-08, "output_cost_per_pixel": 0.0},
            "embedding": {"input_cost_per_token": 1e-08},
            "nothing": null, "list": []
        }"#,
        )
        .unwrap();
        let pro = "1.25/10.00/0.125 200000: 2.50/15.00/0.25";
        assert_eq!(prices(&table, "gemini-2.5-pro"), pro);
        assert_eq!(prices(&table, "models/gemini-2.5-pro"), pro);
        assert_eq!(prices(&table, "m"), "1.00/2.00/");
        assert_eq!(prices(&table, "n"), "0.01875/0.10/ 272000: 2.00/0.10/");
        let known = &table.overrides()[0];
        assert_eq!((known.rows, known.skipped), (3, 4));
        for unpriced in ["sample_spec", "dall-e-2", "embedding", "nothing"] {
            assert_eq!(table.lookup(unpriced, None), None, "{unpriced}");
        }
        // It has no dates, so it applies to all of them.
        let rows: Vec<_> = table.rows().filter(|row| row.model == "gemini-2.5-pro").collect();
        assert_eq!((rows.len(), rows[0].overridden, rows[0].from), (1, true, None));
    }

    #[test]
    fn cache_writes_below_and_above_a_limit() {
        let table = load(
            r#"{"m": {"input_cost_per_token": 1e-07, "output_cost_per_token": 5e-07,
            "cache_creation_input_token_cost": 1.25e-07,
            "cache_creation_input_token_cost_above_1hr": 2e-07,
            "input_cost_per_token_above_100k_tokens": 5e-07,
            "output_cost_per_token_above_100k_tokens": 2.5e-06,
            "cache_creation_input_token_cost_above_100k_tokens": 6.25e-07,
            "cache_creation_input_token_cost_above_1hr_above_100k_tokens": 1e-06}}"#,
        )
        .unwrap();
        let row = table.lookup("m", None).unwrap().row;
        let tier = row.tier.unwrap();
        let shown =
            [row.cache_write_5m, row.cache_write_1h, tier.cache_write_5m, tier.cache_write_1h]
                .map(|price| price.unwrap().to_string());
        assert_eq!(
            (tier.above, shown),
            (100_000, ["0.125", "0.20", "0.625", "1.00"].map(str::to_owned))
        );
    }

    #[test]
    fn the_order_in_the_file_does_not_matter() {
        let entry = |key: &str, price: u8| {
            format!(
                r#""{key}": {{"input_cost_per_token": {price}e-6, "output_cost_per_token": 1e-6}}"#
            )
        };
        let entries = [entry("gemini/x", 1), entry("x", 2), entry("vertex_ai/x", 3)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let text = order.map(|i| entries[i].as_str()).join(",");
            assert_eq!(prices(&load(&format!("{{{text}}}")).unwrap(), "x"), "1.00/1.00/");
        }
    }

    #[test]
    fn the_lowest_of_two_limits() {
        let text = r#"{"x": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6,
            "output_cost_per_token_above_256k_tokens": 4e-6, "input_cost_per_token_above_128k_tokens": 2e-6,
            "input_cost_per_token_above_32k_tokens": null}}"#;
        assert_eq!(prices(&load(text).unwrap(), "x"), "1.00/1.00/ 128000: 2.00/1.00/");
    }

    #[test]
    fn entries_that_are_wrong() {
        let entry = |fields: &str| {
            format!(r#"{{"gemini/x": {{"output_cost_per_token": 1e-6, {fields}}}}}"#)
        };
        let cases = [
            (r#""input_cost_per_token": -1e-6"#, "`input_cost_per_token` is `-1e-6`: negative"),
            (
                r#""input_cost_per_token": "NaN""#,
                "`input_cost_per_token` is `\"NaN\"`: not a number",
            ),
            (r#""input_cost_per_token": [1]"#, "`input_cost_per_token` is `[1]`: not a number"),
            (
                r#""input_cost_per_token": 1.25"#,
                "`input_cost_per_token` is `1.25`: too large (are the units",
            ),
            (
                r#""input_cost_per_token": 1e-6, "input_cost_per_token_above_200k_tokens": false"#,
                "`input_cost_per_token_above_200k_tokens` is `false`: not a number",
            ),
        ];
        for (fields, want) in cases {
            let error = load(&entry(fields)).unwrap_err();
            assert!(error.starts_with(&format!("`l.json`: `gemini/x`: {want}")), "{error}");
            assert!(
                error.ends_with("; expected USD per token as a number, such as 1.25e-06"),
                "{error}"
            );
        }
    }

    #[test]
    fn no_entry_with_prices() {
        let text = r#"{"a": {"litellm_provider": "x"}, "b": {"input_cost_per_token": null}}"#;
        let want = "`l.json` has no price in it (2 entries without prices of tokens)";
        assert_eq!(load(text).unwrap_err(), want);
        assert!(
            load(r#"{"a": {"litellm_provider": "x"}}"#)
                .unwrap_err()
                .ends_with("(1 entry without prices of tokens)")
        );
    }
}
