//! Finds values behind a name: `DB_PASSWORD=…`, `"apiKey": "…"`, `**Token:** …`, `<password>…`, `setSecret("…")`.
//!
//! The identifier around a keyword is split into words, which determine how strongly the name suggests a
//! secret. The separator before the value and the form of the value decide the rest.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::form::{entropy, is_key_material, is_phrase, is_technical, is_uuid, turns};
use super::identifier::{ends_in, ends_word, identifier, words};
use super::literal::{Open, cut, ends_bare, fallback, joined, next_listed, opening, quoted};
use super::scan::BLOCK;
use super::sentence::{before, below, leads};
use super::separator::{Style, blanks, count, separator};
use super::value::{Value, fits};
use super::words::{
    KEYS, NOT_PASS, OTHER_KEYS, OTHER_PASSES, OTHER_TOKENS, PASSWORDS, PLURALS, SECRETS, SUFFIXES,
    WEAK, WEAK_ENV, Words,
};

/// The maximum length of a value without quotes.
const LONGEST_VALUE: usize = 8192;

/// The maximum length of a password.
const LONGEST_PASSWORD: usize = 256;

/// The maximum number of fruitless searches for a sentence behind a name, per block of text. Only a text that
/// repeats a name over and over exceeds it.
const MOST_TOLD: usize = 100;

/// The kind of value that a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A password.
    Password,
    /// Another secret, such as a token or a key.
    Secret,
}

/// The strength of a name as evidence. A weak name requires a value that is clearly random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

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
    run: Range<usize>,
    spent: usize,
    /// The last block of text searched for sentences, and the number of fruitless searches in it.
    told: (usize, usize),
    seen: FxHashMap<Box<str>, Option<Facts>>,
}

impl Names {
    /// Finds the values of the name whose keyword is at `hit`.
    pub(super) fn look(&mut self, text: &str, hit: Range<usize>, class: Class) -> Option<Place> {
        let bytes = text.as_bytes();
        if !ends_word(bytes, &hit) {
            return None;
        }
        let name = identifier(bytes, &hit);
        // The last part of a type is not a name: `"AWS::ApiGateway::ApiKey": "…"`.
        let is_type = bytes[..name.start].ends_with(b"::");
        if self.taken.contains(&name.start) || name == self.last || is_type {
            return None;
        }
        let separator = separator(bytes, &name);
        if separator.is_some_and(|(_, at)| self.run.contains(&at)) && self.is_spent() {
            return None;
        }
        let facts = self.facts(text.get(name.clone())?).filter(|facts| facts.class == class)?;
        self.last = name.clone();
        let mut promise = Promise { facts, style: Style::Loose };
        let mut values = separator.map_or_else(Vec::new, |(style, at)| {
            promise.style = style;
            self.values(text, at, &promise)
        });
        if values.is_empty() && promise.style == Style::Loose {
            values = self.told(text, &name, &promise);
        }
        values.retain(|value| !ends_in(&bytes[value.clone()], &bytes[name.clone()]));
        self.taken = values.first()?.start..values.last()?.end;
        Some(Place { start: name.start, values })
    }

    /// Classifies a name. Results are cached, because the same names occur over and over.
    fn facts(&mut self, name: &str) -> Option<Facts> {
        const MOST: usize = 4096;
        if let Some(facts) = self.seen.get(name) {
            return *facts;
        }
        let facts = Facts::of(name);
        if self.seen.len() < MOST {
            self.seen.insert(name.into(), facts);
        }
        facts
    }

