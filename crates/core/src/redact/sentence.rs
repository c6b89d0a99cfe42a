//! Finds the values that sentences assign to names: `the password for the VPN is …`, `use … as the password`.

use std::ops::Range;

use memchr::memrchr2_iter;

use super::scan::floor;
use super::separator::{GAP, count, margin};
use super::words::{EQUATES, LINKS};

/// The maximum distance between a name and its value in a sentence.
const FAR: usize = 96;

/// The maximum number of words to try as a value.
const MOST: usize = 5;

/// A position where a value may begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead {
    /// The position in the text.
    pub(super) at: usize,
    /// Whether only white space separates it from the name.
    pub(super) is_near: bool,
    /// Whether it is on a later line than its name, where it must be alone.
    pub(super) is_below: bool,
}

/// Returns the positions where the value of a name may begin: at the next word, and behind each word that can
/// introduce it.
pub(super) fn leads(text: &str, from: usize) -> impl Iterator<Item = Lead> {
    let line = &text[from..floor(text, from + FAR)];
    // The value is on this line, or alone on a following one.
    let line = &line[..line.find('\n').map_or(line.len(), |end| end + 1)];
    let is_next = line.starts_with(' ') && !line[1..].starts_with(' ');
    let near = is_next.then_some(Lead { at: from + 1, is_near: true, is_below: false });
    let far = LINKS.ends(line.as_bytes()).map(move |link| {
        // The backslash of an escaped line end is skipped with it.
        let link = link - usize::from(line[..link].ends_with(":\\"));
        let gap = gap(&text[from + link..]);
        let between = &text.as_bytes()[from + link - 1..from + link + gap];
        let is_below = between.iter().any(|byte| matches!(byte, b'\n' | b'\\'));
        Lead { at: from + link + gap, is_near: false, is_below }
    });
    near.into_iter().chain(far).take(MOST)
}

/// Returns the only word of the line below a name that is alone on its own line.
pub(super) fn below(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let head = text[..name.start].trim_end_matches([' ', '*', '#', '`', '+']);
    if !(head.is_empty() || head.ends_with(['\n', '"']) || head.ends_with("\\n")) {
        return None;
    }
    let rest = text[name.end..].trim_start_matches([' ', '*', '`', ':']);
    let is_end = |text: &str| text.is_empty() || text.starts_with(['\n', '\r', '\\', '"']);
    let start = text.len() - rest.len() + gap(rest);
    if !is_end(rest) {
        return None;
    }
    let start = start + count(&text.as_bytes()[start..], GAP, |byte| byte == b':' || byte == b' ');
    let is_value = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'`' | b'\\' | b'"');
    let end = start + count(&text.as_bytes()[start..], FAR, is_value);
    is_end(text[end..].trim_start_matches([' ', '`'])).then_some(start..end)
}

/// Returns the word that a sentence equates with the name behind it: `use … as the password`.
pub(super) fn before(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let from = floor(text, name.start.saturating_sub(FAR));
    let head = &text[from..name.start];
    let from = from + head.rfind('\n').map_or(0, |end| end + 1);
    let mut end =
        name.start.checked_sub(1).filter(|end| *end >= from && text.as_bytes()[*end] == b' ')?;
    // `… (that is the password)`
    let head = &text.as_bytes()[from..end];
    let mut open = memrchr2_iter(b'(', b')', head).take_while(|at| head[*at] == b'(');
    if let Some(open) = open.find(|at| head[..*at].ends_with(b" ")) {
        return Some(last_word(text, from, from + open - 1));
    }
    for _ in 0..4 {
        let word = text[from..end].rfind(' ')?;
        let is_last = EQUATES.contains(&text[from + word + 1..end]);
        if !text[from + word + 1..end].bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        end = from + word;
        if is_last {
            return Some(last_word(text, from, end));
        }
    }
    None
}

/// Returns the last word of a part of a text, without quotes and the marks of bold text.
fn last_word(text: &str, from: usize, end: usize) -> Range<usize> {
    let is_mark = |c: char| matches!(c, '`' | '"' | '\'' | ' ');
    let value = text[from..end].trim_end_matches(is_mark).trim_end_matches("**");
    let value = value.trim_end_matches(is_mark);
    let start = value.rfind(is_mark).map_or(0, |mark| mark + 1);
    let bold = value[start..].len() - value[start..].trim_start_matches("**").len();
    from + start + bold..from + value.len()
}

/// Returns the length of the white space and marks before a value, including escaped line ends.
fn gap(text: &str) -> usize {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '`' | '「' | '“' | '*' | '+' | '>');
    let mut rest = text;
    for _ in 0..GAP {
        let slashes = count(rest.as_bytes(), 16, |byte| byte == b'\\');
        let escaped = rest[slashes..].strip_prefix('n').filter(|_| slashes > 0);
        let Some(next) = escaped.or_else(|| rest.strip_prefix(is_gap)) else { break };
        let is_line_end = escaped.is_some() || rest.starts_with('\n');
        rest = &next[if is_line_end { margin(next.as_bytes()) } else { 0 }..];
    }
    text.len() - rest.len()
}
