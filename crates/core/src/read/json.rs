//! JSON as JavaScript's `JSON.parse` understands it, borrowed.
//!
//! serde's derived types refuse what JavaScript accepts (duplicate keys, lone surrogates, a number
//! where a string was expected), and one refused field would cost the whole record. So a record is
//! read as its raw fields first, last duplicate winning, and each field is looked at on its own.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer as _, Serialize};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A JavaScript string: UTF-8, except that lone surrogates keep their own three bytes, so that two
/// different ids never become one.
pub type JsStr<'a> = Cow<'a, [u8]>;

/// Where and why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    pub column: usize,
    pub reason: String,
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
        Self { column: error.column(), reason }
    }
}

/// Checks that `text` is one JSON value, however deep it nests.
pub fn check(text: &str) -> Result<(), Malformed> {
    Ok(serde_json::from_str::<IgnoredAny>(text).map(|_| ())?)
}

/// Calls `field` with each key and value of the object `text`, in order, duplicates included.
pub fn each_field<'a>(
    text: &'a str,
    mut field: impl FnMut(JsStr<'a>, &'a RawValue),
) -> Result<(), Malformed> {
    fields(text, None, |key, value| {
        if let Field::Raw(value) = value {
            field(key, value);
        }
    })
}

/// A value of an object.
pub enum Field<'a> {
    Raw(&'a RawValue),
    /// The elements of the array under the key that was asked for.
    List(Vec<&'a RawValue>),
}

/// The same, and takes the array under the key `list` apart on the way, for it may be most of the
/// text. A list that is no array is a raw value like the others.
pub fn each_field_and_list<'a>(
    text: &'a str,
    list: &[u8],
    mut field: impl FnMut(JsStr<'a>, Field<'a>),
) -> Result<(), Malformed> {
    let mut seen = Vec::new();
    if fields(text, Some(list), |key, value| seen.push((key, value))).is_err() {
        seen.clear();
        fields(text, None, |key, value| seen.push((key, value)))?;
    }
    for (key, value) in seen {
        match value {
            Field::Raw(value) if *key == *list && value.get().starts_with('[') => {
                let mut elements = Vec::new();
                each_element(value.get(), |element| elements.push(element))?;
                field(key, Field::List(elements));
            }
            value => field(key, value),
        }
    }
    Ok(())
}

fn fields<'a>(
    text: &'a str,
    list: Option<&[u8]>,
    field: impl FnMut(JsStr<'a>, Field<'a>),
) -> Result<(), Malformed> {
    struct Fields<'l, F>(F, Option<&'l [u8]>);
    impl<'a, F: FnMut(JsStr<'a>, Field<'a>)> Visitor<'a> for Fields<'_, F> {
        /// Whether a key holds a control character, which may stand there raw: our way of reading
        /// keys lets that pass.
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<bool, A::Error> {
            let mut doubtful = false;
            while let Some(JsKey(key)) = map.next_key()? {
                doubtful |= key.iter().any(|byte| *byte < b' ');
                let value = if self.1 == Some(&*key) {
                    Field::List(map.next_value()?)
                } else {
                    Field::Raw(map.next_value()?)
                };
                (self.0)(key, value);
            }
            Ok(doubtful)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let doubtful = deserializer.deserialize_map(Fields(field, list))?;
    deserializer.end()?;
    if doubtful { check(text) } else { Ok(()) }
}

/// Calls `element` with each element of the array `text`.
pub fn each_element<'a>(text: &'a str, element: impl FnMut(&'a RawValue)) -> Result<(), Malformed> {
    struct Elements<F>(F);
    impl<'a, F: FnMut(&'a RawValue)> Visitor<'a> for Elements<F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'a>>(mut self, mut seq: A) -> Result<(), A::Error> {
            while let Some(value) = seq.next_element()? {
                (self.0)(value);
            }
            Ok(())
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_seq(Elements(element))?;
    Ok(deserializer.end()?)
}

