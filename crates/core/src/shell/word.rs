//! Handles words: quotes, the program's name in a path, and the text of several words.

use std::borrow::Cow;
use std::ops::Range;

use super::scan;

/// Joins words into one text, with the white space as written, but a single blank in place of
/// redirections and line ends.
pub(super) fn join(text: &str, words: &[Range<usize>]) -> String {
    let mut joined = String::new();
    let mut end = None;
    for word in words {
        if let Some(end) = end {
            let gap = &text[end..word.start];
            let as_written = gap.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
            joined.push_str(if as_written && !text[..end].ends_with('\n') { gap } else { " " });
        }
        joined.push_str(&unfold(&text[word.clone()]));
        end = Some(word.end);
    }
    joined
}

/// Removes the line ends after a backslash from a word.
fn unfold(raw: &str) -> Cow<'_, str> {
    if !raw.contains("\\\n") {
        return raw.into();
    }
    let mut unfolded = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    let (mut single, mut double) = (false, false);
    while let Some(char) = chars.next() {
        match char {
            '\\' if !single && chars.next_if_eq(&'\n').is_some() => continue,
            '\\' if !single => {
                unfolded.push(char);
                unfolded.extend(chars.next());
                continue;
            }
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            _ => {}
        }
        unfolded.push(char);
    }
    unfolded.into()
}

/// Returns a word as the program receives it, with variables and substitutions unchanged.
pub(super) fn unquote(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut double = false;
    while let Some(char) = rest.chars().next() {
        let taken = match char {
            '"' => {
                double = !double;
                1
            }
            '\'' if !double => {
                let (quoted, taken) = until(rest, 1, '\'');
                plain.push_str(quoted);
                taken
            }
            '$' if !double && rest.starts_with("$'") => ansi(rest, &mut plain),
            '$' if !double && rest.starts_with("$\"") => 1,
            '$' | '`' => {
                let taken = scan::expansion_len(rest);
                plain.push_str(&rest[..taken]);
                taken
            }
            '\\' => match rest[1..].chars().next() {
                Some('\n') => 2,
                Some(next) if !double || matches!(next, '$' | '`' | '"' | '\\') => {
                    plain.push(next);
                    1 + next.len_utf8()
                }
                _ => {
                    plain.push('\\');
                    1
                }
            },
            _ => {
                plain.push(char);
                char.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    plain
}

/// Returns the text from `start` to the next `end` or the end of the text, and the number of bytes
/// used.
fn until(text: &str, start: usize, end: char) -> (&str, usize) {
    match text[start..].find(end) {
        Some(len) => (&text[start..start + len], start + len + 1),
        None => (&text[start..], text.len()),
    }
}

/// Decodes `$'…'` and returns the number of bytes used.
fn ansi(text: &str, plain: &mut String) -> usize {
    let mut at = 2;
    while let Some(char) = text[at..].chars().next() {
        at += char.len_utf8();
        match char {
            '\'' => break,
            '\\' => {
                let Some(escape) = text[at..].chars().next() else { break };
                at += escape.len_utf8();
                let (radix, digits) = match escape {
                    'x' => (16, 2),
                    'u' => (16, 4),
                    'U' => (16, 8),
                    '0'..='7' => {
                        at -= 1;
                        (8, 3)
                    }
                    _ => (0, 0),
                };
                let number: String = text[at..]
                    .chars()
                    .take(digits)
                    .take_while(|char| char.is_digit(radix.max(2)))
                    .collect();
                at += number.len();
                let decoded =
                    u32::from_str_radix(&number, radix.max(2)).ok().and_then(char::from_u32);
                plain.push(match (escape, decoded) {
                    (_, Some(decoded)) => decoded,
                    ('n', _) => '\n',
                    ('t', _) => '\t',
                    ('r' | 'f' | 'v' | 'a' | 'b', _) => ' ',
                    (other, _) => other,
                });
            }
            _ => plain.push(char),
        }
    }
    at
}

/// Returns the name of the program that a first word calls.
pub(super) fn base_name(raw: &str) -> String {
    let name = match raw.trim_matches(['"', '\'']) {
        path if is_windows_path(path) => {
            path.trim_end_matches('\\').rsplit(['\\', '/']).next().unwrap_or(path).to_owned()
        }
        _ => last_part(&unquote(raw)).to_owned(),
    };
    let variable = name.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
    match variable {
        Some(variable) if is_name(variable) => format!("${variable}"),
        _ if name.trim().is_empty() => raw.to_owned(),
        _ => name.trim().to_owned(),
    }
}

/// Returns whether the backslashes of a word separate the names of a path, so that they are not
/// escapes.
fn is_windows_path(path: &str) -> bool {
    let mut parts = path.split('\\');
    parts.next().is_some_and(|first| !first.is_empty() && !first.contains(['$', '`']))
        && path.contains('\\')
        && parts.all(|part| {
            part.starts_with(|char: char| char.is_alphanumeric() || "._-".contains(char))
        })
}

/// Returns the text after the last slash that is not in an expansion.
fn last_part(path: &str) -> &str {
    let path = match path.trim_end_matches('/') {
        "" => return path,
        path => path,
    };
    let mut start = 0;
    let mut at = 0;
    while let Some(char) = path[at..].chars().next() {
        at += if matches!(char, '$' | '`') {
            scan::expansion_len(&path[at..])
        } else {
            char.len_utf8()
        };
        if char == '/' {
            start = at;
        }
    }
    &path[start..]
}

/// Returns whether a word sets a variable: `NAME=`, `NAME+=`, `NAME[…]=`.
pub(super) fn is_assignment(raw: &str) -> bool {
    let Some((name, _)) = raw.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name)
        || name.split_once('[').is_some_and(|(name, index)| is_name(name) && index.ends_with(']'))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}
