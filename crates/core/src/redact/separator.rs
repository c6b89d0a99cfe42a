//! Finds the separator between a name and its value, in every notation that assigns a value to a name.

use std::ops::Range;

use super::identifier::is_identifier;
use super::literal::opening;

/// The maximum length of white space between a name, a separator and a value.
pub(super) const GAP: usize = 24;

/// The names of attributes that contain a value.
const VALUES: [&str; 7] =
    ["value", "default", "defaultValue", "content", "stringValue", "plaintext", "s"];

/// The beginning of character data in XML.
const CDATA: &[u8] = b"<![CDATA[";

/// The line between the cells of a table that is drawn with box characters.
const BAR: &[u8] = "│".as_bytes();

/// A notation that assigns a value to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `=`, `:=`, `=>`
    Assign,
    /// `:`
    Colon,
    /// The next cell of a Markdown table.
    Cell,
    /// `, `, `(`, ` `, ` is `: only a value in quotes counts.
    Loose,
    /// `<name>…</name>`
    Element,
    /// `value="…"` behind `name="NAME"`, in XML, YAML or JSON.
    Pair,
    /// `{ default = "…" }`, and its equivalent by indentation.
    Nested,
}

/// Returns the notation that separates a name from its value, and the position at which the value begins.
pub(super) fn separator(text: &[u8], name: &Range<usize>) -> Option<(Style, usize)> {
    let (mut at, mut is_quoted) = (name.end, false);
    for _ in 0..6 {
        let slashes = count(&text[at..], 8, |byte| byte == b'\\');
        match text.get(at + slashes) {
            Some(b'"' | b'\'' | b'`') => (at, is_quoted) = (at + slashes + 1, true),
            Some(b']' | b'*' | b'?' | b'!') if slashes == 0 => at += 1,
            Some(b'[') if slashes == 0 => at += array(&text[at..])?,
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
        // The default of a shell variable.
        [b':', b'-', ..] => (Style::Colon, 2),
        [b'=' | b'-', b'>', ..] | [b':' | b'+' | b'!', b'=', ..] if !rest.starts_with(b"!==") => {
            (Style::Assign, 2)
        }
        [b'=' | b'!', b'=', b'=', ..] | [b'|', b'|', b'=', ..] | [b'?', b'?', b'=', ..] => {
            (Style::Assign, 3)
        }
        [b'=', b'=', ..] => (Style::Assign, 2),
        // What a variable that is not set is replaced by: `process.env.NAME || "…"`.
        [b'|', b'|', b' ', ..] | [b'?', b'?', b' ', ..] if spaces > 0 => (Style::Loose, 2),
        [b'=', ..] => (Style::Assign, 1),
        [b'%', b'3', b'd' | b'D' | b'a' | b'A', ..] => (Style::Assign, 3),
        // A type, and the message for a missing shell variable.
        [b':', b':' | b'?', ..] => return None,
        // A variable of psql.
        [b':', b'\'', ..] if spaces > 0 && !is_quoted => return None,
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
        _ if rest.starts_with(BAR) && is_cell(text, name.start) => (Style::Cell, BAR.len()),
        // A row of a record that is printed line by line.
        [b'|', b' ', ..] if spaces > 0 && begins_line(text, name.start) => (Style::Cell, 1),
        [b'>', ..] if is_quoted => (Style::Cell, 1),
        _ if is_element(text, name.start) => (Style::Element, tag_end(rest)?),
        [b'(', ..] | [b'{', b'"' | b'\'' | b'\\', ..] if !is_quoted && spaces == 0 => {
            (Style::Loose, 1)
        }
        [b'{', ..] if is_quoted => (Style::Nested, 0),
        // `ENV.fetch("NAME") { "…" }`
        [b')', b' ', b'{', ..] if is_quoted => (Style::Loose, 3),
        // `getByLabel("Password").fill("…")`
        [b')', b'.', tail @ ..] if is_quoted => {
            let name = count(tail, GAP, |byte| byte.is_ascii_alphabetic() || byte == b'_');
            (tail.get(name) == Some(&b'(')).then_some((Style::Loose, name + 3))?
        }
        [b',' | b'\n' | b'\r' | b'\\' | b'v' | b'V', ..] => match pair(&text[at..]) {
            Some(len) => return after_gap(text, Style::Pair, at + len),
            // `"NAME", "…"` in a call, `{name, "…"}` in a tuple.
            None if rest[0] == b',' && (is_quoted || opens_tuple(text, name.start)) => {
                (Style::Loose, 1)
            }
            None => return None,
        },
        [b'a'..=b'z', ..] if is_quoted && spaces > 0 => match pair(&text[at..]) {
            Some(len) => return after_gap(text, Style::Pair, at + len),
            None => (Style::Loose, verb(rest)?),
        },
        _ if spaces > 0 => (Style::Loose, verb(rest)?),
        _ => return None,
    };
    after_gap(text, style, from + len)
}

/// Returns the length of `[16]` behind the name of an array to which a literal is assigned.
fn array(rest: &[u8]) -> Option<usize> {
    let end = 2 + count(&rest[1..], 4, |byte| byte.is_ascii_digit());
    let sign = end + blanks(rest.get(end..)?);
    let value = sign + 1 + blanks(rest.get(sign + 1..)?);
    let is_literal = matches!(rest.get(value), Some(b'"' | b'\'' | b'\\'));
    (rest[end - 1] == b']' && rest[sign] == b'=' && is_literal).then_some(end)
}

fn after_gap(text: &[u8], style: Style, at: usize) -> Option<(Style, usize)> {
    let mut at = at + blanks(&text[at..]);
    // The type of a YAML value: `!!str "…"`.
    if style == Style::Colon && text.get(at) == Some(&b'!') {
        let tag = count(&text[at..], GAP, |byte| byte.is_ascii_alphabetic() || byte == b'!');
        let gap = blanks(&text[at + tag..]);
        if gap > 0 && matches!(text.get(at + tag + gap), Some(b'"' | b'\'' | b'\\')) {
            at += tag + gap;
        }
    }
    match (style, text.get(at)) {
        (Style::Colon | Style::Assign | Style::Nested, Some(b'{' | b'\n' | b'\r' | b'\\')) => {
            if let Some(len) = nested(&text[at..]) {
                return after_gap(text, Style::Pair, at + len);
            }
            // A value that is alone on the next line is handled like one in a sentence.
            if lines(&text[at..]) > 0 {
                return None;
            }
        }
        // A placeholder in a URL: `//<user>:<password>@host`.
        (Style::Element, Some(b'@')) => return None,
        (Style::Element, Some(b'<')) if text[at..].starts_with(CDATA) => at += CDATA.len(),
        (Style::Element, Some(b'<')) => at += tag_end(&text[at..])?,
        (Style::Assign, Some(b'<')) => at += here_document(&text[at..]),
        (Style::Colon, Some(b'>' | b'|')) => at += scalar(&text[at..]),
        _ => {}
    }
    // The end of bold text.
    let stars = count(&text[at..], 3, |byte| byte == b'*');
    if stars < 3 && text.get(at + stars).is_some_and(|next| matches!(next, b' ' | b'`')) {
        at += stars + blanks(&text[at + stars..]);
    }
    (at < text.len()).then_some((style, at))
}

/// Returns the length of the rest of a tag, which must be short.
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

/// Returns the length of `|` or `>-` and the line end that begin a block scalar of YAML.
fn scalar(rest: &[u8]) -> usize {
    let mark = 1 + count(&rest[1..], 1, |byte| matches!(byte, b'-' | b'+'));
    let is_block = matches!(rest.get(mark), Some(b'\n' | b'\r' | b'\\'));
    if is_block { mark + lines(&rest[mark..]) } else { 0 }
}

/// Returns the length of blanks and line ends, including escaped ones and those of a diff.
fn lines(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < 2 * GAP {
        let slashes = count(&rest[at..], 8, |byte| byte == b'\\');
        at += match rest.get(at + slashes) {
            Some(b'n') if slashes > 0 => slashes + 1 + margin(&rest[at + slashes + 1..]),
            Some(b'\n') if slashes == 0 => 1 + margin(&rest[at + 1..]),
            Some(b'r' | b't') if slashes > 0 => slashes + 1,
            Some(byte) if slashes == 0 && (byte.is_ascii_whitespace() || *byte == b'+') => 1,
            _ => break,
        };
    }
    at
}

/// Returns the length of what may be before the text of a line: its number, the time or the source of a log, a place
/// that `grep` prints.
pub(super) fn margin(line: &[u8]) -> usize {
    let indent = count(line, GAP, |byte| matches!(byte, b' ' | b'\t' | b'+'));
    let line = &line[indent..];
    let digits = count(line, 6, |byte| byte.is_ascii_digit());
    if digits > 0 && line[digits..].starts_with("→".as_bytes()) {
        return indent + digits + "→".len();
    }
    let name = count(line, 40, is_identifier);
    let bar = name + blanks(&line[name..]);
    if name > 0 && bar > name && line[bar..].starts_with(b"| ") {
        return indent + bar + 2;
    }
    let path = count(line, 80, |byte| byte.is_ascii_graphic() && !b":\"'\\".contains(&byte));
    let number = count(line.get(path + 1..).unwrap_or_default(), 6, |byte| byte.is_ascii_digit());
    let end = path + 1 + number;
    if path > 0 && number > 0 && line[path] == b':' && matches!(line.get(end), Some(b':' | b'-')) {
        return indent + end + 1;
    }
    let open = count(line, 1, |byte| byte == b'[');
    let time = count(&line[open..], 32, |byte| byte.is_ascii_digit() || b":.,TZ+-".contains(&byte));
    let close = open + time + count(&line[open + time..], 1, |byte| byte == b']');
    let is_time = time >= 5
        && line[open].is_ascii_digit()
        && line[open..open + time].contains(&b':')
        && line.get(close) == Some(&b' ');
    if !is_time {
        return 0;
    }
    let source = count(&line[close + 1..], 8, |byte| byte.is_ascii_lowercase());
    let is_source = source > 1 && line.get(close + 1 + source) == Some(&b' ');
    indent + close + 1 + if is_source { source + 1 } else { 0 }
}

/// Returns the length of ` &'static str =` behind the colon of a declaration.
fn typed(tail: &[u8]) -> Option<usize> {
    let is_type = |byte: u8| byte.is_ascii_alphabetic() || b"&'<>[]|?*. ".contains(&byte);
    let end = count(tail, 40, is_type);
    let has_name = tail[..end].iter().any(u8::is_ascii_alphabetic);
    (has_name && tail.get(end) == Some(&b'=')).then_some(end + 1)
}

/// Returns whether a name is the first of a tuple: `{name, …}`, `{:name, …}`.
fn opens_tuple(text: &[u8], start: usize) -> bool {
    let head = &text[..start];
    head.strip_suffix(b":").unwrap_or(head).ends_with(b"{")
}

/// Returns the length of `", "value": ` between the name and the value of a pair, with other attributes before it.
fn pair(rest: &[u8]) -> Option<usize> {
    let rest = &rest[..rest.len().min(160)];
    let mut at = 0;
    for _ in 0..3 {
        let gap = between(&rest[at..]);
        let (is_value, len) = attribute(&rest[at + gap..])?;
        at += gap + len;
        if gap == 0 || is_value {
            return (gap > 0).then_some(at);
        }
        let quotes = count(&rest[at..], 8, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'\\'));
        at += quotes + count(&rest[at + quotes..], GAP, |byte| is_identifier(byte) || byte == b'/');
    }
    None
}

