//! JavaScript's conversions of values, as far as the loader's behavior depends on them.

use std::borrow::Cow;

use super::{Throws, is_js_space};
use crate::read::json::{self, Raw};
use crate::read::scanner::Scanner;

/// Arrays nested deeper than this overflow the real loader's stack. The exact depth depends on when
/// its functions are compiled; below this it never did.
const DEEPEST: usize = 2000;

/// Evaluates `value.key`: throws for null, and returns `None` where JavaScript has `undefined`.
pub(super) fn member<'a>(value: Raw<'a>, key: &[u8]) -> Result<Option<Raw<'a>>, Throws> {
    match value.get() {
        "null" => Err(Throws),
        text if text.starts_with('{') => {
            let mut found = None;
            // The value comes from valid JSON, so scanning it again cannot fail.
            let _ = json::each_field(text, |name, field| {
                if *name == *key {
                    found = Some(field);
                }
            });
            Ok(found)
        }
        _ => Ok(None),
    }
}

/// A step through a nested array.
pub(super) enum Step<'a> {
    Comma,
    Leaf(Raw<'a>),
}

/// Visits the leaves of a nested array, which must be valid JSON. It is iterative because a file
/// may nest arrays to any depth.
pub(super) fn walk<'a>(
    text: &'a str,
    mut sink: impl FnMut(Step<'a>) -> Result<(), Throws>,
) -> Result<(), Throws> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'[' if depth == DEEPEST => return Err(Throws),
            b'[' => depth += 1,
            b']' => depth -= 1,
            b',' => sink(Step::Comma)?,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                let mut scanner = Scanner::new(&text[at..]);
                let Ok(leaf) = scanner.value() else {
                    return Ok(());
                };
                at += scanner.offset();
                sink(Step::Leaf(leaf))?;
                continue;
            }
        }
        at += 1;
    }
    Ok(())
}

/// Evaluates `String(value)`. Only its beginning is ever used, so objects are not spelled out.
pub(super) fn to_string(raw: Raw<'_>) -> Result<Cow<'_, str>, Throws> {
    if let Some(text) = json::string(raw) {
        return Ok(text);
    }
    match raw.get().as_bytes().first() {
        Some(b'{') => {
            // An own `toString` hides the inherited one and, being data, cannot be called.
            if member(raw, b"toString")?.is_some() {
                return Err(Throws);
            }
            Ok(Cow::Borrowed("[object Object]"))
        }
        Some(b'[') => {
            // An array inside an array is joined the same way, so only the commas count.
            let mut out = String::new();
            walk(raw.get(), |step| {
                match step {
                    Step::Comma => out.push(','),
                    Step::Leaf(leaf) if leaf.get() == "null" => {}
                    Step::Leaf(leaf) => out.push_str(&to_string(leaf)?),
                }
                Ok(())
            })?;
            Ok(Cow::Owned(out))
        }
        _ => Ok(Cow::Borrowed(raw.get())),
    }
}

/// Evaluates `Number(value)`.
pub(super) fn to_number(raw: Raw<'_>) -> Result<f64, Throws> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"' | b'[' | b'{') => {
            let text = to_string(raw)?;
            let text = text.trim_matches(is_js_space);
            Ok(if text.is_empty() { 0.0 } else { string_to_number(text) })
        }
        Some(b't') => Ok(1.0),
        Some(b'f' | b'n') => Ok(0.0),
        _ => Ok(json::number(text).unwrap_or(f64::NAN)),
    }
}

pub(super) fn string_to_number(text: &str) -> f64 {
    // Only the sign is used, so digits beyond the mantissa do not matter.
    #[expect(clippy::cast_precision_loss, reason = "only compared with zero")]
    let radix =
        |digits: &str, radix| u64::from_str_radix(digits, radix).map_or(f64::NAN, |n| n as f64);
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => radix(&text[2..], 16),
            [b'0', b'o' | b'O', ..] => radix(&text[2..], 8),
            [b'0', b'b' | b'B', ..] => radix(&text[2..], 2),
            // Unlike JavaScript, Rust also parses "inf" and "nan".
            bytes if bytes.iter().all(|b| b.is_ascii_digit() || b".eE+-".contains(b)) => {
                text.parse().unwrap_or(f64::NAN)
            }
            _ => f64::NAN,
        },
    }
}
