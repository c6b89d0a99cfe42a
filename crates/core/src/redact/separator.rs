//! What is between a name and its value, in every notation that gives a value to a name.

use std::ops::Range;

use super::literal::opening;
use super::name::is_identifier;
use super::scan::floor;
use super::words::LINKS;

/// White space between a name, a separator and a value.
const GAP: usize = 24;

/// What is between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `=`, `:=`, `=>`
    Assign,
    /// `:`
    Colon,
    /// The next cell of a Markdown table.
    Cell,
    /// `, `, `(`, ` `, ` is `: only what is in quotes counts.
    Loose,
    /// `<name>…</name>`
    Element,
    /// `value="…"` behind `name="NAME"`, in XML, YAML or JSON.
    Pair,
}

/// Returns what separates a name from its value, and where the value begins.
pub(super) fn separator(text: &[u8], name: &Range<usize>) -> Option<(Style, usize)> {
    let (mut at, mut is_quoted) = (name.end, false);
    for _ in 0..6 {
        let slashes = count(&text[at..], 8, |byte| byte == b'\\');
        match text.get(at + slashes) {
            Some(b'"' | b'\'' | b'`') => (at, is_quoted) = (at + slashes + 1, true),
            Some(b']' | b'*' | b'?' | b'!') if slashes == 0 => at += 1,
            _ => break,
        }
    }
    let spaces = blanks(&text[at..]);
    let mut from = at + spaces;
    // `Unseal Key 1: …`
    let number = count(&text[from..], 2, |byte| byte.is_ascii_digit());
    if spaces > 0 && matches!(text.get(from + number), Some(b':' | b'=')) {
        from += number;
    }
    let rest = &text[from..];
    let (style, len) = match rest {
        [b'=' | b'-', b'>', ..] | [b':', b'=' | b'-', ..] | [b'+' | b'!', b'=', ..]
            if !rest.starts_with(b"!==") =>
        {
            (Style::Assign, 2)
        }
        [b'=' | b'!', b'=', b'=', ..] | [b'|', b'|', b'=', ..] | [b'?', b'?', b'=', ..] => {
            (Style::Assign, 3)
        }
        [b'=', b'=', ..] => (Style::Assign, 2),
        [b'=', ..] => (Style::Assign, 1),
        [b'%', b'3', b'd' | b'D' | b'a' | b'A', ..] => (Style::Assign, 3),
        [b':', b':', ..] => return None,
        [b':', tail @ ..] => match typed(tail) {
            Some(len) => (Style::Loose, 1 + len),
            None => (Style::Colon, 1),
        },
        _ if rest.starts_with("：".as_bytes()) || rest.starts_with("＝".as_bytes()) => {
            (Style::Colon, 3)
        }
        _ if rest.starts_with("→".as_bytes()) => (Style::Assign, 3),
        _ if spaces > 0 && !is_quoted && opening(rest, 0).is_some() => (Style::Loose, 0),
        _ if spaces > 0 && rest.starts_with(b"As ") => (Style::Loose, typed(&rest[2..])? + 2),
        [b'<', b'/', ..] => (Style::Cell, next_element(rest)?),
        [b'|', next, ..] if *next != b'|' && is_cell(text, name.start) => (Style::Cell, 1),
        [b'>', ..] if is_quoted => (Style::Cell, 1),
        _ if is_element(text, name.start) => (Style::Element, tag_end(rest)?),
        [b'(', ..] if !is_quoted && spaces == 0 => (Style::Loose, 1),
        [b',' | b'\n' | b'\r' | b'\\' | b'v' | b'V', ..] => match pair(&text[at..]) {
            Some(len) => return after_gap(text, Style::Pair, at + len),
            None if is_quoted && rest[0] == b',' => (Style::Loose, 1),
            None => return None,
        },
        _ if spaces > 0 => (Style::Loose, verb(rest)?),
        _ => return None,
    };
    after_gap(text, style, from + len)
}

fn after_gap(text: &[u8], style: Style, at: usize) -> Option<(Style, usize)> {
    let mut at = at + blanks(&text[at..]);
    match (style, text.get(at)) {
        (Style::Element, Some(b'<')) => at += tag_end(&text[at..])?,
        (Style::Colon, Some(b'>' | b'|')) => at += scalar(&text[at..]),
        _ => {}
    }
    // The end of what was bold.
    let stars = count(&text[at..], 3, |byte| byte == b'*');
    if stars < 3 && text.get(at + stars).is_some_and(|next| matches!(next, b' ' | b'`')) {
        at += stars + blanks(&text[at + stars..]);
    }
    (at < text.len()).then_some((style, at))
}

/// Returns the length of the rest of a tag, which has to be short.
fn tag_end(rest: &[u8]) -> Option<usize> {
    let rest = &rest[..rest.len().min(80)];
    let end = memchr::memchr2(b'>', b'\n', rest)?;
    (rest[end] == b'>').then_some(end + 1)
}

/// Returns the length of `</key> <string>`, between the name and the value of a property list.
fn next_element(rest: &[u8]) -> Option<usize> {
    let end = tag_end(rest)?;
    let gap = lines(&rest[end..]);
    (rest.get(end + gap) == Some(&b'<')).then(|| Some(end + gap + tag_end(&rest[end + gap..])?))?
}

