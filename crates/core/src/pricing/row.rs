//! Defines one price of one model, as written and as used.

use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::model::ServiceClass;
use crate::money::Price;

/// A row as written in the config file, in a price file and in the embedded table. Prices are in
/// USD per million tokens, as numbers or strings.
///
/// `P` is [`Price`] everywhere but inside the JSON reader, which needs the digits themselves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRow<P = Price> {
    /// The name of the model.
    pub model: String,
    /// The class of service that it prices.
    #[serde(default)]
    pub service: ServiceClass,
    /// The price of fresh input.
    pub input: P,
    /// The price of output.
    pub output: P,
    /// The price of input read from the cache.
    pub cache_read: Option<P>,
    /// The price of input written to the cache for 5 minutes.
    pub cache_write_5m: Option<P>,
    /// The price of input written to the cache for an hour.
    pub cache_write_1h: Option<P>,
    /// The prompt size, including cached tokens, above which the `tier_` prices apply.
    pub above: Option<u64>,
    /// The price of fresh input in the tier.
    pub tier_input: Option<P>,
    /// The price of output in the tier.
    pub tier_output: Option<P>,
    /// The price of input read from the cache in the tier.
    pub tier_cache_read: Option<P>,
    /// The price of input written to the cache for 5 minutes in the tier.
    pub tier_cache_write_5m: Option<P>,
    /// The price of input written to the cache for an hour in the tier.
    pub tier_cache_write_1h: Option<P>,
    /// The percentage of its prices that a request costs if it must be served in the United States.
    pub us_percent: Option<u16>,
    /// The fee of 1,000 web searches.
    pub web_search: Option<P>,
    /// The source of the prices.
    pub source: Option<String>,
    /// The first day, in UTC.
    #[serde(default, deserialize_with = "date")]
    pub from: Option<Date>,
    /// The day after the last, which is the `from` of the following row.
    #[serde(default, deserialize_with = "date")]
    pub to: Option<Date>,
}

/// A price that applies to a range of days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name of the model.
    pub model: String,
    /// The class of service that it prices.
    pub service: ServiceClass,
    /// The first day, in UTC. The first row of a model also applies before it.
    pub from: Option<Date>,
    /// The first day of the following row.
    pub to: Option<Date>,
    /// The price of fresh input.
    pub input: Price,
    /// The price of output.
    pub output: Price,
    /// The price of input read from the cache.
    pub cache_read: Option<Price>,
    /// The price of input written to the cache for 5 minutes.
    pub cache_write_5m: Option<Price>,
    /// The price of input written to the cache for an hour.
    pub cache_write_1h: Option<Price>,
    /// The prices of long prompts.
    pub tier: Option<Tier>,
    /// The percentage of its prices that a request costs if it must be served in the United States.
    pub us_percent: Option<u16>,
    /// The fee of 1,000 web searches.
    pub web_search: Option<Price>,
    /// The source of the prices: the id of one of the table's sources, or any text of the user's.
    pub source: Option<String>,
    /// Whether it is the user's own.
    pub overridden: bool,
}

/// The prices of a request whose prompt is longer than `above` tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tier {
    /// The limit in tokens.
    pub above: u64,
    /// The price of fresh input.
    pub input: Price,
    /// The price of output.
    pub output: Price,
    /// The price of input read from the cache.
    pub cache_read: Option<Price>,
    /// The price of input written to the cache for 5 minutes.
    pub cache_write_5m: Option<Price>,
    /// The price of input written to the cache for an hour.
    pub cache_write_1h: Option<Price>,
}

impl PriceRow {
    /// Checks the consistency of the fields. The error is a description of the problem.
    pub(super) fn into_row(self, overridden: bool) -> Result<Row, &'static str> {
        if self.model.trim().is_empty() {
            return Err("`model` is empty");
        }
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            return Err("`to` is the day after the last one and must be later than `from`");
        }
        let caches = [self.tier_cache_read, self.tier_cache_write_5m, self.tier_cache_write_1h];
        let tier = match (self.above, self.tier_input, self.tier_output) {
            (Some(above), Some(input), Some(output)) => {
                let [cache_read, cache_write_5m, cache_write_1h] = caches;
                Some(Tier { above, input, output, cache_read, cache_write_5m, cache_write_1h })
            }
            (None, None, None) if caches.iter().all(Option::is_none) => None,
            // Half a tier would price a request partly by made-up numbers.
            _ => return Err("a tier needs `above`, `tier_input` and `tier_output` together"),
        };
        Ok(Row {
            model: self.model,
            service: self.service,
            from: self.from,
            to: self.to,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            tier,
            us_percent: self.us_percent,
            web_search: self.web_search,
            source: self.source,
            overridden,
        })
    }
}

