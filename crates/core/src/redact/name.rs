//! Finds values behind a name: `DB_PASSWORD=…`, `"apiKey": "…"`, `**Token:** …`, `<password>…`, `setSecret("…")`.
//!
//! The identifier around a keyword is split into words, which determine how strongly the name suggests a
//! secret. The separator before the value and the form of the value decide the rest.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::form::{has_entropy, is_key_material, is_phrase, is_technical, is_uuid, turns};
use super::identifier::{ends_in, ends_word, identifier};
use super::literal::{Open, cut, ends_bare, fallback, joined, next_listed, opening, quoted};
use super::name_class::{Class, NameClass, Strength};
use super::rule::MARKER;
use super::sentence::{before, below, leads};
use super::separator::{Style, blanks, count, separator};
use super::value::{Value, fits, is_type_name};
use super::work::Work;
use crate::read::block::{BLOCK, any_of};

/// The maximum length of a value without quotes.
const LONGEST_VALUE: usize = 8192;

/// The maximum length of a password.
const LONGEST_PASSWORD: usize = 256;

/// The minimum length of a random value without a digit.
const SHORTEST_RANDOM: usize = 20;

/// The number of bytes behind a name that a value in a sentence begins in.
const NEAR: usize = 192;

/// The costs of examining a name, of a value per byte, and of a sentence.
const NAME: usize = 800;
const VALUE: usize = 40;
const SENTENCE: usize = 2400;

/// A name and the secret values that belong to it.
#[derive(Debug)]
pub(super) struct Place {
    /// The position at which the name begins.
    pub(super) start: usize,
    /// The positions of the values.
    pub(super) values: Vec<Range<usize>>,
}

/// The maximum number of literals in a list to examine.
const MOST_LISTED: usize = 16;

/// Finds values in one text. Keeps track of the current run of characters, so that a text made of nothing but
/// names costs no more than any other.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The range of the last values found.
    taken: Range<usize>,
    /// The last identifier examined.
    last: Range<usize>,
    /// The last characters that a value without quotes may consist of.
    run: Range<usize>,
    seen: FxHashMap<Box<str>, Option<NameClass>>,
}

impl Names {
    /// Finds the values of the name whose keyword is at `hit`.
    pub(super) fn look(
        &mut self,
        text: &str,
        hit: &Range<usize>,
        class: Class,
        work: &mut Work,
    ) -> Option<Place> {
        let bytes = text.as_bytes();
        if !ends_word(bytes, hit) {
            return None;
        }
        let name = identifier(bytes, hit);
        // The last part of a type is not a name: `"AWS::ApiGateway::ApiKey": "…"`.
        let is_type = bytes[..name.start].ends_with(b"::") || is_resource(&bytes[..name.start]);
        if self.taken.contains(&name.start) || name == self.last || is_type {
            return None;
        }
        let known = self.classify(text.get(name.clone())?).filter(|known| known.class == class)?;
        self.last = name.clone();
        work.spend(NAME);
        let separator = separator(bytes, &name);
        let mut promise = Promise { name: known, style: Style::Loose };
        let mut values = separator.map_or_else(Vec::new, |(style, at)| {
            promise.style = style;
            self.values(text, at, &promise, work)
        });
        if values.is_empty() && promise.style == Style::Loose {
            values = self.told(text, &name, &promise, work);
        }
        values.retain(|value| !ends_in(&bytes[value.clone()], &bytes[name.clone()]));
        self.taken = values.first()?.start..values.last()?.end;
        Some(Place { start: name.start, values })
    }

    /// Classifies a name. Results are cached, because the same names occur over and over.
    fn classify(&mut self, name: &str) -> Option<NameClass> {
        const MOST: usize = 4096;
        if let Some(known) = self.seen.get(name) {
            return *known;
        }
        let class = NameClass::of(name);
        if self.seen.len() < MOST {
            self.seen.insert(name.into(), class);
        }
        class
    }