/// Returns the length of `|` or `>-` and the line end that begins a block of YAML.
fn scalar(rest: &[u8]) -> usize {
    let mark = 1 + count(&rest[1..], 1, |byte| matches!(byte, b'-' | b'+'));
    let is_block = matches!(rest.get(mark), Some(b'\n' | b'\r' | b'\\'));
    if is_block { mark + lines(&rest[mark..]) } else { 0 }
}

/// Returns the length of blanks and line ends, also escaped ones and those of a diff.
fn lines(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < 2 * GAP {
        let slashes = count(&rest[at..], 8, |byte| byte == b'\\');
        at += match rest.get(at + slashes) {
            Some(b'n' | b'r' | b't') if slashes > 0 => slashes + 1,
            Some(byte) if slashes == 0 && (byte.is_ascii_whitespace() || *byte == b'+') => 1,
            _ => break,
        };
    }
    at
}

/// Returns where a sentence may give the value of a name: behind the first word that can lead to it, and behind the
/// colon at the end. Without either it is the next word.
pub(super) fn sentence(text: &str, from: usize) -> [Option<usize>; 2] {
    let line = &text[from..floor(text, from + 96)];
    // The value is on this line, or alone on one of the next.
    let line = &line[..line.find('\n').map_or(line.len(), |end| end + 1)];
    let Some(first) = LINKS.first(line) else {
        let is_next = line.starts_with(' ') && !line[1..].starts_with(' ');
        return [is_next.then_some(from + 1), None];
    };
    let colon = memchr::memrchr(b':', line.as_bytes()).filter(|at| line[*at..].starts_with(": "));
    let last = colon.map(|at| at + 2).filter(|last| *last > first);
    let value = |link: usize| {
        let is_gap = |c: char| c.is_whitespace() || matches!(c, '`' | '「' | '“' | '*' | '+' | '>');
        // The backslash of an escaped line end is skipped with it.
        let link = link - usize::from(line[..link].ends_with(":\\"));
        let mut rest = &text[from + link..];
        for _ in 0..GAP {
            let slashes = count(rest.as_bytes(), 16, |byte| byte == b'\\');
            let escaped = rest[slashes..].strip_prefix('n').filter(|_| slashes > 0);
            let Some(next) = escaped.or_else(|| rest.strip_prefix(is_gap)) else { break };
            rest = next;
        }
        Some(text.len() - rest.len())
    };
    [value(first), last.and_then(value)]
}

/// Returns the length of ` &str =` behind the colon of a declaration.
fn typed(tail: &[u8]) -> Option<usize> {
    let at = blanks(tail);
    let at = at + count(&tail[at..], 1, |byte| byte == b'&');
    let letters = count(&tail[at..], 12, |byte| byte.is_ascii_alphabetic());
    let end = at + letters + blanks(&tail[at + letters..]);
    (letters > 0 && tail.get(end) == Some(&b'=')).then_some(end + 1)
}

/// Returns the length of `", "value": ` between the name and the value of a pair.
fn pair(rest: &[u8]) -> Option<usize> {
    let rest = &rest[..rest.len().min(160)];
    let mut at = 0;
    loop {
        let escape = matches!(&rest[at..], [b'\\', b'n' | b'r' | b't', ..]);
        let is_gap = |byte: u8| {
            byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'' | b'\\' | b'+' | b'-')
        };
        match rest.get(at) {
            Some(_) if escape => at += 2,
            Some(byte) if is_gap(*byte) => at += 1,
            _ => break,
        }
    }
    let word = rest.get(at..at + 5)?;
    if !word.eq_ignore_ascii_case(b"value") || at == 0 {
        return None;
    }
    at += 5 + count(&rest[at + 5..], 8, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    at += blanks(&rest[at..]);
    matches!(rest.get(at), Some(b':' | b'=')).then_some(at + 1)
}

/// Returns the length of `is ` where it leads to something in quotes.
fn verb(rest: &[u8]) -> Option<usize> {
    let verbs = ["is ", "was ", "to ", "ist ", "est ", "es ", "é ", "è "];
    verbs.iter().find(|verb| rest.starts_with(verb.as_bytes())).map(|verb| verb.len())
}

/// Returns whether a name is alone in a cell: `| **NAME** |`.
fn is_cell(text: &[u8], start: usize) -> bool {
    let head = &text[start.saturating_sub(GAP)..start];
    let before = head.iter().rev().find(|byte| !matches!(byte, b' ' | b'*' | b'`' | b'"'));
    before == Some(&b'|')
}

/// Returns whether a name is that of an element: `<NAME>`, `<ns:NAME>`.
fn is_element(text: &[u8], start: usize) -> bool {
    let head = &text[start.saturating_sub(GAP)..start];
    let prefix =
        head.iter().rev().take_while(|byte| is_identifier(**byte) || **byte == b':').count();
    head.len() > prefix && head[head.len() - prefix - 1] == b'<'
}

pub(super) fn count(text: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    text.iter().take(most).take_while(|byte| is(**byte)).count()
}

pub(super) fn blanks(text: &[u8]) -> usize {
    count(text, GAP, |byte| matches!(byte, b' ' | b'\t'))
}
