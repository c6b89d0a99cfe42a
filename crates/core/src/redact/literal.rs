//! Where a value begins and ends, with and without quotes.

use std::ops::Range;

use super::name::{LONGEST, is_identifier};
use super::rule::REACH;
use super::separator::count;

/// Finds the literal that takes the place of a missing value: `process.env.X || "…"`, `getenv("X", "…")`.
pub(super) fn fallback(text: &[u8], at: usize) -> Option<Open> {
    let line = &text[at..text.len().min(at + 160)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let find = |or: &str| memchr::memmem::find(line, or.as_bytes()).map(|found| found + or.len());
    let is_call = line.contains(&b'(');
    let found = ["|| ", "?? ", " or ", ", "]
        .into_iter()
        .filter(|or| *or != ", " || is_call)
        .filter_map(find)
        .min()?;
    opening(text, at + found)
}

/// An opening quote.
pub(super) struct Open {
    quote: u8,
    /// Backslashes before it, which are before its closing one too.
    slashes: usize,
    /// Where the content begins.
    at: usize,
}

/// Returns the opening quote of a value, behind a prefix such as `b` or `Some(`.
pub(super) fn opening(text: &[u8], at: usize) -> Option<Open> {
    let rest = &text[at..];
    let wrap = match rest {
        _ if rest.starts_with(b"Some(") => 5,
        [b'[' | b'(', ..] => 1,
        _ => count(rest, 2, |byte| b"bBrRuUfFL@$&".contains(&byte)),
    };
    [wrap, 0].into_iter().find_map(|prefix| {
        let slashes = count(&rest[prefix..], 8, |byte| byte == b'\\');
        let quote = *rest.get(prefix + slashes)?;
        let same = count(&rest[prefix + slashes..], 3, |byte| byte == quote);
        let quotes = if same == 3 { 3 } else { 1 };
        matches!(quote, b'"' | b'\'' | b'`').then(|| Open {
            quote,
            slashes,
            at: at + prefix + slashes + quotes,
        })
    })
}

/// Returns what is between the quotes, on one line. Quotes that are escaped more deeply are inside.
pub(super) fn quoted(text: &[u8], open: &Open) -> Option<Range<usize>> {
    let most = &text[..text.len().min(open.at + REACH)];
    let mut at = open.at;
    loop {
        at += memchr::memchr2(open.quote, b'\n', most.get(at..)?)?;
        if text[at] == b'\n' {
            return None;
        }
        let slashes =
            text[open.at..at].iter().rev().take(16).take_while(|byte| **byte == b'\\').count();
        if slashes <= open.slashes {
            return Some(open.at..at - slashes);
        }
        at += 1;
    }
}

/// Returns whether a value without quotes ends here.
pub(super) fn ends_bare(text: &[u8], at: usize) -> bool {
    match text[at] {
        b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' => true,
        // A shell's backslash before a sign is a part of the value; others begin an escape.
        b'\\' => !text.get(at + 1).is_some_and(|next| b"$!&;#@*?~^%()".contains(next)),
        byte => byte.is_ascii_whitespace() || byte.is_ascii_control(),
    }
}

/// Returns the length of a value that another one may follow: `x&y=1`, `x; y`, `x, y`, `x%26y`. A sign that nothing
/// of the kind follows is a part of the value.
pub(super) fn cut(run: &[u8]) -> usize {
    let ends_at = |at: usize| match run[at] {
        b'&' | b';' | b',' => {
            let tail = &run[at + 1..];
            let name = count(tail, LONGEST, is_identifier);
            tail.is_empty()
                || matches!(tail[0], b'&' | b';' | b',' | b')' | b']' | b'}')
                || (name > 0 && matches!(tail.get(name), Some(b'=' | b':' | b'[')))
        }
        b'%' => {
            run[at..].starts_with(b"%26")
                || run[at..].starts_with(b"%0A")
                || run[at..].starts_with(b"%22")
        }
        _ => false,
    };
    (0..run.len()).find(|at| ends_at(*at)).unwrap_or(run.len())
}
