//! Reads JSON as JavaScript's `JSON.parse` does, without copying.
//!
//! serde's derived types reject texts that JavaScript accepts (duplicate keys, lone surrogates, a
//! number where a string was expected), and one rejected field would cost the whole record. A
//! record is therefore first read as its raw fields, with the last duplicate winning, and each
//! field is parsed separately.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scanner::{Invalid, Scanner};

/// A JavaScript string: UTF-8, except that lone surrogates are encoded in three bytes, so that two
/// different ids never become equal.
pub type JsStr<'a> = Cow<'a, [u8]>;

/// A JSON value as written, without surrounding white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Parses `text`, which must be a single value.
    pub fn new(text: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value().ok()?;
        scanner.end().ok()?;
        Some(value)
    }

    /// Wraps a text that the scanner has found to be a value.
    pub(super) fn scanned(text: &'a str) -> Self {
        Self(text)
    }

    /// Borrows a raw value.
    pub fn of(value: &'a RawValue) -> Self {
        Self(value.get())
    }

    /// Returns the text of the value.
    pub fn get(self) -> &'a str {
        self.0
    }

    /// Returns the text between the quotes of a string.
    fn inner(self) -> Option<&'a str> {
        self.0.strip_prefix('"')?.strip_suffix('"')
    }

    /// Copies the value.
    pub fn boxed(self) -> Box<RawValue> {
        // It is valid JSON, so the fallback is never used.
        RawValue::from_string(self.0.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

/// The position and the reason of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    /// The column, counted from 1; 0 if it is unknown.
    pub column: usize,
    /// The reason.
    pub reason: String,
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
        Self { column: error.column(), reason }
    }
}

/// Checks that `text` is one JSON value, however deeply it nests.
pub fn check(text: &str) -> Result<(), Malformed> {
    Ok(serde_json::from_str::<IgnoredAny>(text).map(|_| ())?)
}

/// Scans the whole of `text` with `pass`. Returns the syntax error if that fails.
pub fn scan<'a, T>(
    text: &'a str,
    pass: impl FnOnce(&mut Scanner<'a>) -> Result<T, Invalid>,
) -> Result<T, Malformed> {
    let mut scanner = Scanner::new(text);
    let passed = pass(&mut scanner).and_then(|got| scanner.end().map(|()| got));
    passed.map_err(|Invalid| {
        let other = || Malformed { column: 0, reason: "another kind of value".to_owned() };
        check(text).err().unwrap_or_else(other)
    })
}

/// Calls `field` with each key and value of the object `text`, in order, duplicates included.
pub fn each_field<'a>(
    text: &'a str,
    mut field: impl FnMut(JsStr<'a>, Raw<'a>),
) -> Result<(), Malformed> {
    scan(text, |scanner| {
        scanner.fields(|scanner, key| {
            field(key, scanner.value()?);
            Ok(())
        })
    })
}

/// Returns the elements of an array that is known to be valid.
pub fn elements(array: &str) -> Vec<Raw<'_>> {
    let mut out = Vec::new();
    let _ = each_element(array, |element| out.push(element));
    out
}

/// Calls `element` with each element of the array `text`.
pub fn each_element<'a>(text: &'a str, mut element: impl FnMut(Raw<'a>)) -> Result<(), Malformed> {
    scan(text, |scanner| {
        scanner.elements(|scanner| {
            element(scanner.value()?);
            Ok(())
        })
    })
}

/// Returns the string that `raw` is, or `None` if it is another type of value.
pub fn js_string(raw: Raw<'_>) -> Option<JsStr<'_>> {
    let inner = raw.inner()?;
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else {
        return Some(Cow::Borrowed(inner.as_bytes()));
    };
    let (plain, mut rest) = inner.split_at(first);
    let mut out = plain.as_bytes().to_vec();
    while let Some(c) = next_char(&mut rest) {
        match c {
            Ok(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(unit) => {
                let [high, low] = unit.to_be_bytes();
                out.extend([0xED, 0x80 | (high & 0xF) << 2 | low >> 6, 0x80 | low & 0x3F]);
            }
        }
    }
    Some(Cow::Owned(out))
}

/// Returns the string that `raw` is as text; a lone surrogate becomes U+FFFD.
pub fn string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let inner = raw.inner()?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    push_string(raw, &mut out);
    Some(Cow::Owned(out))
}

/// Appends the text of a string to `out`.
pub fn push_string(raw: Raw<'_>, out: &mut String) {
    let mut rest = raw.inner().unwrap_or_default();
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        out.extend(next_char(&mut rest).map(or_replacement));
    }
    out.push_str(rest);
}