    /// Returns the value that begins at `at`, or the values of the list that begins there, if they match the
    /// name.
    fn values(
        &mut self,
        text: &str,
        at: usize,
        promise: &Promise,
        work: &mut Work,
    ) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        if is_marker(&bytes[at..]) {
            return Vec::new();
        }
        match opening(bytes, at) {
            Some(open) if open.is_listed => {
                let next = |open: &Open| next_listed(bytes, quoted(bytes, open)?.end);
                std::iter::successors(Some(open), next)
                    .take(MOST_LISTED)
                    .enumerate()
                    .filter_map(|(nth, open)| promise.listed(text, nth, &open))
                    .collect()
            }
            Some(_) if promise.name.is_plural && !promise.name.is_env => Vec::new(),
            Some(open) => promise.literal(text, &open).into_iter().collect(),
            None if promise.style == Style::Loose => Vec::new(),
            None => self.bare_value(text, at, promise, work).into_iter().collect(),
        }
    }

    fn bare_value(
        &mut self,
        text: &str,
        at: usize,
        promise: &Promise,
        work: &mut Work,
    ) -> Option<Range<usize>> {
        let value = self.bare(text, at, work)?;
        if promise.bare(&text[value.clone()], &text[value.end..]) {
            return Some(value);
        }
        if !text[value.clone()].contains(['.', '(', '[']) {
            return None;
        }
        promise.literal(text, &fallback(text.as_bytes(), at)?)
    }

    /// Returns the values that a sentence assigns to a name: `the password for the VPN is …`. They must
    /// clearly be secrets.
    fn told(
        &mut self,
        text: &str,
        name: &Range<usize>,
        promise: &Promise,
        work: &mut Work,
    ) -> Vec<Range<usize>> {
        let is_weak = promise.name.strength == Strength::Weak;
        if is_weak && promise.name.class == Class::Secret {
            return Vec::new();
        }
        work.spend(SENTENCE);
        let (bytes, least) = (text.as_bytes(), promise.least_told());
        let (from, to) = (name.start.saturating_sub(NEAR), bytes.len().min(name.end + NEAR));
        if !has_word(&bytes[from..to], least) {
            return Vec::new();
        }
        let is_told = |value: &Range<usize>, is_near: bool| {
            let rest = &bytes[value.end..];
            let is_last = is_near
                && (ends_line(rest) || rest.first().is_some_and(|byte| b").,;".contains(byte)));
            text.get(value.clone()).is_some_and(|value| {
                promise.told(value, is_near) || is_last && promise.directed(value)
            })
        };
        let ahead = leads(text, name.end).filter(|lead| may_be_random(&bytes[lead.at..]));
        let ahead = ahead.filter_map(|lead| {
            let value = if let Some(open) = opening(bytes, lead.at) {
                quoted(bytes, &open)?
            } else {
                let value = self.bare(text, lead.at, work)?;
                let ascii = count(&bytes[value.clone()], LONGEST_VALUE, |byte| byte.is_ascii());
                value.start..value.start + ascii
            };
            let is_there = !lead.is_below || ends_line(&bytes[value.end..]);
            (is_there && is_told(&value, lead.is_near)).then_some(value)
        });
        let mut values: Vec<Range<usize>> =
            if has_word(&bytes[name.end..to], least) { ahead.collect() } else { Vec::new() };
        values.dedup();
        if values.is_empty() && !is_weak {
            let around = [below(text, name), before(text, name)];
            let is_told = |value: &Range<usize>| {
                is_told(value, true)
                    || text.get(value.clone()).is_some_and(|value| promise.directed(value))
            };
            values.extend(around.into_iter().flatten().find(is_told));
        }
        values
    }

    /// Returns a value without quotes.
    fn bare(&mut self, text: &str, at: usize, work: &mut Work) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if !self.run.contains(&at) {
            let most = bytes.len().min(at + LONGEST_VALUE);
            let len = (at..most).take_while(|at| !ends_bare(bytes, *at)).count();
            self.run = at..at + len;
        }
        let end = at + cut(&bytes[at..self.run.end]);
        work.spend(VALUE * (end - at));
        if end - at == LONGEST_VALUE {
            return None;
        }
        let is_trailing = |byte: &&u8| {
            matches!(byte, b'.' | b',' | b';' | b':' | b')' | b']' | b'}' | b'*' | b'_')
        };
        let trailing = bytes[at..end].iter().rev().take_while(is_trailing).count();
        let end = end - trailing;
        (end > at && text.is_char_boundary(at) && text.is_char_boundary(end)).then_some(at..end)
    }
}

