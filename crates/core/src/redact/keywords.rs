//! Searches a text for the literals of all rules at once.
//!
//! A bitmap says which four bytes some literal begins with, regardless of case; only there literals are compared. Few places
//! pass, so that its branch is predicted. An automaton would find the same, but waits for memory at each byte.

use std::ops::Range;

/// The number of keys. A key is the lowest five bits of three bytes, which are the same for upper and lower
/// case.
const KEYS: usize = 1 << 15;

/// The same of four bytes.
const BEGINS: usize = 1 << 20;

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
}

impl Keywords {
    /// Builds the table of a list of literals.
    pub(super) fn new(list: &[Keyword]) -> Self {
        let mut by_key: Vec<(usize, Form)> = Vec::new();
        for (number, keyword) in list.iter().enumerate() {
            let mut spellings = keyword.spellings();
            spellings.sort_unstable();
            spellings.dedup();
            for spelling in spellings {
                let any_case = keyword.any_case;
                let form = Form { bytes: spelling.into_bytes().into(), any_case, number };
                by_key.extend(form.keys().map(|key| (key, form.clone())));
            }
        }
        by_key.sort_by_key(|(key, _)| *key);
        let mut begins = vec![0; BEGINS / 64].into_boxed_slice();
        let mut starts = vec![0; KEYS + 1];
        for (key, form) in &by_key {
            let fourth = form.bytes.get(3).map(|byte| usize::from(byte & 31));
            for fourth in fourth.map_or(0..32, |byte| byte..byte + 1) {
                let begin = key | fourth << 15;
                begins[begin / 64] |= 1 << (begin % 64);
            }
            starts[key + 1] += 1;
        }
        for key in 0..KEYS {
            starts[key + 1] += starts[key];
        }
        Self { begins, starts, forms: by_key.into_iter().map(|(_, form)| form).collect() }
    }

    /// Returns the index and the position of every literal in a text, in the order of their starts.
    pub(super) fn find<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
        let bytes = text.as_bytes();
        let begins = Begins { keywords: self, bytes, at: 0, begin: key(bytes) << 5 };
        begins.flat_map(move |(at, key)| {
            let forms = &self.forms[self.starts[key] as usize..self.starts[key + 1] as usize];
            let here = forms.iter().filter(move |form| form.is_at(&bytes[at..]));
            here.map(move |form| (form.number, at..at + form.bytes.len()))
        })
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
    fn is_at(&self, text: &[u8]) -> bool {
        text.get(..self.bytes.len()).is_some_and(|text| {
            // Most forms with the same key differ in their last byte.
            let case = if self.any_case { 0x20 } else { 0 };
            let differs = |(a, b): (&u8, &u8)| (a ^ b) & !case != 0;
            if text.last().zip(self.bytes.last()).is_some_and(differs) {
                return false;
            }
            if self.any_case { self.bytes.eq_ignore_ascii_case(text) } else { *self.bytes == *text }
        })
    }

    /// Returns the keys that it may begin with. A literal of one or two bytes may be followed by anything.
    fn keys(&self) -> impl Iterator<Item = usize> + use<> {
        let fixed = 5 * self.bytes.len().min(3);
        let begin = key(&self.bytes);
        (0..KEYS >> fixed).map(move |rest| begin | rest << fixed)
    }
}

fn key(bytes: &[u8]) -> usize {
    bytes.iter().take(3).rev().fold(0, |key, byte| key << 5 | usize::from(byte & 31))
}

/// The places where a literal may begin, and their keys.
struct Begins<'a> {
    keywords: &'a Keywords,
    bytes: &'a [u8],
    at: usize,
    /// The lowest bits of the byte before and of the three bytes here.
    begin: usize,
}

impl Iterator for Begins<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let bits = &*self.keywords.begins;
        while self.at < self.bytes.len() {
            let at = self.at;
            let fourth = self.bytes.get(at + 3).map_or(0, |byte| usize::from(byte & 31));
            self.at += 1;
            self.begin = self.begin >> 5 | fourth << 15;
            if bits[self.begin / 64] >> (self.begin % 64) & 1 == 1 {
                return Some((at, self.begin % KEYS));
            }
        }
        None
    }
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
        keywords.find(text).map(|(n, range)| (n, &text[range])).collect()
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
    fn short_and_overlapping_literals_are_found() {
        let list = [("@", false), ("ab", false), ("abc", false), ("bcd", false)];
        assert_eq!(found(&list, "abcd@"), [(1, "ab"), (2, "abc"), (3, "bcd"), (0, "@")]);
        assert_eq!(found(&list, "a"), []);
        assert_eq!(found(&list, "ab"), [(1, "ab")]);
    }
}