/// Returns the length of `{ type = string, default = ` between a name and its value.
fn nested(rest: &[u8]) -> Option<usize> {
    let rest = &rest[..rest.len().min(240)];
    let slashes = count(rest, 8, |byte| byte == b'\\');
    if slashes > 0 && !matches!(rest.get(slashes), Some(b'n' | b'r')) {
        return None;
    }
    let open = count(rest, 1, |byte| byte == b'{');
    let mut at = open;
    for _ in 0..4 {
        at += between(&rest[at..]);
        let (is_value, len) = attribute(&rest[at..])?;
        at += len;
        if is_value {
            return Some(at);
        }
        let ends = |at: &usize| match rest[*at] {
            b'\n' | b'{' | b'}' => true,
            b'\\' => matches!(rest.get(at + 1), Some(b'n' | b'r')),
            byte => open == 1 && byte == b',',
        };
        let end = (at..rest.len()).find(ends)? - at;
        // A line of YAML without a value begins another block.
        if matches!(rest[at + end], b'{' | b'}') || blanks(&rest[at..]) == end {
            return None;
        }
        at += end;
    }
    None
}

/// Returns the length of the gap between two attributes.
fn between(rest: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += match &rest[at..] {
            [b'\\', b'n', tail @ ..] => 2 + margin(tail),
            [b'\n', tail @ ..] => 1 + margin(tail),
            [b'\\', b'r' | b't', ..] => 2,
            [byte, ..] if byte.is_ascii_whitespace() || b",\"'\\+-".contains(byte) => 1,
            _ => return at,
        };
    }
}