/// Returns whether a text ends in the account of a resource of AWS: `arn:aws:…:123456789012:`.
fn is_resource(head: &[u8]) -> bool {
    let account = head.strip_suffix(b":").unwrap_or_default();
    account.len() > 12 && account[account.len() - 12..].iter().all(u8::is_ascii_digit)
}

impl NameClass {
    /// Returns whether a cell below the name contains a secret.
    pub(super) fn is_held_by(self, cell: &str) -> bool {
        !cell.contains(char::is_whitespace)
            && Promise { name: self, style: Style::Cell }.bare(cell, "")
    }
}

/// The classification of a name and its separator.
struct Promise {
    name: NameClass,
    style: Style,
}

impl Promise {
    /// Returns the content of a literal that matches the name, with the literals that are concatenated to it.
    fn literal(&self, text: &str, open: &Open) -> Option<Range<usize>> {
        let value = quoted(text.as_bytes(), open)?;
        let is_kept = self.quoted(text.get(value.clone())?);
        is_kept.then(|| value.start..joined(text.as_bytes(), value.end))
    }

    /// Returns the content of a literal in a list. In a list of credentials, a password follows the user.
    fn listed(&self, text: &str, nth: usize, open: &Open) -> Option<Range<usize>> {
        let password = || {
            let value = quoted(text.as_bytes(), open)?;
            let is_password = nth == 1 && self.name.strength == Strength::Weak;
            let is_strict = |value: &str| value.len() >= 6 && fits(Value::Strict, value, None);
            (is_password && text.get(value.clone()).is_some_and(is_strict)).then_some(value)
        };
        self.literal(text, open).or_else(password)
    }

    fn quoted(&self, value: &str) -> bool {
        if self.name.class == Class::Password && value.len() > LONGEST_PASSWORD {
            return false;
        }
        let is_word = !value.contains(char::is_whitespace);
        match (self.name.class, self.name.strength) {
            (Class::Password, Strength::Strong)
                if self.name.is_env && self.style != Style::Loose =>
            {
                value.len() >= 4 && fits(Value::Literal, value, None)
            }
            // `pass` is more often a verb.
            (Class::Password, Strength::Weak) if self.style == Style::Loose => {
                self.told(value, true)
            }
            (Class::Password, _) => {
                is_word && value.len() >= 6 && fits(Value::Mixed, value, None)
                    || self.name.is_strong() && is_phrase(value, 3)
            }
            (Class::Secret, _) => is_word && self.is_random(value, 12, None),
        }
    }

    fn bare(&self, value: &str, rest: &str) -> bool {
        let next = rest.chars().next();
        // The last filter of a template: `{{ .Values.password | b64enc }}`.
        let is_filter = rest.trim_start().starts_with("}}");
        if is_filter || self.name.is_plural && !self.name.is_env {
            return false;
        }
        if self.name.class == Class::Secret {
            return self.is_random(value, 16, next);
        }
        if value.len() > LONGEST_PASSWORD {
            return false;
        }
        let is_literal = match self.style {
            Style::Assign | Style::Pair => self.name.is_env,
            Style::Colon => self.name.is_env && ends_line(rest.as_bytes()),
            Style::Element => next == Some('<'),
            _ => false,
        };
        if is_literal && self.name.strength == Strength::Strong {
            return value.len() >= 4 && fits(Value::Literal, value, next);
        }
        value.len() >= 6 && fits(Value::Mixed, value, next)
            || self.name.is_strong() && is_phrase(value, 4)
    }

    /// Returns the minimum length of a value in a sentence.
    fn least_told(&self) -> usize {
        if self.name.class == Class::Secret && !self.name.is_secret { SHORTEST_RANDOM } else { 8 }
    }

    /// Returns the minimum length of a key in a sentence. Names in upper case are those of variables.
    fn least_key(&self) -> usize {
        if self.name.is_env && self.name.is_secret { 12 } else { 20 }
    }

