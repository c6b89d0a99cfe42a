//! Finds where a value begins and ends, with and without quotes.

use std::ops::Range;

use super::identifier::{LONGEST_IDENTIFIER, is_identifier};
use super::rule::REACH;
use super::separator::{GAP, count};
use super::words::{FALLBACKS, WRAPPERS};

/// Finds the fallback literal of a missing value: `process.env.X || "…"`, `getenv("X", "…")`.
pub(super) fn fallback(text: &[u8], at: usize) -> Option<Open> {
    let line = &text[at..text.len().min(at + 160)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let found =
        FALLBACKS.ends(line).find(|end| !line[..*end].ends_with(b", ") || line.contains(&b'('))?;
    opening(text, at + found)
}

/// An opening quote.
pub(super) struct Open {
    quote: u8,
    /// The number of backslashes before it. Its closing quote has as many.
    slashes: usize,
    /// The position at which the content begins.
    at: usize,
    /// Whether the value is an element of a list.
    pub(super) is_listed: bool,
}

/// Returns the opening quote of a value, which may follow a prefix such as `b` or wrapping calls such as
/// `Some(String::from(`.
pub(super) fn opening(text: &[u8], at: usize) -> Option<Open> {
    let start = at + wrapping(&text[at..]);
    let is_listed = start > at && text[start - 1] == b'[';
    // A binary of Erlang: `<<"…">>`.
    let start = start + if text[start..].starts_with(b"<<") { 2 } else { 0 };
    let prefix = count(&text[start..], 2, |byte| b"bBrRuUfFL@$&".contains(&byte));
    let quote = quote(text, start + prefix).or_else(|| quote(text, at))?;
    Some(Open { is_listed, ..quote })
}

/// Returns the next literal of a list; `None` at its end.
pub(super) fn next_listed(text: &[u8], end: usize) -> Option<Open> {
    let slashes = count(&text[end..], 8, |byte| byte == b'\\');
    let comma = end + slashes + 1;
    let gap = gap(text.get(comma..)?, b",");
    quote(text, comma + gap).filter(|_| gap > 0)
}

/// Returns the length of a run of white space, escaped line ends and the given signs.
fn gap(rest: &[u8], signs: &[u8]) -> usize {
    let mut at = 0;
    while at < 2 * GAP {
        let slashes = count(&rest[at..], 8, |byte| byte == b'\\');
        at += match rest.get(at + slashes) {
            Some(b'n' | b'r' | b't') if slashes > 0 => slashes + 1,
            Some(byte) if slashes == 0 && (byte.is_ascii_whitespace() || signs.contains(byte)) => 1,
            _ => break,
        };
    }
    at
}

/// Returns the end of the last literal that is concatenated to the one that ends here: `"…" + "…"`.
pub(super) fn joined(text: &[u8], end: usize) -> usize {
    let mut end = end;
    for _ in 0..16 {
        let Some(next) = next_part(text, end).and_then(|open| quoted(text, &open)) else { break };
        if next.is_empty() || text[next.clone()].iter().any(u8::is_ascii_whitespace) {
            break;
        }
        end = next.end;
    }
    end
}

/// Returns the literal that a `+`, a `.` or white space concatenates to the one that ends here.
fn next_part(text: &[u8], end: usize) -> Option<Open> {
    let slashes = count(&text[end..], 8, |byte| byte == b'\\');
    let mark = text.get(end + slashes).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let rest = end + slashes + 1;
    let gap = gap(&text[rest..], b"+.");
    quote(text, rest + gap).filter(|open| gap > 0 && open.quote == *mark && open.slashes == slashes)
}

/// Returns the length of the calls and brackets before a literal, if they only wrap it.
fn wrapping(rest: &[u8]) -> usize {
    let mut at = 0;
    for _ in 0..3 {
        let tail = &rest[at..];
        let new = if tail.starts_with(b"new ") { 4 } else { count(tail, 1, |byte| byte == b'&') };
        let array = if tail[new..].starts_with(b"[]") { 2 } else { 0 };
        let from = new + array;
        let is_path =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'!');
        let mut end = from + count(&tail[from..], LONGEST_IDENTIFIER, is_path);
        if tail[end..].starts_with(b"().") {
            end += 2 + count(&tail[end + 2..], LONGEST_IDENTIFIER, is_path);
        }
        if !matches!(tail.get(end), Some(b'(' | b'[')) || !is_wrapper(&tail[from..end]) {
            break;
        }
        at += end + 1;
    }
    at
}

/// Returns whether a call of this name only wraps its argument. An empty name is a mere bracket.
fn is_wrapper(path: &[u8]) -> bool {
    let path = path.strip_suffix(b"!").unwrap_or(path);
    let word = path.rsplit(|byte| matches!(byte, b'.' | b':')).next().unwrap_or_default();
    let is_known = |word: &str| WRAPPERS.contains(word.to_ascii_lowercase().as_str());
    // `password.encode("utf8")` is not about its argument; `new TextEncoder().encode("…")` is.
    let is_encoder = word == b"encode" && memchr::memchr(b'(', path).is_some();
    word.is_empty() || is_encoder || str::from_utf8(word).is_ok_and(is_known)
}

/// Returns the quote at a position, behind any backslashes.
fn quote(text: &[u8], at: usize) -> Option<Open> {
    let rest = &text[at..];
    let slashes = count(rest, 8, |byte| byte == b'\\');
    let quote = *rest.get(slashes)?;
    let same = count(&rest[slashes..], 3, |byte| byte == quote);
    let quotes = if same == 3 { 3 } else { 1 };
    let at = at + slashes + quotes;
    matches!(quote, b'"' | b'\'' | b'`').then_some(Open { quote, slashes, at, is_listed: false })
}

/// Returns the text between the quotes, on one line. Quotes that are escaped more deeply are part of it.
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
        // A backslash before a shell metacharacter is part of the value; others begin an escape.
        b'\\' => !text.get(at + 1).is_some_and(|next| b"$!&;#@*?~^%()".contains(next)),
        byte => byte.is_ascii_whitespace() || byte.is_ascii_control(),
    }
}

/// Returns the length of a value that another one may follow: `x&y=1`, `x; y`, `x, y`, `x%26y`. A separator
/// that is not followed by another value is part of the value.
pub(super) fn cut(run: &[u8]) -> usize {
    let (mut has_brace, mut has_bracket) = (false, false);
    let mut ends_at = |at: usize| match run[at] {
        b'&' | b';' | b',' => {
            let tail = &run[at + 1..];
            let name = count(tail, LONGEST_IDENTIFIER, is_identifier);
            tail.is_empty()
                || matches!(tail[0], b'&' | b';' | b',' | b')' | b']' | b'}')
                || (name > 0 && matches!(tail.get(name), Some(b'=' | b':' | b'[')))
        }
        // The end of an object in code without white space: `{password:1};`
        b'}' | b')' => {
            matches!(run.get(at + 1), Some(b';' | b',' | b')' | b'}' | b']'))
                && !if run[at] == b'}' { has_brace } else { has_bracket }
        }
        b'%' => {
            run[at..].starts_with(b"%26")
                || run[at..].starts_with(b"%0A")
                || run[at..].starts_with(b"%22")
        }
        byte => {
            has_brace |= byte == b'{';
            has_bracket |= byte == b'(';
            false
        }
    };
    (0..run.len()).find(|at| ends_at(*at)).unwrap_or(run.len())
}