/// Returns the characters of the string that `raw` is, unescaped one by one, for reading only the
/// beginning of a long text. A lone surrogate becomes U+FFFD.
pub fn chars(raw: Raw<'_>) -> Option<impl Iterator<Item = char>> {
    let mut rest = raw.inner()?;
    Some(std::iter::from_fn(move || next_char(&mut rest).map(or_replacement)))
}

fn or_replacement(c: Result<char, u16>) -> char {
    c.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Takes the first character of the rest of a string, unescaped, or a lone surrogate.
#[inline]
fn next_char(rest: &mut &str) -> Option<Result<char, u16>> {
    let byte = *rest.as_bytes().first()?;
    if !byte.is_ascii() || byte == b'\\' {
        return next_rare_char(rest);
    }
    *rest = &rest[1..];
    Some(Ok(char::from(byte)))
}

fn next_rare_char(rest: &mut &str) -> Option<Result<char, u16>> {
    let mut chars = rest.chars();
    let c = match chars.next()? {
        '\\' => match chars.next()? {
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'u' => {
                let high = hex(&mut chars)?;
                let mut ahead = chars.clone();
                if (0xD800..0xDC00).contains(&high)
                    && ahead.next() == Some('\\')
                    && ahead.next() == Some('u')
                    && let Some(low @ 0xDC00..0xE000) = hex(&mut ahead)
                {
                    chars = ahead;
                    let pair = 0x10000 + (u32::from(high - 0xD800) << 10) + u32::from(low - 0xDC00);
                    char::from_u32(pair).ok_or(high)
                } else {
                    char::from_u32(u32::from(high)).ok_or(high)
                }
            }
            other => Ok(other),
        },
        plain => Ok(plain),
    };
    *rest = chars.as_str();
    Some(c)
}

fn hex(chars: &mut std::str::Chars<'_>) -> Option<u16> {
    let unit = u16::from_str_radix(chars.as_str().get(..4)?, 16).ok()?;
    *chars = chars.as_str()[4..].chars();
    Some(unit)
}

/// Converts a string to text; a lone surrogate becomes U+FFFD.
pub fn to_text(string: JsStr<'_>) -> Cow<'_, str> {
    match string {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            // A lone surrogate has three bytes here, but is one unit in JavaScript.
            Err(error) => Cow::Owned(replace_surrogates(error.as_bytes())),
        },
    }
}

fn replace_surrogates(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\u{FFFD}\u{FFFD}\u{FFFD}", "\u{FFFD}")
}

/// Returns JavaScript's `Boolean(value)`.
pub fn is_truthy(raw: Raw<'_>) -> bool {
    match raw.get() {
        "null" | "false" | "\"\"" => false,
        text if text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
            number(text).is_some_and(|n| n != 0.0)
        }
        _ => true,
    }
}

/// Parses a number as JavaScript does: out of range is infinite, not an error.
pub fn number(text: &str) -> Option<f64> {
    // Counts are small integers; so few digits are exact.
    if text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        return Some(text.bytes().fold(0, |n, byte| n * 10 + u64::from(byte - b'0')) as f64);
    }
    text.parse().ok()
}