/// Returns the length of `value":`, and whether the name is that of a value.
fn attribute(rest: &[u8]) -> Option<(bool, usize)> {
    let name = count(rest, GAP, |byte| byte.is_ascii_alphabetic());
    let is_value = VALUES.iter().any(|value| rest[..name].eq_ignore_ascii_case(value.as_bytes()));
    let mut at = name + count(&rest[name..], 8, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    at += blanks(&rest[at..]);
    (name > 0 && matches!(rest.get(at), Some(b':' | b'='))).then_some((is_value, at + 1))
}

/// Returns the length of `<<EOF` and its line end.
fn here_document(rest: &[u8]) -> usize {
    let line = &rest[..rest.len().min(GAP)];
    let end = memchr::memchr2(b'\n', b'\\', line).filter(|_| line.starts_with(b"<<"));
    end.map_or(0, |end| end + lines(&rest[end..]))
}

/// Returns the length of a verb such as `is ` that introduces a value in quotes.
fn verb(rest: &[u8]) -> Option<usize> {
    let verbs = ["is ", "was ", "to ", "ist ", "est ", "es ", "é ", "è "];
    verbs.iter().find(|verb| rest.starts_with(verb.as_bytes())).map(|verb| verb.len())
}

/// Returns whether a name is alone in a cell: `| **NAME** |`.
fn is_cell(text: &[u8], start: usize) -> bool {
    let head = &text[start.saturating_sub(GAP)..start];
    let end = head.iter().rposition(|byte| !matches!(byte, b' ' | b'*' | b'`' | b'"'));
    end.is_some_and(|end| head[end] == b'|' || head[..=end].ends_with(BAR))
}

/// Returns whether a name is the first of its line.
fn begins_line(text: &[u8], start: usize) -> bool {
    let head = &text[start.saturating_sub(GAP)..start];
    let before = head.iter().rev().find(|byte| !matches!(byte, b' ' | b'>' | b'+'));
    before.is_none_or(|byte| matches!(byte, b'\n' | b'"')) || head.ends_with(b"\\n")
}

/// Returns whether a name is that of an element: `<NAME>`, `<ns:NAME>`.
fn is_element(text: &[u8], start: usize) -> bool {
    let head = &text[start.saturating_sub(GAP)..start];
    let prefix =
        head.iter().rev().take_while(|byte| is_identifier(**byte) || **byte == b':').count();
    head.len() > prefix && head[head.len() - prefix - 1] == b'<'
}

/// Returns the number of leading bytes that match `is`, up to `most`.
pub(super) fn count(text: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    text.iter().take(most).take_while(|byte| is(**byte)).count()
}

/// Returns the number of leading spaces and tabs, up to `GAP`.
pub(super) fn blanks(text: &[u8]) -> usize {
    count(text, GAP, |byte| matches!(byte, b' ' | b'\t'))
}
