//! Finds the identifier around a keyword, and splits it into words.

use std::ops::Range;

use super::words::{KEYS, OTHER_KEYS};

/// The maximum length of an identifier in either direction from its keyword.
pub(super) const LONGEST_IDENTIFIER: usize = 64;

/// Returns whether the keyword ends where a word of an identifier ends.
pub(super) fn ends_word(text: &[u8], hit: &Range<usize>) -> bool {
    let (last, next) = (text[hit.end - 1], text.get(hit.end).copied().unwrap_or(b' '));
    match last {
        b'A'..=b'Z' => !next.is_ascii_alphabetic(),
        _ => !next.is_ascii_lowercase(),
    }
}

/// Returns whether a byte may be part of an identifier.
pub(super) fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns the identifier around a keyword; `API key` and `public key` count as one.
pub(super) fn identifier(text: &[u8], hit: &Range<usize>) -> Range<usize> {
    let back = |from: usize| {
        let head = &text[from.saturating_sub(LONGEST_IDENTIFIER)..from];
        from - head.iter().rev().take_while(|byte| is_identifier(**byte)).count()
    };
    let mut start = back(hit.start);
    if start == hit.start
        && matches!(text[start], b'k' | b'K')
        && start > 1
        && text[start - 1] == b' '
        && text[start - 2].is_ascii_alphabetic()
    {
        let before = back(start - 1);
        let before = before + usize::from(begins_in_escape(text, before));
        let word = String::from_utf8_lossy(&text[before..start - 1]).to_ascii_lowercase();
        if KEYS.contains(word.as_str()) || OTHER_KEYS.contains(word.as_str()) {
            start = before;
        }
    }
    // The `n` of `\n` is not part of the name behind it.
    if start < hit.start && begins_in_escape(text, start) {
        start += 1;
    }
    // The digits of `%3D` are not part of it either.
    if start > 0 && text[start - 1] == b'%' && start + 2 <= hit.start {
        start += 2;
    }
    let tail = &text[hit.end..text.len().min(hit.end + LONGEST_IDENTIFIER)];
    let len = tail.iter().take_while(|byte| is_identifier(**byte)).count();
    // A hyphen or dot at the end belongs to the text that follows.
    let kept = tail[..len].iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
    start..hit.end + kept
}

/// Returns whether a letter is part of `\n`.
fn begins_in_escape(text: &[u8], at: usize) -> bool {
    at > 0 && text[at - 1] == b'\\' && matches!(text[at], b'n' | b'r' | b't')
}

/// Splits an identifier into its words, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
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

/// Returns whether a value ends in its own name, and is a variable or a type: `token = lexer2.token`.
pub(super) fn ends_in(value: &[u8], name: &[u8]) -> bool {
    let tail = value.len().checked_sub(name.len()).map(|start| &value[start..]);
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(name))
}
