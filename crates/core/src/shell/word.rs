//! Words: quotes, the name of a program in a path, and the text that several words make.

use std::borrow::Cow;
use std::ops::Range;

use super::scan;

/// The words as one text: the space between them as written, but one blank where a redirection
/// or the end of a line stood.
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

/// A word without the line ends that a backslash hides.
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

/// A word as the program gets it, with variables and substitutions left as they are.
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

/// What stands from `start` to the next `end`, or to the end of the text, and the bytes taken.
fn until(text: &str, start: usize, end: char) -> (&str, usize) {
    match text[start..].find(end) {
        Some(len) => (&text[start..start + len], start + len + 1),
        None => (&text[start..], text.len()),
    }
}

/// Decodes `$'…'`; returns the bytes taken.
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

/// The name of the program that a first word calls.
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

/// Whether the backslashes of a word stand between the names of a path; they are no escapes then.
fn is_windows_path(path: &str) -> bool {
    let mut parts = path.split('\\');
    parts.next().is_some_and(|first| !first.is_empty() && !first.contains(['$', '`']))
        && path.contains('\\')
        && parts.all(|part| {
            part.starts_with(|char: char| char.is_alphanumeric() || "._-".contains(char))
        })
}

/// What stands after the last slash that is in no expansion.
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

/// Whether a word sets a variable: `NAME=`, `NAME+=`, `NAME[…]=`.
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
