//! Finds the data of Kubernetes secrets, whose keys need not say that they are secret.

use std::ops::Range;

use memchr::memmem;

use super::separator::count;
use super::value::{Value, fits};

/// The maximum distance between the kind of a manifest and its data.
const FAR: usize = 4096;

/// The maximum number of values in a manifest.
const MOST: usize = 64;

/// The maximum length of a key.
const LONGEST_KEY: usize = 64;

/// The minimum length of a value that is worth protecting.
const SHORTEST_VALUE: usize = 8;

/// The keys of a manifest that end its data.
const OTHER_KEYS: [&[u8]; 6] =
    [b"apiVersion", b"kind", b"metadata", b"type", b"immutable", b"status"];

/// Finds manifests in one text. Each byte is read once before and once behind the kind of a manifest.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// The position up to which the text has been read.
    done: usize,
}

impl Manifests {
    /// Returns the values of the manifest whose kind is at `hit`.
    pub(super) fn look(&mut self, text: &str, hit: &Range<usize>) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        if hit.start < self.done || !is_secret(&bytes[hit.end..]) {
            return Vec::new();
        }
        let start = self.done.max(hit.start.saturating_sub(FAR));
        let end = bytes.len().min(hit.end + FAR);
        let start = start + memmem::rfind(&bytes[start..hit.start], b"---").unwrap_or(0);
        let end = hit.end + memmem::find(&bytes[hit.end..end], b"---").unwrap_or(end - hit.end);
        self.done = end;
        let bytes = &bytes[..end];
        let mut values = Vec::new();
        let mut at = start;
        while let Some(found) = memmem::find(&bytes[at..], b"ata") {
            at += found + b"ata".len();
            let colon = at + count(&bytes[at..], 8, is_quote);
            if bytes.get(colon) == Some(&b':') {
                at = entries(text, colon + 1..end, &mut values);
            }
        }
        values
    }
}

/// Returns whether the kind of a manifest is `Secret`, which begins behind `kind`.
fn is_secret(rest: &[u8]) -> bool {
    let gap = count(rest, 24, |byte| is_quote(byte) || byte == b':' || byte == b' ');
    let kind = &rest[gap..];
    kind.starts_with(b"Secret") && !kind.get(6).is_some_and(u8::is_ascii_alphanumeric)
}

/// Adds the secret values of the data that begins at the start of a range. Returns where it ends.
fn entries(text: &str, range: Range<usize>, values: &mut Vec<Range<usize>>) -> usize {
    let bytes = &text.as_bytes()[..range.end];
    let mut at = range.start;
    while values.len() < MOST {
        at += gap(&bytes[at..]);
        let key = at..at + count(&bytes[at..], LONGEST_KEY, is_key);
        let colon = key.end + count(&bytes[key.end..], 8, is_quote);
        if key.is_empty()
            || bytes.get(colon) != Some(&b':')
            || OTHER_KEYS.contains(&&bytes[key.clone()])
        {
            break;
        }
        let start =
            colon + 1 + count(&bytes[colon + 1..], 16, |byte| byte == b' ' || is_quote(byte));
        let end = start + count(&bytes[start..], FAR, is_value);
        let is_held = |value: &str| {
            value.len() >= SHORTEST_VALUE
                && value.contains(|c: char| c.is_ascii_digit() || c == '=')
                && fits(Value::Mixed, value, None)
        };
        if text.get(start..end).is_some_and(is_held) {
            values.push(start..end);
        }
        at = end + count(&bytes[end..], 8, is_quote);
    }
    at
}

/// Returns the length of white space and punctuation between two entries, including escaped line ends.
fn gap(rest: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let slashes = count(&rest[at..], 8, |byte| byte == b'\\');
        at += match rest.get(at + slashes) {
            Some(b'n' | b'r' | b't') if slashes > 0 => slashes + 1,
            Some(b'"' | b'\'') => slashes + 1,
            Some(byte) if slashes == 0 && (byte.is_ascii_whitespace() || b"{,+".contains(byte)) => {
                1
            }
            _ => return at,
        };
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !is_quote(byte) && byte != b','
}
