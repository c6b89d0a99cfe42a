//! Values behind a name: `DB_PASSWORD=…`, `"apiKey": "…"`, `**Token:** …`, `<password>…`, `setSecret("…")`.
//!
//! A keyword leads here. The identifier around it is taken apart into words, which say how much the name promises;
//! what separates it from its value and how the value looks decide the rest.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::literal::{cut, ends_bare, fallback, opening, quoted};
use super::separator::{Style, blanks, count, sentence, separator};
use super::value::{Value, entropy, fits, is_uuid};
use super::words::{
    KEYS, NOT_PASS, OTHER_KEYS, OTHER_TOKENS, PASSWORDS, SUFFIXES, WEAK, WEAK_ENV, Words,
};

/// The longest identifier that is looked at, in either direction from its keyword.
pub(super) const LONGEST: usize = 64;

/// The longest value without quotes.
const LONGEST_VALUE: usize = 8192;

/// The longest password.
const LONGEST_PASSWORD: usize = 256;

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Password,
    Secret,
}

/// How much a name promises: a weak one needs a value that cannot be anything but random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

/// A value behind a name.
#[derive(Debug)]
pub(super) struct Place {
    /// Where its name begins.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
}

/// Finds values in one text. Remembers the run of characters it was in, so that a text made of names alone costs
/// no more than any other.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The last value that was taken.
    taken: Range<usize>,
    /// The identifier that was looked at last.
    last: Range<usize>,
    run: Range<usize>,
    spent: usize,
    seen: FxHashMap<Box<str>, Option<Facts>>,
}

impl Names {
    /// Looks behind the name that has its keyword at `hit`.
    pub(super) fn look(&mut self, text: &str, hit: Range<usize>, class: Class) -> Option<Place> {
        let bytes = text.as_bytes();
        if !ends_word(bytes, &hit) {
            return None;
        }
        let name = identifier(bytes, &hit);
        if self.taken.contains(&name.start) || name == self.last {
            return None;
        }
        let separator = separator(bytes, &name);
        if separator.is_some_and(|(_, at)| self.run.contains(&at)) && self.is_spent() {
            return None;
        }
        let facts = self.facts(text.get(name.clone())?).filter(|facts| facts.class == class)?;
        self.last = name.clone();
        let mut promise = Promise { facts, style: Style::Loose };
        let value = separator.and_then(|(style, at)| {
            promise.style = style;
            self.value(text, at, &promise)
        });
        let is_told = promise.style == Style::Loose;
        let value = match value {
            None if is_told => self.told(text, name.end, &promise)?,
            value => value?,
        };
        self.taken = value.clone();
        Some(Place { start: name.start, value })
    }

    /// Returns what a name promises. The same names come again and again.
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

