//! Reads price files of the user, in our own format or `LiteLLM`'s.
//!
//! JSON numbers are read as text. As serde's floats they would be rounded to the nearest binary
//! fraction, and `serde_json`'s fast path can even miss that one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::money::{NotMoney, Price};

use super::error::{PricingError, Unit};
use super::litellm;
use super::row::PriceRow;

/// The keys of a JSON object, with their values as written.
pub(super) type Object<'a> = BTreeMap<String, &'a RawValue>;

/// The contents of a price file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) rows: Vec<PriceRow>,
    /// Entries without token prices.
    pub(super) skipped: usize,
}

/// Reads a file in either format.
pub(super) fn read(text: &str, name: &str) -> Result<File, PricingError> {
    // Editors on Windows add a byte order mark, which JSON does not allow.
    let text = text.trim_start_matches('\u{feff}');
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| PricingError::NotJson {
        file: name.to_owned(),
        cause: error.to_string(),
    })?;
    let own = || own_rows(text, name).map(|rows| File { rows, skipped: 0 });
    let neither =
        |found: &str| PricingError::Neither { file: name.to_owned(), found: found.to_owned() };
    match whole.get().as_bytes().first() {
        Some(b'[') => own(),
        Some(b'{') => {
            let object: Object = serde_json::from_str(text).unwrap_or_default();
            // A model may be called `rows`; its entry would be an object.
            if object.get("rows").is_some_and(|rows| !rows.get().starts_with('{')) {
                own()
            } else if litellm::looks_like(&object) {
                litellm::read(&object, name)
            } else {
                let keys: Vec<String> =
                    object.keys().take(3).map(|key| format!("`{key}`")).collect();
                Err(neither(&match keys.as_slice() {
                    [] => "an empty object".to_owned(),
                    _ if object.len() > keys.len() => format!("the keys {}, …", keys.join(", ")),
                    _ => format!("the keys {}", keys.join(", ")),
                }))
            }
        }
        Some(b'"') => Err(neither("a string")),
        Some(b'n') => Err(neither("null")),
        Some(b't' | b'f') => Err(neither("true or false")),
        _ => Err(neither("a number")),
    }
}

/// Reads our own format: a list of rows, or an object with the list under `rows`.
///
/// Other keys of the object are for people (`about`, `date`). A misspelt key cannot be overlooked
/// among them, because all prices are in rows, and those are strict.
pub(super) fn own_rows(text: &str, name: &str) -> Result<Vec<PriceRow>, PricingError> {
    type Rows<'a> = Vec<PriceRow<&'a RawValue>>;
    #[derive(Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        rows: Rows<'a>,
    }
    let rows = if text.trim_start().starts_with('[') {
        serde_json::from_str::<Rows>(text)
    } else {
        serde_json::from_str::<Document>(text).map(|document| document.rows)
    };
    let rows = rows
        .map_err(|error| PricingError::Form { file: name.to_owned(), cause: error.to_string() })?;
    let read = |model: &str, key: &'static str, raw: &RawValue| {
        price(raw, Price::per_million).map_err(|why| PricingError::Price {
            file: name.to_owned(),
            model: model.to_owned(),
            key: key.to_owned(),
            got: shown(raw),
            why,
            unit: Unit::PerMillion,
        })
    };
    rows.into_iter().map(|row| row.read(read)).collect()
}

/// Reads a price from a JSON number, or from a string that contains one.
pub(super) fn price(
    raw: &RawValue,
    read: impl Fn(&str) -> Result<Price, NotMoney>,
) -> Result<Price, NotMoney> {
    if raw.get().starts_with('"') {
        let text: String = serde_json::from_str(raw.get()).map_err(|_| NotMoney::NotANumber)?;
        read(text.trim())
    } else {
        read(raw.get())
    }
}

/// Returns the beginning of a value, for a message.
pub(super) fn shown(raw: &RawValue) -> String {
    let mut chars = raw.get().chars();
    let start: String =
        chars.by_ref().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() { format!("`{start}…`") } else { format!("`{start}`") }
}

#[cfg(test)]
mod tests {
    use crate::pricing::Table;

    fn load(text: &str) -> Result<Table, String> {
        Table::embedded().with_file(text, "p.json").map_err(|error| error.to_string())
    }

    #[test]
    fn our_form() {
        let row = r#"{"model": "m", "input": 0.01875, "output": "1e-1", "cache_read": null}"#;
        let forms = [
            format!("[{row}]"),
            format!(" \n{{\"rows\": [{row}]}}\n"),
            format!("\u{feff}{{\"about\": \"mine\", \"rows\": [{row}]}}"),
        ];
        for text in forms {
            let table = load(&text).unwrap();
            let found = table.lookup("m", None).unwrap().row;
            assert_eq!((found.input.pico(), found.output.pico()), (18_750, 100_000), "{text}");
            assert!(found.overridden && found.cache_read.is_none());
            assert_eq!((table.overrides()[0].rows, table.overrides()[0].skipped), (1, 0));
        }
    }