    /// Returns the value that begins at `at`, or the values of the list that begins there, if they match the
    /// name.
    fn values(&mut self, text: &str, at: usize, promise: &Promise) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        match opening(bytes, at) {
            Some(open) if open.is_listed => {
                let next = |open: &Open| next_listed(bytes, quoted(bytes, open)?.end);
                std::iter::successors(Some(open), next)
                    .take(MOST_LISTED)
                    .enumerate()
                    .filter_map(|(nth, open)| promise.listed(text, nth, &open))
                    .collect()
            }
            Some(_) if promise.facts.is_plural && !promise.facts.is_env => Vec::new(),
            Some(open) => promise.literal(text, &open).into_iter().collect(),
            None if promise.style == Style::Loose => Vec::new(),
            None => self.bare_value(text, at, promise).into_iter().collect(),
        }
    }

    fn bare_value(&mut self, text: &str, at: usize, promise: &Promise) -> Option<Range<usize>> {
        let value = self.bare(text, at)?;
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
    fn told(&mut self, text: &str, name: &Range<usize>, promise: &Promise) -> Vec<Range<usize>> {
        let is_weak = promise.facts.strength == Strength::Weak;
        let block = name.start / BLOCK;
        if is_weak && promise.facts.class == Class::Secret || self.told == (block, MOST_TOLD) {
            return Vec::new();
        }
        let bytes = text.as_bytes();
        let is_told = |value: &Range<usize>, is_near: bool| {
            let rest = &bytes[value.end..];
            let is_last = is_near
                && (ends_line(rest) || rest.first().is_some_and(|byte| b").,;".contains(byte)));
            text.get(value.clone()).is_some_and(|value| {
                promise.told(value, is_near) || is_last && promise.directed(value)
            })
        };
        let ahead = leads(text, name.end).filter_map(|lead| {
            let value = if let Some(open) = opening(bytes, lead.at) {
                quoted(bytes, &open)?
            } else {
                let value = self.bare(text, lead.at)?;
                let ascii = count(&bytes[value.clone()], LONGEST_VALUE, |byte| byte.is_ascii());
                value.start..value.start + ascii
            };
            let is_there = !lead.is_below || ends_line(&bytes[value.end..]);
            (is_there && is_told(&value, lead.is_near)).then_some(value)
        });
        let mut values: Vec<Range<usize>> = ahead.collect();
        values.dedup();
        if values.is_empty() && !is_weak {
            let around = [below(text, name), before(text, name)];
            let is_told = |value: &Range<usize>| {
                is_told(value, true)
                    || text.get(value.clone()).is_some_and(|value| promise.directed(value))
            };
            values.extend(around.into_iter().flatten().find(is_told));
        }
        if values.is_empty() {
            self.told = (block, if self.told.0 == block { self.told.1 + 1 } else { 1 });
        }
        values
    }

    fn is_spent(&self) -> bool {
        self.spent > self.run.len() + 1024
    }

    /// Returns a value without quotes.
    fn bare(&mut self, text: &str, at: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if self.run.contains(&at) {
            if self.is_spent() {
                return None;
            }
        } else {
            let most = bytes.len().min(at + LONGEST_VALUE);
            let len = (at..most).take_while(|at| !ends_bare(bytes, *at)).count();
            self.run = at..at + len;
            self.spent = 0;
        }
        let end = at + cut(&bytes[at..self.run.end]);
        self.spent += end - at;
        if self.is_spent() || end - at == LONGEST_VALUE {
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

/// Classifies a name by its words, and returns its strength.
fn classify(words: &[String], is_env: bool) -> Option<(Class, Strength)> {
    use Class::{Password, Secret};
    use Strength::{Strong, Weak};
    let is_suffix = |word: &String| {
        SUFFIXES.contains(word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let suffixes = words.iter().rev().take(3).take_while(|word| is_suffix(word)).count();
    let (words, _) = words.split_at(words.len() - suffixes);
    let (last, head) = words.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let last = if PLURALS.contains(last) { &last[..last.len() - 1] } else { last };
    let has = |list: &Words| head.iter().any(|word| list.contains(word.as_str()));
    if PASSWORDS.iter().any(|word| last.ends_with(word)) {
        return Some((Password, Strong));
    }
    if last == "pass" && has(&OTHER_PASSES) {
        return None;
    }
    if last.ends_with("pass") && !NOT_PASS.contains(last) || last.ends_with("pw") {
        return Some((Password, if head.is_empty() && last.len() <= 4 { Weak } else { Strong }));
    }
    if last.ends_with("secret") || (last.ends_with("token") && !has(&OTHER_TOKENS)) {
        return Some((Secret, Strong));
    }
    let qualifier = head.last().map(String::as_str);
    if last == "id" && head.ends_with(&["access".to_owned(), "key".to_owned()]) {
        return Some((Secret, Weak));
    }
    let is_key = last == "key" && qualifier.is_some_and(|word| KEYS.contains(word));
    let is_joined =
        last.strip_suffix("key").is_some_and(|word| KEYS.contains(word) || word.ends_with("api"));
    if is_key || is_joined {
        return Some((Secret, Strong));
    }
    // Any other kind of key, unless it is known to be a name for something public.
    let is_ranked = matches!(qualifier, Some("primary" | "secondary"));
    let is_other_key = last == "key" && (is_ranked || !has(&OTHER_KEYS));
    let is_weak = WEAK.contains(last)
        || is_other_key
        || (last == "salt" && qualifier.is_some())
        || (is_env && qualifier.is_some() && WEAK_ENV.contains(last) && !has(&OTHER_KEYS));
    is_weak.then_some((Secret, Weak))
}

/// Classifies a name that is not written in ASCII: scripts differ in where a word ends.
fn foreign(name: &str) -> Option<(Class, Strength)> {
    if name.is_ascii() {
        return None;
    }
    let lower = name.to_lowercase();
    let is_in = |words: &Words| words.iter().any(|word| lower.ends_with(word));
    let class = is_in(&PASSWORDS).then_some(Class::Password);
    let class = class.or_else(|| is_in(&SECRETS).then_some(Class::Secret))?;
    Some((class, Strength::Strong))
}

/// The classification of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    class: Class,
    strength: Strength,
    /// Whether it is in upper case, like an environment variable.
    is_env: bool,
    /// Whether it is just `token`, which has many meanings.
    is_plain_token: bool,
    /// Whether one of its words is `secret`.
    is_secret: bool,
    /// Whether it is just `key`, which has even more.
    is_plain_key: bool,
    /// Whether it is a plural such as `tokens`, which is more often followed by a count than by a secret.
    is_plural: bool,
}

impl Facts {
    /// Returns whether the name is strong evidence of a secret.
    pub(super) fn is_strong(self) -> bool {
        self.strength == Strength::Strong
    }

    /// Returns whether a cell below the name contains a secret.
    pub(super) fn is_held_by(self, cell: &str) -> bool {
        !cell.contains(char::is_whitespace)
            && Promise { facts: self, style: Style::Cell }.bare(cell, "")
    }

    /// Classifies a name; `None` if it does not suggest a secret.
    pub(super) fn of(name: &str) -> Option<Self> {
        let words = words(name);
        let is_env = name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let (class, strength) = foreign(name).or_else(|| classify(&words, is_env))?;
        let is_plain_token = words.len() == 1 && words[0] == "token";
        let is_plain = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_digit()) == "key";
        let is_plain_key = match &words[..] {
            [word] => is_plain(word) && !is_env,
            [.., of, word] => is_plain(word) && matches!(of.as_str(), "primary" | "secondary"),
            [] => false,
        };
        let is_secret = words.iter().any(|word| word == "secret");
        let is_plural = words.last().is_some_and(|word| PLURALS.contains(word.as_str()));
        Some(Self { class, strength, is_env, is_plain_token, is_secret, is_plain_key, is_plural })
    }
}

/// The classification of a name and its separator.
struct Promise {
    facts: Facts,
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
            let is_password = nth == 1 && self.facts.strength == Strength::Weak;
            let is_strict = |value: &str| value.len() >= 6 && fits(Value::Strict, value, None);
            (is_password && text.get(value.clone()).is_some_and(is_strict)).then_some(value)
        };
        self.literal(text, open).or_else(password)
    }

    fn quoted(&self, value: &str) -> bool {
        if self.facts.class == Class::Password && value.len() > LONGEST_PASSWORD {
            return false;
        }
        let is_word = !value.contains(char::is_whitespace);
        match (self.facts.class, self.facts.strength) {
            (Class::Password, Strength::Strong)
                if self.facts.is_env && self.style != Style::Loose =>
            {
                value.len() >= 4 && fits(Value::Given, value, None)
            }
            // `pass` is more often a verb.
            (Class::Password, Strength::Weak) if self.style == Style::Loose => {
                self.told(value, true)
            }
            (Class::Password, _) => {
                is_word && value.len() >= 6 && fits(Value::Mixed, value, None)
                    || self.facts.is_strong() && is_phrase(value, 3)
            }
            (Class::Secret, _) => is_word && self.is_random(value, 12, None),
        }
    }

    fn bare(&self, value: &str, rest: &str) -> bool {
        let next = rest.chars().next();
        if self.facts.is_plural && !self.facts.is_env {
            return false;
        }
        if self.facts.class == Class::Secret {
            return self.is_random(value, 16, next);
        }
        if value.len() > LONGEST_PASSWORD {
            return false;
        }
        let is_given = match self.style {
            Style::Assign | Style::Pair => self.facts.is_env,
            Style::Colon => self.facts.is_env && ends_line(rest.as_bytes()),
            Style::Element => next == Some('<'),
            _ => false,
        };
        if is_given && self.facts.strength == Strength::Strong {
            return value.len() >= 4 && fits(Value::Given, value, next);
        }
        value.len() >= 6 && fits(Value::Mixed, value, next)
            || self.facts.is_strong() && is_phrase(value, 4)
    }

    /// Returns whether a value in a sentence is a secret. One that no word introduces must look even less
    /// like a word.
    fn told(&self, value: &str, is_near: bool) -> bool {
        let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
        let is_odd = has(|byte| b"!@#$%^&*+~?=".contains(byte));
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
        let is_cased = has(u8::is_ascii_uppercase);
        match self.facts.class {
            Class::Password => {
                let least = if self.facts.is_strong() { 3 } else { 5 };
                let is_disorder = if is_near {
                    is_cased && turns(value) >= least && !is_technical(value)
                } else {
                    is_cased || value.len() >= 16 && entropy(value) >= 3.0
                };
                (8..=64).contains(&value.len())
                    && is_mixed
                    && (is_odd || is_disorder)
                    && !value.contains([':', '/', ',', '\\'])
                    && fits(Value::Random, value, None)
            }
            Class::Secret => {
                value.len() >= 20
                    && !is_fingerprint(value)
                    && (!is_near || turns(value) >= 5)
                    && fits(Value::Random, value, None)
                    && entropy(value) >= 2.8
            }
        }
    }

    /// Returns whether a value at the end of a line is a secret, as in configurations: `password …`.
    fn directed(&self, value: &str) -> bool {
        let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
        (self.facts.class == Class::Password || self.facts.is_secret)
            && self.facts.is_strong()
            && (8..=64).contains(&value.len())
            && has(|byte| byte.is_ascii_uppercase() || b"!@#$%^&*+~?=".contains(byte))
            && !value.contains([':', '/', ',', '\\'])
            && !is_technical(value)
            && fits(Value::Random, value, None)
    }

    fn is_random(&self, value: &str, least: usize, next: Option<char>) -> bool {
        let strong = self.facts.strength == Strength::Strong;
        if self.facts.is_plain_key {
            return is_key_material(value) && fits(Value::Random, value, next);
        }
        if strong && self.facts.is_env && self.style != Style::Cell {
            return value.len() >= 8 && fits(Value::Mixed, value, next) && entropy(value) >= 2.5;
        }
        let least = match (strong, self.facts.is_secret) {
            (true, true) => 8,
            (true, false) => least,
            (false, _) => 16,
        };
        if is_uuid(value) {
            return strong && !self.facts.is_plain_token;
        }
        value.len() >= least && fits(Value::Random, value, next) && entropy(value) >= 2.8
    }
}

/// Returns whether a value is the fingerprint of a key, as `gpg` prints it.
fn is_fingerprint(value: &str) -> bool {
    value.len() == 40
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
    use super::*;

    #[test]
    fn a_name_is_known_in_any_script() {
        for name in ["पासवर्ड", "รหัสผ่าน", "Lösenordet", "كلمة المرور", "비밀번호", "ПАРОЛЬ"]
        {
            let facts = Facts::of(name).unwrap();
            assert!(facts.class == Class::Password && facts.is_strong(), "{name}");
        }
        for name in ["токен", "密钥", "Schlüssel"] {
            assert!(Facts::of(name).is_some_and(|facts| facts.class == Class::Secret), "{name}");
        }
        assert!(Facts::of("слово").is_none());
    }
}