    /// Returns whether a value in a sentence is a secret. One that no word introduces must look even less
    /// like a word.
    fn told(&self, value: &str, is_near: bool) -> bool {
        let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
        let is_odd = has(|byte| b"!@#$%^&*+~?=".contains(byte));
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
        let is_cased = has(u8::is_ascii_uppercase);
        match self.name.class {
            Class::Password => {
                let least = if self.name.is_strong() { 3 } else { 5 };
                let is_disorder = if is_near {
                    is_cased && turns(value) >= least && !is_technical(value)
                } else {
                    is_cased || value.len() >= 16 && has_entropy(value, 3.0)
                };
                (8..=64).contains(&value.len())
                    && is_mixed
                    && (is_odd || is_disorder)
                    && !value.contains([':', '/', ',', '\\'])
                    && fits(Value::Random, value, None)
            }
            Class::Secret => {
                value.len() >= self.least_key()
                    && !is_fingerprint(value)
                    && (!is_near || turns(value) >= 5)
                    && fits(Value::Random, value, None)
                    && has_entropy(value, 2.8)
            }
        }
    }

    /// Returns whether a value at the end of a line is a secret, as in configurations: `password …`.
    fn directed(&self, value: &str) -> bool {
        let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
        (self.name.class == Class::Password || self.name.is_secret)
            && self.name.is_strong()
            && (8..=64).contains(&value.len())
            && has(|byte| byte.is_ascii_uppercase() || b"!@#$%^&*+~?=".contains(byte))
            && !value.contains([':', '/', ',', '\\'])
            && !is_technical(value)
            && fits(Value::Random, value, None)
    }

    fn is_random(&self, value: &str, least: usize, next: Option<char>) -> bool {
        let strong = self.name.strength == Strength::Strong;
        if self.name.is_plain_key {
            return is_key_material(value) && fits(Value::Random, value, next);
        }
        if strong && self.name.is_env && self.style != Style::Cell {
            return value.len() >= 8 && fits(Value::Mixed, value, next) && has_entropy(value, 2.5);
        }
        let least = match (strong, self.name.is_secret) {
            (true, true) => 8,
            (true, false) => least,
            (false, _) => 16,
        };
        if is_uuid(value) {
            return strong && !self.name.is_plain_token;
        }
        if is_fingerprint(value) || !self.name.is_env && is_type_name(value) {
            return false;
        }
        value.len() >= least && fits(Value::Random, value, next) && has_entropy(value, 2.8)
    }
}

/// Returns whether a value is already removed.
fn is_marker(value: &[u8]) -> bool {
    let quotes = count(value, 1, |byte| matches!(byte, b'"' | b'\''));
    value[quotes..].starts_with(MARKER.as_bytes())
}

/// Returns whether a text has as many bytes in a row without a blank.
fn has_word(text: &[u8], least: usize) -> bool {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // The length of the word at the end of the block before.
    let mut before = 0;
    blocks.iter().chain([&last]).any(|block| {
        let words = !any_of(block, [b' ', b'\n']);
        let (mut starts, mut len) = (words, 1);
        while len < least {
            let more = len.min(least - len);
            starts &= starts >> more;
            len += more;
        }
        let has = starts > 0 || before + words.trailing_ones() as usize >= least;
        before = words.leading_ones() as usize;
        has
    })
}

/// Returns whether the word at the beginning of a text may be random. Most words are short and have no digit.
fn may_be_random(rest: &[u8]) -> bool {
    if rest.starts_with(b"new ") {
        return true;
    }
    for byte in rest.iter().take(SHORTEST_RANDOM) {
        match byte {
            b' ' | b'\n' => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b',' | b'.' | b'_' | b'-' | b':' | b';' => {}
            _ => return true,
        }
    }
    rest.len() >= SHORTEST_RANDOM
}

/// Returns whether a value is the fingerprint or the id of a key, as `gpg` prints it.
fn is_fingerprint(value: &str) -> bool {
    matches!(value.len(), 16 | 40)
        && value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'A'..=b'F'))
}

/// Returns whether the line ends here, or a comment begins.
fn ends_line(rest: &[u8]) -> bool {
    let at = blanks(rest);
    rest.get(at)
        .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'#' | b'"' | b'\'' | b'`' | b'\\'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_word_counts(
            words in proptest::collection::vec("[a-zé=]{0,80}", 0..8), least in 1..30usize,
        ) {
            let text = words.join(" ");
            let longest = text.split(' ').map(str::len).max().unwrap_or(0);
            prop_assert_eq!(has_word(text.as_bytes(), least), longest >= least);
        }
    }
}
