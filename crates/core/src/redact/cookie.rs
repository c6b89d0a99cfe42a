//! Finds random values among cookies: `Cookie: lang=en; sid=…; csrf=…`.

use std::ops::Range;

use super::form::has_entropy;
use super::separator::count;
use super::value::{Value, fits};

/// The maximum length of the name of a cookie.
const LONGEST_NAME: usize = 64;

/// The maximum length of the value of a cookie.
const LONGEST_VALUE: usize = 4096;

/// The minimum length of a value that is worth protecting.
const SHORTEST_VALUE: usize = 16;

/// Returns the random values of the cookies behind a keyword, and the position where reading stopped.
pub(super) fn cookies(text: &str, from: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let mut at = from + count(&bytes[from..], 12, |byte| b"s\"'`:=,> \t\\([".contains(&byte));
    let mut values = Vec::new();
    loop {
        let name = count(&bytes[at..], LONGEST_NAME, is_name);
        if name == 0 || bytes.get(at + name) != Some(&b'=') {
            return (values, at);
        }
        let start = at + name + 1;
        let end = start + count(&bytes[start..], LONGEST_VALUE, is_value);
        if text.get(start..end).is_some_and(is_secret) {
            values.push(start..end);
        }
        at = end + count(&bytes[end..], 4, |byte| matches!(byte, b';' | b' '));
        if at == end {
            return (values, at);
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.~$-".contains(&byte)
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b";\"'\\,".contains(&byte)
}

fn is_secret(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    value.len() >= SHORTEST_VALUE
        && letters >= 4
        && fits(Value::Random, value, None)
        && has_entropy(value, 2.8)
}
