//! Finds known secrets wherever they occur again as a whole word.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::alphabet::Alphabet;
use super::separator::count;

/// A value of this length with a digit does not occur as a word by chance.
const LONG: usize = 12;

/// The minimum length of a value that mixes several kinds of characters.
const SHORT: usize = 8;

/// The minimum length of the run of letters and digits by which a value is looked up.
const RUN: usize = 5;

/// The number of lengths of runs that are distinguished.
const LENGTHS: usize = 63;

/// The maximum number of values that share a run. Further values consist of repetitions, and would be
/// compared over and over.
const SAME_RUN: usize = 8;

/// The values to search for, by the hash of their longest run of letters and digits.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_run: FxHashMap<u64, Vec<Value>>,
    /// A bit for each length of a run; the last one is for all greater lengths too.
    lengths: u64,
}

#[derive(Debug)]
struct Value {
    text: Arc<str>,
    /// The position of its run.
    run: usize,
    rule: usize,
}

impl Known {
    /// Adds a value that a rule found, if it is distinctive enough.
    pub(super) fn add(&mut self, text: &Arc<str>, rule: usize) {
        if !is_distinctive(text) {
            return;
        }
        let Some(run) = longest_run(text).filter(|run| run.len() >= RUN) else { return };
        self.lengths |= 1 << run.len().min(LENGTHS);
        let hash = FxBuildHasher.hash_one(&text[run.clone()]);
        // Few values share their run.
        let values = self.by_run.entry(hash).or_insert_with(|| Vec::with_capacity(1));
        if values.len() < SAME_RUN && !values.iter().any(|value| value.text == *text) {
            values.push(Value { text: text.clone(), run: run.start, rule });
            values.sort_by_key(|value| std::cmp::Reverse(value.text.len()));
        }
    }

    /// Calls `found` with the position of each known value whose run is in a range of a text, and the rule that
    /// first found it.
    pub(super) fn find(
        &self,
        text: &str,
        range: Range<usize>,
        mut found: impl FnMut(Range<usize>, usize),
    ) {
        if self.lengths == 0 {
            return;
        }
        let bytes = text.as_bytes();
        let least = self.lengths.trailing_zeros() as usize;
        let (mut at, mut done) = (range.start, 0);
        while let Some(run) = next_run(&bytes[..range.end], at, least) {
            at = run.end;
            let is_known = self.lengths >> run.len().min(LENGTHS) & 1 == 1;
            if !is_known || run.start < done || !is_whole(bytes, &run) {
                continue;
            }
            let hash = FxBuildHasher.hash_one(&text[run.clone()]);
            let Some(values) = self.by_run.get(&hash) else { continue };
            let place = |value: &Value| {
                let start = run.start.checked_sub(value.run)?;
                let range = start..start + value.text.len();
                (text.get(range.clone()) == Some(&*value.text) && is_whole(bytes, &range))
                    .then_some((range, value.rule))
            };
            if let Some((range, rule)) = values.iter().find_map(place) {
                done = range.end;
                found(range, rule);
            }
        }
    }
}

/// Returns the next run of at least so many letters and digits.
fn next_run(text: &[u8], from: usize, least: usize) -> Option<Range<usize>> {
    let mut from = from;
    loop {
        // A byte between runs excludes all runs around it, so most bytes are not read.
        let first = text.get(from..from + least)?;
        let Some(gap) = first.iter().rposition(|byte| !byte.is_ascii_alphanumeric()) else {
            let rest =
                count(&text[from + least..], usize::MAX, |byte| byte.is_ascii_alphanumeric());
            return Some(from..from + least + rest);
        };
        from += gap + 1;
    }
}

/// Returns whether no letter or digit continues the value.
fn is_whole(text: &[u8], range: &Range<usize>) -> bool {
    let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let begins =
        !is_word(range.start) || range.start.checked_sub(1).is_none_or(|before| !is_word(before));
    let ends = !is_word(range.end - 1) || !is_word(range.end);
    begins && ends
}

/// Returns whether a value means the same wherever it occurs. `postgres` may be a password in one place and a
/// word in others; `3f9c1a7be2d0` is never a word.
fn is_distinctive(text: &str) -> bool {
    let alphabet = Alphabet::of(text);
    let [digit, lower, upper] =
        [Alphabet::DIGIT, Alphabet::LOWER, Alphabet::UPPER].map(|kind| alphabet.has(kind));
    let sign = alphabet.has(const { Alphabet::of("!\"#$%&'()*+,;<=>?@[\\]^`{|}~") });
    let is_blank = || text.contains(char::is_whitespace);
    // Times, versions, addresses and numbers.
    if !lower && !upper
        || alphabet.has(const { Alphabet::of(":") }) && text.contains("://")
        || alphabet.has(const { Alphabet::of(" é") }) && is_blank()
    {
        return false;
    }
    let is_short = digit && (lower && upper || sign);
    (text.len() >= LONG && digit)
        || (text.len() >= SHORT && is_short)
        || (text.len() >= 20 && lower && upper)
}

fn longest_run(text: &str) -> Option<Range<usize>> {
    let mut longest: Option<Range<usize>> = None;
    let mut start = 0;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if byte.is_ascii_alphanumeric() {
            continue;
        }
        if longest.as_ref().is_none_or(|longest| at - start > longest.len()) {
            longest = Some(start..at);
        }
        start = at + 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(values: &[&str], text: &str) -> Vec<String> {
        let mut known = Known::default();
        for value in values {
            known.add(&(*value).into(), 0);
        }
        let mut out = Vec::new();
        known.find(text, 0..text.len(), |range, _| out.push(text[range].to_owned()));
        out
    }

    #[test]
    fn a_value_is_found_as_a_whole_word() {
        let key = "3f9c1a7be2d04586";
        let text = format!("`{key}` |{key}| x{key} {key}0 key_{key}. {key}");
        assert_eq!(places(&[key], &text), [key; 4]);
        assert_eq!(places(&["Tr0ub4dor&3xx9"], "a=Tr0ub4dor&3xx9; Tr0ub4dor"), ["Tr0ub4dor&3xx9"]);
        assert_eq!(
            places(&["harbor_key_2024"], "harbor_key_2024 harbor_key_2025"),
            ["harbor_key_2024"]
        );
    }

    #[test]
    fn words_and_numbers_are_not_remembered() {
        for value in
            ["postgres", "hunter2", "swordfish", "2026-08-14", "127.0.0.1:8080", "correct horse 1"]
        {
            assert!(!is_distinctive(value), "{value}");
        }
    }
}
