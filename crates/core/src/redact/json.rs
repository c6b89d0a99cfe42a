//! Redacts a JSON text without taking it apart: only the strings that hold a secret change.
//!
//! Order, numbers, duplicate keys, white space and depth stay as they are, whatever they are. Keys are never
//! changed; the key before a value is read with it, for it may be what says that it is a secret.

use std::borrow::Cow;

use super::apply::Redactor;
use super::scan::{Found, scan};
use crate::read::json::{Raw, string};

/// Keys whose values are no text: bytes and signatures in base64.
const BLOBS: [(&str, &str); 2] = [("inlineData", "data"), ("", "thoughtSignature")];

/// Where the walk is: in an object behind a key, or in an array behind a string.
enum Place<'j> {
    Object { key: Cow<'j, str>, is_value: bool },
    Array { last: Cow<'j, str> },
}

impl Redactor<'_> {
    /// One JSON value.
    pub fn json<'j>(&mut self, json: &'j str) -> Cow<'j, str> {
        let bytes = json.as_bytes();
        let mut places: Vec<Place<'j>> = Vec::new();
        let mut out = String::new();
        let (mut at, mut copied) = (0, 0);
        while let Some(step) = memchr_any(&bytes[at..]) {
            at += step;
            let end = match bytes[at] {
                b'"' => {
                    let end = string_end(bytes, at);
                    if let Some(new) = self.token(&json[at..end], &mut places) {
                        out.push_str(&json[copied..at]);
                        out.push_str(&new);
                        copied = end;
                    }
                    end
                }
                byte => {
                    step_into(byte, &mut places);
                    at + 1
                }
            };
            at = end;
        }
        if copied == 0 {
            return Cow::Borrowed(json);
        }
        out.push_str(&json[copied..]);
        Cow::Owned(out)
    }

    /// A string token with its quotes: what takes its place.
    fn token<'j>(&mut self, token: &'j str, places: &mut [Place<'j>]) -> Option<String> {
        let Some(raw) = Raw::new(token) else {
            // No JSON after all: then it is a text like any other.
            return Some(self.text(token).into_owned());
        };
        let parent = match places {
            [.., Place::Object { key, .. }, _] => key.clone(),
            _ => Cow::Borrowed(""),
        };
        let text = string(raw)?;
        let head = match places.last_mut() {
            Some(Place::Object { key, is_value: false }) => {
                *key = text;
                return None;
            }
            Some(Place::Object { key, .. }) => {
                let is_blob =
                    |blob: &(&str, &str)| blob.1 == key && (blob.0.is_empty() || blob.0 == parent);
                if BLOBS.iter().any(is_blob) {
                    return None;
                }
                format!("{key}: \"")
            }
            Some(Place::Array { last }) => {
                let before = std::mem::replace(last, text.clone());
                if before.starts_with('-') { format!("{before} \"") } else { String::new() }
            }
            None => String::new(),
        };
        let new = self.behind(&head, &text);
        if let Cow::Borrowed(_) = new {
            return None;
        }
        serde_json::to_string(&new).ok()
    }

    /// A text that stands behind another, which may be what tells that it is a secret.
    fn behind<'t>(&mut self, head: &str, text: &'t str) -> Cow<'t, str> {
        if !head.is_empty() && self.rules.keywords.is_match(head) && !text.is_empty() {
            let whole = format!("{head}{text}\"");
            let start = head.len();
            let is_inside = |found: &Found| {
                found.secret.start >= start && found.secret.end <= start + text.len()
            };
            let found: Vec<Found> =
                scan(self.rules, &whole).into_iter().filter(is_inside).collect();
            if !found.is_empty() {
                let whole = self.replace(&whole, &found);
                let text = whole[start..].strip_suffix('"').unwrap_or(&whole[start..]);
                return Cow::Owned(self.text(text).into_owned());
            }
        }
        self.text(text)
    }
}

/// The next byte that matters between strings.
fn memchr_any(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b':' | b','))
}

fn step_into(byte: u8, places: &mut Vec<Place<'_>>) {
    match byte {
        b'{' => places.push(Place::Object { key: Cow::Borrowed(""), is_value: false }),
        b'[' => places.push(Place::Array { last: Cow::Borrowed("") }),
        b'}' | b']' => drop(places.pop()),
        _ => {
            if let Some(Place::Object { is_value, .. }) = places.last_mut() {
                *is_value = byte == b':';
            }
        }
    }
}

/// Behind the closing quote.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(step) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += step;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}