/// Parses a number without sign, fraction or exponent. Returns `None` if it is too large.
pub fn natural(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Serializes maps of raw values as JSON texts.
pub(crate) mod raw_map {
    use std::hash::Hash;

    use indexmap::IndexMap;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::value::RawValue;

    pub(crate) fn serialize<K: Serialize, S: Serializer>(
        map: &IndexMap<K, Box<RawValue>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let texts: Vec<(&K, &str)> = map.iter().map(|(key, raw)| (key, raw.get())).collect();
        texts.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, K, D>(
        deserializer: D,
    ) -> Result<IndexMap<K, Box<RawValue>>, D::Error>
    where
        K: Deserialize<'de> + Hash + Eq,
        D: Deserializer<'de>,
    {
        let texts = Vec::<(K, String)>::deserialize(deserializer)?;
        let raw = |(key, text)| Ok((key, RawValue::from_string(text).map_err(D::Error::custom)?));
        texts.into_iter().map(raw).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Result<Vec<(String, String)>, Malformed> {
        let mut out = Vec::new();
        each_field(text, |key, value| {
            out.push((to_text(key).into_owned(), value.get().to_owned()));
        })?;
        Ok(out)
    }

    #[test]
    fn fields_in_order_with_duplicates_and_escaped_keys() {
        let got = fields(r#"{"a":1,"\u0061":[2],"\ud800":"x"}"#).unwrap();
        let got: Vec<_> = got.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(got, [("a", "1"), ("a", "[2]"), ("\u{FFFD}", "\"x\"")]);
        assert!(fields("{\"a\\n\":1}").is_ok());
        assert!(fields("{\"a\n\":1}").is_err());
    }

    #[test]
    fn both_ways_to_unescape_agree() {
        for text in [
            r#""""#,
            r#""a\nb\t\"\\\/\b\f\r""#,
            r#""\u0041\n""#,
            r#""é\n\ud83d\ude00""#,
            r#""\ud800\n""#,
        ] {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            let raw = Raw::of(&raw);
            assert_eq!(string(raw), js_string(raw).map(to_text), "{text}");
        }
    }

    #[test]
    fn what_json_parse_refuses() {
        for bad in [
            "{\"a\":1}x",
            "{\"a\":\"\t\"}",
            "\u{FEFF}{}",
            "\u{A0}{}",
            "{a:1}",
            "{\"a\":01}",
            "{",
            "[1,]",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn deep_nesting_is_no_error() {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(fields(&deep).unwrap().len(), 1);
    }

    #[test]
    fn lone_surrogates_stay_apart() {
        let raw = |text: &'static str| Raw::new(text).unwrap();
        let (a, b) = (raw(r#""\ud800""#), raw(r#""\ud801""#));
        assert_ne!(js_string(a), js_string(b));
        assert_eq!(string(a).unwrap(), "\u{FFFD}");
        assert_eq!(string(raw(r#""\ud83e\udd5b""#)).unwrap(), "🥛");
    }

    #[test]
    fn characters_one_by_one() {
        for text in [
            r#""""#,
            r#""a\n\t\"\\\/\b\f\r""#,
            r#""é🥛\u00e9""#,
            r#""\ud83e\udd5b x""#,
            r#""\ud83d""#,
            r#""\ud83d\n""#,
            r#""\ude00\ud83d\ud83e\udd5b""#,
        ] {
            let raw = Raw::new(text).unwrap();
            let got = chars(raw).unwrap().collect::<String>();
            assert_eq!(got, string(raw).unwrap(), "{text}");
            assert_eq!(got, to_text(js_string(raw).unwrap()), "{text}");
            if let Ok(want) = serde_json::from_str::<String>(text) {
                assert_eq!(got, want, "{text}");
            }
        }
    }

    #[test]
    fn natural_numbers_are_those_of_the_standard_library() {
        for text in
            ["0", "7", "18446744073709551615", "18446744073709551616", "-1", "1.5", "1e3", "null"]
        {
            assert_eq!(natural(text.as_bytes()), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn truth_as_javascript_has_it() {
        let raw = |text: &'static str| Raw::new(text).unwrap();
        for falsy in ["null", "false", "\"\"", "0", "-0", "0.0", "0e9", "1e-999"] {
            assert!(!is_truthy(raw(falsy)), "{falsy}");
        }
        for truthy in ["true", "\"0\"", "[]", "{}", "1e999", "-1", "\"\\u0000\""] {
            assert!(is_truthy(raw(truthy)), "{truthy}");
        }
    }
}