/// The string that `raw` is, or `None` when it is another kind of value.
pub fn js_string(raw: &RawValue) -> Option<JsStr<'_>> {
    let text = raw.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    let JsKey(unescaped) = serde_json::from_str(text).ok()?;
    Some(unescaped)
}

/// The same as text; a lone surrogate becomes U+FFFD.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    unescaped(inner).map(Cow::Owned).or_else(|| js_string(raw).map(to_text))
}

/// The text of a string in which no character is written as a number: nearly every one. Its size is
/// known beforehand, and that it is text too, so this takes half the time of the general way.
fn unescaped(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            _ => return None,
        });
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    Some(out)
}

/// The characters of the string that `raw` is, unescaped one by one: for a look at the first words
/// of a long text. A lone surrogate becomes U+FFFD.
pub fn chars(raw: &RawValue) -> Option<impl Iterator<Item = char>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    let mut rest = inner.chars();
    let hex = |rest: &mut std::str::Chars<'_>| {
        let digits = rest.as_str().get(..4)?;
        let unit = u32::from_str_radix(digits, 16).ok()?;
        *rest = rest.as_str()[4..].chars();
        Some(unit)
    };
    Some(std::iter::from_fn(move || {
        let c = rest.next()?;
        if c != '\\' {
            return Some(c);
        }
        Some(match rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let mut unit = hex(&mut rest)?;
                let mut ahead = rest.clone();
                if (0xD800..0xDC00).contains(&unit)
                    && ahead.next() == Some('\\')
                    && ahead.next() == Some('u')
                    && let Some(low @ 0xDC00..0xE000) = hex(&mut ahead)
                {
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    rest = ahead;
                }
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }))
}

pub fn to_text(string: JsStr<'_>) -> Cow<'_, str> {
    match string {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            // A lone surrogate is three bytes here; JavaScript holds it as one unit.
            Err(error) => Cow::Owned(replace_surrogates(error.as_bytes())),
        },
    }
}

fn replace_surrogates(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\u{FFFD}\u{FFFD}\u{FFFD}", "\u{FFFD}")
}

/// What JavaScript's `Boolean(value)` says.
pub fn is_truthy(raw: &RawValue) -> bool {
    match raw.get() {
        "null" | "false" | "\"\"" => false,
        text if text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
            number(text).is_some_and(|n| n != 0.0)
        }
        _ => true,
    }
}

/// A JSON number as JavaScript reads it: out of range is infinite, not an error.
pub fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// A JSON string as its bytes. Unlike `str` this takes lone surrogates; it also takes raw control
/// characters, so its users must look for those.
pub struct JsKey<'a>(pub Cow<'a, [u8]>);

impl<'de: 'a, 'a> Deserialize<'de> for JsKey<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl<'de> Visitor<'de> for BytesVisitor {
            type Value = JsKey<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(JsKey(Cow::Borrowed(bytes)))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(JsKey(Cow::Owned(bytes.to_vec())))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

/// Raw values by their keys, as they are stored: JSON as text.
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
            assert_eq!(string(&raw), js_string(&raw).map(to_text), "{text}");
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
        let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        let (a, b) = (raw(r#""\ud800""#), raw(r#""\ud801""#));
        assert_ne!(js_string(&a), js_string(&b));
        assert_eq!(string(&a).unwrap(), "\u{FFFD}");
        assert_eq!(string(&raw(r#""\ud83e\udd5b""#)).unwrap(), "🥛");
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
            let raw = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(chars(&raw).unwrap().collect::<String>(), string(&raw).unwrap(), "{text}");
        }
    }

    #[test]
    fn truth_as_javascript_has_it() {
        let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        for falsy in ["null", "false", "\"\"", "0", "-0", "0.0", "0e9", "1e-999"] {
            assert!(!is_truthy(&raw(falsy)), "{falsy}");
        }
        for truthy in ["true", "\"0\"", "[]", "{}", "1e999", "-1", "\"\\u0000\""] {
            assert!(is_truthy(&raw(truthy)), "{truthy}");
        }
    }
}