    /// Returns the value that begins at `at`, if the name promised one like it.
    fn value(&mut self, text: &str, at: usize, promise: &Promise) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if let Some(open) = opening(bytes, at) {
            let value = quoted(bytes, &open)?;
            return promise.quoted(text.get(value.clone())?).then_some(value);
        }
        if promise.style == Style::Loose {
            return None;
        }
        let value = self.bare(text, at)?;
        if promise.bare(&text[value.clone()], &text[value.end..]) {
            return Some(value);
        }
        if !text[value.clone()].contains(['.', '(', '[']) {
            return None;
        }
        let value = quoted(bytes, &fallback(bytes, at)?)?;
        promise.quoted(text.get(value.clone())?).then_some(value)
    }

    /// Returns the value that a sentence gives to a name: `the password for the VPN is …`. It must look like nothing
    /// but a secret.
    fn told(&mut self, text: &str, from: usize, promise: &Promise) -> Option<Range<usize>> {
        if promise.facts.strength == Strength::Weak {
            return None;
        }
        let bytes = text.as_bytes();
        sentence(text, from).into_iter().flatten().find_map(|at| {
            let value = if let Some(open) = opening(bytes, at) {
                quoted(bytes, &open)?
            } else {
                let value = self.bare(text, at)?;
                let ascii = count(&bytes[value.clone()], LONGEST_VALUE, |byte| byte.is_ascii());
                value.start..value.start + ascii
            };
            promise.told(text.get(value.clone())?, at == from + 1).then_some(value)
        })
    }

    fn is_spent(&self) -> bool {
        self.spent > 2 * self.run.len() + 4096
    }

    /// Returns a value without quotes.
    fn bare(&mut self, text: &str, at: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if !self.run.contains(&at) {
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

/// Returns whether the keyword ends where a word of an identifier ends.
fn ends_word(text: &[u8], hit: &Range<usize>) -> bool {
    let (last, next) = (text[hit.end - 1], text.get(hit.end).copied().unwrap_or(b' '));
    match last {
        b'A'..=b'Z' => !next.is_ascii_alphabetic(),
        _ => !next.is_ascii_lowercase(),
    }
}

pub(super) fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns the identifier around a keyword; `API key` counts as one.
fn identifier(text: &[u8], hit: &Range<usize>) -> Range<usize> {
    let back = |from: usize| {
        let head = &text[from.saturating_sub(LONGEST)..from];
        from - head.iter().rev().take_while(|byte| is_identifier(**byte)).count()
    };
    let mut start = back(hit.start);
    if start == hit.start
        && start > 1
        && text[start - 1] == b' '
        && text[start - 2].is_ascii_alphabetic()
    {
        let before = back(start - 1);
        let word = String::from_utf8_lossy(&text[before..start - 1]).to_ascii_lowercase();
        if KEYS.contains(word.as_str()) {
            start = before;
        }
    }
    // The `n` of `\n` is not a part of the name behind it.
    if start > 0
        && text[start - 1] == b'\\'
        && matches!(text[start], b'n' | b'r' | b't')
        && start < hit.start
    {
        start += 1;
    }
    // Nor is the end of a colour code whose escape character was lost, nor `%3D`.
    if start > 0 && text[start - 1] == b'%' && start + 2 <= hit.start {
        start += 2;
    }
    let tail = &text[hit.end..text.len().min(hit.end + LONGEST)];
    let len = tail.iter().take_while(|byte| is_identifier(**byte)).count();
    // A hyphen or dot at the end belongs to what follows.
    let kept = tail[..len].iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
    start..hit.end + kept
}

/// Splits an identifier into its words, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_camel = before.is_lowercase() && c.is_uppercase();
        let is_acronym_end = before.is_uppercase()
            && c.is_uppercase()
            && chars.peek().is_some_and(|next| next.is_lowercase());
        if is_camel || is_acronym_end || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

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
    let has = |list: &Words| head.iter().any(|word| list.contains(word.as_str()));
    if PASSWORDS.iter().any(|word| last.ends_with(word)) {
        return Some((Password, Strong));
    }
    if last.ends_with("pass") && !NOT_PASS.contains(last) || last == "pw" {
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
    let is_weak = WEAK.contains(last)
        || (is_env && qualifier.is_some() && WEAK_ENV.contains(last) && !has(&OTHER_KEYS));
    is_weak.then_some((Secret, Weak))
}

/// What a name promises.
#[derive(Debug, Clone, Copy)]
struct Facts {
    class: Class,
    strength: Strength,
    /// It is written in large letters, as in an environment.
    is_env: bool,
    /// It is `token` and nothing else, of which there are many kinds.
    is_plain_token: bool,
    /// One of the words is `secret`.
    is_secret: bool,
}

impl Facts {
    fn of(name: &str) -> Option<Self> {
        let words = words(name);
        let is_env = name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let (class, strength) = classify(&words, is_env)?;
        let is_plain_token = words.len() == 1 && words[0] == "token";
        let is_secret = words.iter().any(|word| word == "secret");
        Some(Self { class, strength, is_env, is_plain_token, is_secret })
    }
}

/// What a name and its separator promise.
struct Promise {
    facts: Facts,
    style: Style,
}

impl Promise {
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
            (Class::Password, _) => is_word && value.len() >= 6 && fits(Value::Mixed, value, None),
            (Class::Secret, _) => is_word && self.is_random(value, 12, None),
        }
    }

    fn bare(&self, value: &str, rest: &str) -> bool {
        let next = rest.chars().next();
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
    }

    /// Judges a value in a sentence; the next word must look even less like one.
    fn told(&self, value: &str, is_near: bool) -> bool {
        let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
        let is_odd = has(|byte| b"!@#$%^&*+~?=".contains(byte));
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
        match self.facts.class {
            Class::Password => {
                (8..=64).contains(&value.len())
                    && is_mixed
                    && (is_odd || (!is_near && has(u8::is_ascii_uppercase)))
                    && !value.contains([':', '/', ',', '\\'])
                    && fits(Value::Random, value, None)
            }
            Class::Secret => {
                !is_near
                    && value.len() >= 20
                    && fits(Value::Random, value, None)
                    && entropy(value) >= 3.0
            }
        }
    }

    fn is_random(&self, value: &str, least: usize, next: Option<char>) -> bool {
        let strong = self.facts.strength == Strength::Strong;
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

/// Returns whether the line ends here, or a comment begins.
fn ends_line(rest: &[u8]) -> bool {
    let at = blanks(rest);
    rest.get(at)
        .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'#' | b'"' | b'\'' | b'`' | b'\\'))
}
