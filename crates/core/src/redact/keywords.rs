//! Searches a text for the literals of all rules at once.
//!
//! A bitmap says which four bytes some literal begins with, regardless of case; only there literals are compared. Few places
//! pass, so that its branch is predicted. An automaton would find the same, but waits for memory at each byte.

use std::ops::Range;

/// The number of keys. A key is the lowest five bits of three bytes, which are the same for upper and lower
/// case.
const KEYS: usize = 1 << 15;

/// The same of four bytes.
const FOURS: usize = 1 << 20;

/// A literal to search for.
#[derive(Debug)]
pub(super) struct Keyword {
    /// The text to search for.
    pub(super) literal: String,
    /// Whether case is ignored.
    pub(super) any_case: bool,
}

/// All literals, identified by their indices.
#[derive(Debug)]
pub(super) struct Keywords {
    /// A bit for each four bytes that some form begins with.
    begins: Box<[u64]>,
    /// For each key, where its forms begin in `forms`; one more for the end.
    starts: Vec<u32>,
    forms: Vec<Form>,
}

/// A spelling of a literal.
#[derive(Debug, Clone)]
struct Form {
    bytes: Box<[u8]>,
    any_case: bool,
    number: usize,
    /// Its first eight bytes, the bits of a text that count, and those to set before they are compared, so that
    /// the case of letters is ignored.
    begin: u64,
    mask: u64,
    case: u64,
}

impl Keywords {
    /// Builds the table of a list of literals.
    pub(super) fn new(list: &[Keyword]) -> Self {
        let mut begins = vec![0; FOURS / 64].into_boxed_slice();
        let mut by_key: Vec<(usize, Form)> = Vec::new();
        for (number, keyword) in list.iter().enumerate() {
            let mut spellings = keyword.spellings();
            spellings.sort_unstable();
            spellings.dedup();
            for spelling in spellings {
                let form = Form::new(spelling.as_bytes(), keyword.any_case, number);
                form.starts(FOURS).for_each(|four| begins[four / 64] |= 1 << (four % 64));
                by_key.extend(form.starts(KEYS).map(|key| (key, form.clone())));
            }
        }
        by_key.sort_by_key(|(key, _)| *key);
        let mut starts = vec![0; KEYS + 1];
        for (key, _) in &by_key {
            starts[key + 1] += 1;
        }
        for key in 0..KEYS {
            starts[key + 1] += starts[key];
        }
        Self { begins, starts, forms: by_key.into_iter().map(|(_, form)| form).collect() }
    }

    /// Calls `found` with the index and the position of every literal that begins in a range of a text, in the
    /// order of their starts.
    pub(super) fn find(
        &self,
        text: &str,
        range: Range<usize>,
        mut found: impl FnMut(usize, Range<usize>),
    ) {
        let bytes = &text.as_bytes()[..text.len().min(range.end + 3)];
        let rest = bytes.get(range.start..).unwrap_or_default();
        let mut four = low_bits(&rest[..rest.len().min(3)]) << 5;
        let mut at = range.start;
        for byte in rest.get(3..).unwrap_or_default() {
            four = four >> 5 | usize::from(byte & 31) << 15;
            if self.begins[four / 64 % (FOURS / 64)] >> (four % 64) & 1 == 1 {
                self.compare(text, at, four % KEYS, &mut found);
            }
            at += 1;
        }
        for at in at..range.end {
            four >>= 5;
            self.compare(text, at, four % KEYS, &mut found);
        }
    }

    /// Calls `found` with every literal that begins at a position with a key.
    fn compare(
        &self,
        text: &str,
        at: usize,
        key: usize,
        found: &mut impl FnMut(usize, Range<usize>),
    ) {
        let rest = &text.as_bytes()[at..];
        let eight = eight(rest);
        let forms = &self.forms[self.starts[key] as usize..self.starts[key + 1] as usize];
        for form in forms {
            if (eight | form.case) & form.mask == form.begin && form.is_at(rest) {
                found(form.number, at..at + form.bytes.len());
            }
        }
    }
}