    #[test]
    fn more_digits_than_a_float_has() {
        let text =
            r#"[{"model": "m", "input": 123456.7890123, "output": 0.300000500000000000000001}]"#;
        let table = load(text).unwrap();
        let row = table.lookup("m", None).unwrap().row;
        assert_eq!((row.input.pico(), row.output.pico()), (123_456_789_012, 300_001));
    }

    #[test]
    fn files_that_are_no_price_files() {
        let form = "is not a price file: expected `{\"rows\": [{\"model\": …, \"input\": …, \"output\": …}]}` in USD \
             per million tokens, or LiteLLM's JSON with `input_cost_per_token`; found ";
        let cases = [
            ("", "is not JSON: EOF while parsing a value at line 1 column 0".to_owned()),
            ("[prices]\nx = 1", "is not JSON: expected value at line 1 column 2".to_owned()),
            ("[{\"model\": \"m\", \"input\": NaN, \"output\": 1}]", "is not JSON: ".to_owned()),
            ("{}", format!("{form}an empty object")),
            ("3", format!("{form}a number")),
            ("-3", format!("{form}a number")),
            ("null", format!("{form}null")),
            ("true", format!("{form}true or false")),
            ("\"rows\"", format!("{form}a string")),
            (r#"{"m": {"input": 1}}"#, format!("{form}the keys `m`")),
            (r#"{"a": 1, "b": 2, "c": 3, "d": 4}"#, format!("{form}the keys `a`, `b`, `c`, …")),
            ("[]", "has no price in it".to_owned()),
            ("{\"rows\": []}", "has no price in it".to_owned()),
        ];
        for (text, want) in cases {
            let error = load(text).unwrap_err();
            assert!(error.starts_with(&format!("`p.json` {want}")), "{text}: {error}");
        }
    }

    #[test]
    fn rows_that_are_wrong() {
        let expected = "; expected USD per million tokens as a number, such as 1.25";
        let cases = [
            (r#"[{"model": "m", "input": -1, "output": 2}]"#, "`m`: `input` is `-1`: negative"),
            (
                r#"[{"model": "m", "input": 1, "output": "NaN"}]"#,
                "`m`: `output` is `\"NaN\"`: not a number",
            ),
            (
                r#"[{"model": "m", "input": 1, "output": null}]"#,
                "`m`: `output` is `null`: not a number",
            ),
            (
                r#"[{"model": "m", "input": {"a": 1}, "output": 2}]"#,
                "`m`: `input` is `{\"a\": 1}`: not a",
            ),
            (
                r#"[{"model": "m", "input": 1, "output": 2, "cache_read": true}]"#,
                "`m`: `cache_read` is `true`: not a number",
            ),
            (
                r#"[{"model": "m", "input": 1, "output": 2, "above": 9, "tier_input": 1e9, "tier_output": 1}]"#,
                "`m`: `tier_input` is `1e9`: too large",
            ),
        ];
        for (text, want) in cases {
            let error = load(text).unwrap_err();
            assert!(error.starts_with(&format!("`p.json`: {want}")), "{text}: {error}");
            assert!(error.ends_with(expected), "{error}");
        }
        let long = format!(r#"[{{"model": "m", "input": 1, "output": "{}"}}]"#, "é".repeat(99));
        assert!(load(&long).unwrap_err().contains(&format!("`\"{}…`", "é".repeat(39))));

        let cases = [
            ("{\"rows\": 3}", "invalid type: integer `3`, expected a sequence at line 1 column 10"),
            (
                "[\n{\"model\": \"m\", \"inptu\": 1}]",
                "unknown field `inptu`, expected one of `model`, ",
            ),
            ("[{\"model\": \"m\", \"input\": 1}]", "missing field `output` at line 1 column 27"),
            (
                "[{\"model\": 3, \"input\": 1, \"output\": 1}]",
                "invalid type: integer `3`, expected a string",
            ),
            ("[{\"model\": \"\", \"input\": 1, \"output\": 1}]", "``: `model` is empty"),
            (
                "[{\"model\": \"m\", \"input\": 1, \"output\": 1, \"above\": 5}]",
                "`m`: a tier needs `above`, `tier_input` and `tier_output` together",
            ),
        ];
        for (text, want) in cases {
            let error = load(text).unwrap_err();
            assert!(error.starts_with(&format!("`p.json`: {want}")), "{text}: {error}");
        }
    }
}
