//! Redacts a JSON text in place: only the strings that contain a secret change.
//!
//! Order, numbers, duplicate keys, white space and depth are preserved. A value is scanned together with its
//! key, because the key may identify it as a secret. The same applies to a name beside it, and to the option
//! before it in a list of arguments.

use std::borrow::Cow;

use super::apply::Redactor;
use super::scan::Found;
use crate::read::json::{Raw, string};

/// The keys whose values are not text, but bytes and signatures in base64, each with its parent key.
const BLOBS: [(&str, &str); 2] = [("inlineData", "data"), ("", "thoughtSignature")];

/// The maximum length of the arguments that the next one is scanned together with.
const ARGUMENTS: usize = 512;

/// The current position in the document.
enum Place<'j> {
    /// In an object, behind a key. `named` is the last value of `name` or `key`.
    Object { key: Cow<'j, str>, is_value: bool, named: Cow<'j, str> },
    /// In an array, behind the arguments of a command. `arguments` is empty if it is a list of something
    /// else.
    Array { arguments: String, is_first: bool },
}

impl Redactor<'_> {
    /// Returns one JSON value without its secrets.
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

    /// Returns the replacement of a string token, including quotes; `None` if it does not change.
    fn token<'j>(&mut self, token: &'j str, places: &mut [Place<'j>]) -> Option<String> {
        let Some(raw) = Raw::new(token) else {
            // A token that is not valid JSON is redacted as plain text.
            return Some(self.text(token).into_owned());
        };
        let parent = match places {
            [.., Place::Object { key, .. }, _] => key.clone(),
            _ => Cow::Borrowed(""),
        };
        let text = string(raw)?;
        let head = match places.last_mut() {
            Some(Place::Object { key, is_value: false, .. }) => {
                let new = self.text(&text);
                let new = matches!(new, Cow::Owned(_)).then(|| serde_json::to_string(&new).ok());
                key.clone_from(&text);
                return new.flatten();
            }
            Some(Place::Object { key, named, .. }) => {
                let is_blob =
                    |blob: &(&str, &str)| blob.1 == key && (blob.0.is_empty() || blob.0 == parent);
                if BLOBS.iter().any(is_blob) {
                    return None;
                }
                if key.eq_ignore_ascii_case("name") || key.eq_ignore_ascii_case("key") {
                    named.clone_from(&text);
                }
                let is_pair =
                    key.eq_ignore_ascii_case("value") && !named.is_empty() && named.len() <= 64;
                format!("{}: \"", if is_pair { &*named } else { &*key })
            }
            Some(Place::Array { arguments, is_first }) => argument(arguments, is_first, &text),
            None => String::new(),
        };
        let new = self.behind(&head, &text);
        if let Cow::Borrowed(_) = new {
            return None;
        }
        serde_json::to_string(&new).ok()
    }

    /// Redacts a text that follows `head`, which may identify it as a secret.
    fn behind<'t>(&mut self, head: &str, text: &'t str) -> Cow<'t, str> {
        if !head.is_empty() && !text.is_empty() && self.rules.has_keyword(head) {
            let quote = if head.ends_with('"') { "\"" } else { "" };
            let whole = format!("{head}{text}{quote}");
            let start = head.len();
            let is_inside =
                |found: &Found| found.range.start >= start && found.range.end <= start + text.len();
            let found: Vec<Found> = self.scan(&whole).into_iter().filter(is_inside).collect();
            if !found.is_empty() {
                let (whole, _) = self.replace_once(&whole, &found);
                let text = whole[start..].strip_suffix(quote).unwrap_or(&whole[start..]);
                return Cow::Owned(self.text(text).into_owned());
            }
        }
        self.text(text)
    }
}

/// Adds an argument to a command. Returns the command before it, or an empty text if it is not a command.
fn argument(arguments: &mut String, is_first: &mut bool, text: &str) -> String {
    let is_word = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"');
    let head =
        if *is_first || arguments.is_empty() { String::new() } else { format!("{arguments} ") };
    if is_word && (*is_first || !arguments.is_empty()) && arguments.len() + text.len() < ARGUMENTS {
        arguments.clone_from(&head);
        arguments.push_str(text);
    } else if !is_word {
        arguments.clear();
    }
    *is_first = false;
    head
}

/// Returns the position of the next byte that is a quote or part of the structure.
fn memchr_any(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b':' | b','))
}

fn step_into(byte: u8, places: &mut Vec<Place<'_>>) {
    match byte {
        b'{' => {
            let (key, named) = (Cow::Borrowed(""), Cow::Borrowed(""));
            places.push(Place::Object { key, is_value: false, named });
        }
        b'[' => places.push(Place::Array { arguments: String::new(), is_first: true }),
        b'}' | b']' => drop(places.pop()),
        _ => {
            if let Some(Place::Object { is_value, .. }) = places.last_mut() {
                *is_value = byte == b':';
            }
        }
    }
}

/// Returns the position behind the closing quote.
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