impl<P> PriceRow<P> {
    /// Converts every price with `read`, which gets the model, the key and the price.
    pub(super) fn read<Q, E>(
        self,
        mut read: impl FnMut(&str, &'static str, P) -> Result<Q, E>,
    ) -> Result<PriceRow<Q>, E> {
        let model = self.model;
        let mut maybe = |key, price: Option<P>| price.map(|p| read(&model, key, p)).transpose();
        let cache_read = maybe("cache_read", self.cache_read)?;
        let cache_write_5m = maybe("cache_write_5m", self.cache_write_5m)?;
        let cache_write_1h = maybe("cache_write_1h", self.cache_write_1h)?;
        let tier_input = maybe("tier_input", self.tier_input)?;
        let tier_output = maybe("tier_output", self.tier_output)?;
        let tier_cache_read = maybe("tier_cache_read", self.tier_cache_read)?;
        let tier_cache_write_5m = maybe("tier_cache_write_5m", self.tier_cache_write_5m)?;
        let tier_cache_write_1h = maybe("tier_cache_write_1h", self.tier_cache_write_1h)?;
        let web_search = maybe("web_search", self.web_search)?;
        Ok(PriceRow {
            input: read(&model, "input", self.input)?,
            output: read(&model, "output", self.output)?,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            above: self.above,
            tier_input,
            tier_output,
            tier_cache_read,
            tier_cache_write_5m,
            tier_cache_write_1h,
            us_percent: self.us_percent,
            web_search,
            source: self.source,
            service: self.service,
            from: self.from,
            to: self.to,
            model,
        })
    }
}

/// Parses a date in a string. jiff's own parser would accept a time as well, and drop it.
fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Date>, D::Error> {
    struct Day;
    impl de::Visitor<'_> for Day {
        type Value = Option<Date>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a date in quotes, such as \"2026-01-17\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let day = text.parse().ok().filter(|_| text.len() == "2026-01-17".len());
            day.map(Some).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    from.deserialize_any(Day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(json: &str) -> Result<Row, String> {
        let row: PriceRow = serde_json::from_str(json).map_err(|error| error.to_string())?;
        row.into_row(true).map_err(str::to_owned)
    }

    #[test]
    fn a_full_row() {
        let row = row(
            r#"{"model": "m", "input": 1.25, "output": "10", "cache_read": 0.125, "cache_write_1h": 2,
            "above": 200000, "tier_cache_write_5m": 3, "tier_input": 2.5, "tier_output": 15, "tier_cache_read": "0.25",
            "web_search": 10, "source": "a contract", "from": "2026-01-17", "to": null}"#,
        )
        .unwrap();
        let json = serde_json::to_value(&row).unwrap();
        let want = serde_json::json!({"model": "m", "service": "standard", "from": "2026-01-17", "to": null,
            "input": "1.25", "output": "10.00", "cache_read": "0.125", "cache_write_5m": null,
            "cache_write_1h": "2.00", "overridden": true, "us_percent": null, "web_search": "10.00",
            "source": "a contract",
            "tier": {"above": 200_000, "input": "2.50", "output": "15.00", "cache_read": "0.25",
                "cache_write_5m": "3.00", "cache_write_1h": null}});
        assert_eq!(json, want);
    }

    #[test]
    fn what_a_row_must_be() {
        let cases = [
            (r#"{"model": " ", "input": 1, "output": 2}"#, "`model` is empty"),
            (r#"{"model": "m", "input": 1}"#, "missing field `output`"),
            (r#"{"model": "m", "input": 1, "output": 2, "cache": 1}"#, "unknown field `cache`"),
            (r#"{"model": "m", "input": 1, "output": 2, "above": 9}"#, "a tier needs"),
            (
                r#"{"model": "m", "input": 1, "output": 2, "above": 9, "tier_input": 1}"#,
                "a tier needs",
            ),
            (r#"{"model": "m", "input": 1, "output": 2, "tier_cache_read": 1}"#, "a tier needs"),
            (
                r#"{"model": "m", "input": 1, "output": 2, "tier_cache_write_1h": 1}"#,
                "a tier needs",
            ),
            (r#"{"model": "m", "input": 1, "output": 2, "above": -9}"#, "invalid value"),
            (
                r#"{"model": "m", "input": 1, "output": -2}"#,
                "`-2` is not a price in USD per million",
            ),
            (r#"{"model": "m", "input": 1, "output": 2, "from": "May"}"#, "a date in quotes"),
            (
                r#"{"model": "m", "input": 1, "output": 2, "from": {"x": "2026-01-17"}}"#,
                "a date in quotes",
            ),
            (
                r#"{"model": "m", "input": 1, "output": 2, "to": "2026-01-17T10:00"}"#,
                "a date in quotes",
            ),
            (
                r#"{"model": "m", "input": 1, "output": 2, "from": "2026-01-17", "to": "2026-01-17"}"#,
                "must be later than `from`",
            ),
        ];
        for (json, want) in cases {
            let got = row(json).unwrap_err();
            assert!(got.contains(want), "{json}: {got}");
        }
    }
}