impl Keyword {
    /// Returns the spellings to compare. The comparison ignores the case of ASCII letters.
    fn spellings(&self) -> Vec<String> {
        let literal = &self.literal;
        if literal.is_ascii() || !self.any_case {
            return vec![literal.clone()];
        }
        let mut chars = literal.chars();
        let first = chars.next().into_iter().flat_map(char::to_uppercase);
        let capital = first.chain(chars).collect();
        let spellings = [literal.to_lowercase(), literal.to_uppercase(), capital];
        spellings.map(|spelling| spelling.to_ascii_lowercase()).into()
    }
}

impl Form {
    fn new(bytes: &[u8], any_case: bool, number: usize) -> Self {
        let lower = if any_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
        let each = |of: fn(&u8) -> u8| eight(&lower.iter().map(of).collect::<Vec<_>>());
        let case =
            if any_case { each(|byte| 0x20 * u8::from(byte.is_ascii_lowercase())) } else { 0 };
        let (begin, mask) = (eight(&lower), each(|_| 0xff));
        Self { bytes: lower.into(), any_case, number, begin, mask, case }
    }

    fn is_at(&self, text: &[u8]) -> bool {
        text.get(..self.bytes.len()).is_some_and(|text| {
            if self.any_case { self.bytes.eq_ignore_ascii_case(text) } else { *self.bytes == *text }
        })
    }

    /// Returns the lowest bits of the bytes that it may begin with, of which there are `most`. A literal of one or
    /// two bytes may be followed by anything.
    fn starts(&self, most: usize) -> impl Iterator<Item = usize> + use<> {
        let begin = low_bits(&self.bytes) % most;
        let fixed = (5 * self.bytes.len()).min(most.ilog2() as usize);
        (0..most >> fixed).map(move |rest| begin | rest << fixed)
    }
}

/// Returns the first eight bytes as a number; missing ones are zero.
fn eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Returns the lowest five bits of each of the first four bytes.
fn low_bits(bytes: &[u8]) -> usize {
    bytes.iter().take(4).rev().fold(0, |bits, byte| bits << 5 | usize::from(byte & 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(list: &[(&str, bool)], text: &'t str) -> Vec<(usize, &'t str)> {
        let keyword = |(literal, any_case): &(&str, bool)| Keyword {
            literal: (*literal).into(),
            any_case: *any_case,
        };
        let keywords = Keywords::new(&list.iter().map(keyword).collect::<Vec<_>>());
        let mut found = Vec::new();
        keywords.find(text, 0..text.len(), |n, range| found.push((n, &text[range])));
        found
    }

    #[test]
    fn case_counts_where_it_has_to() {
        let list = [("SK", false), ("token", true), ("şifre", true)];
        assert_eq!(
            found(&list, "sk SK Token é TOKEN Şifre ŞIFRE şifre SK"),
            [
                (0, "SK"),
                (1, "Token"),
                (1, "TOKEN"),
                (2, "Şifre"),
                (2, "ŞIFRE"),
                (2, "şifre"),
                (0, "SK")
            ]
        );
    }

    #[test]
    fn a_literal_is_found_at_every_position() {
        let list = [("ghp_", false), ("key", true), ("pw", true), ("password", true)];
        for (number, (literal, _)) in list.iter().enumerate().filter(|(n, _)| *n != 3) {
            for before in 0..20 {
                for after in 0..12 {
                    let text = format!("{}{literal}{}", ".".repeat(before), "=".repeat(after));
                    assert_eq!(found(&list, &text), [(number, *literal)], "{text}");
                }
            }
        }
    }

    #[test]
    fn short_and_overlapping_literals_are_found() {
        let list = [("@", false), ("ab", false), ("abc", false), ("bcd", false)];
        assert_eq!(found(&list, "abcd@"), [(1, "ab"), (2, "abc"), (3, "bcd"), (0, "@")]);
        assert_eq!(found(&list, "a"), []);
        assert_eq!(found(&list, "ab"), [(1, "ab")]);
    }
}
