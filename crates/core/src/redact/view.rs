//! Builds the text to match: without colours and invisible characters, and with entities and `\u` escapes
//! decoded.
//!
//! A secret may be interrupted by a colour code, or its name by `&quot;`. Matching runs on the view, and each
//! match is mapped back to the bytes of the original text.

use std::ops::Range;

use crate::read::block::{BLOCK, any_of};

const ENTITIES: [(&str, char); 8] = [
    ("&quot;", '"'),
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&apos;", '\''),
    ("&nbsp;", ' '),
    ("&equals;", '='),
    ("&colon;", ':'),
];

/// The maximum length of a sequence that sets a title or a link in a terminal.
const LONGEST_SEQUENCE: usize = 512;

/// A text to match, and the origin of its characters.
#[derive(Debug)]
pub(super) struct View {
    /// The decoded text.
    pub(super) text: String,
    edits: Vec<Edit>,
}

/// A range of the original that has a different form in the view, or is missing from it.
#[derive(Debug, Clone, Copy)]
struct Edit {
    view: usize,
    shown: usize,
    start: usize,
    len: usize,
}

impl View {
    /// Decodes a text: removes or replaces what would not be visible. Returns `None` if the text is its own
    /// view.
    pub(super) fn decoded(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut out = String::new();
        let mut edits = Vec::new();
        let mut copied = 0;
        for at in beginnings(bytes) {
            if at < copied {
                continue;
            }
            let Some((len, shown)) = decode(text, at) else { continue };
            if edits.is_empty() {
                out.reserve(text.len());
            }
            out.push_str(&text[copied..at]);
            let view = out.len();
            out.extend(shown);
            edits.push(Edit { view, shown: out.len() - view, start: at, len });
            copied = at + len;
        }
        if edits.is_empty() {
            return None;
        }
        out.push_str(&text[copied..]);
        Some(Self { text: out, edits })
    }

    /// Returns the bytes of the original that a range of the view came from.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start, false)..self.place(range.end, true)
    }

    /// Returns the bytes of the view that come from a range of the original.
    pub(super) fn shown(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let before = self.edits.partition_point(|edit| edit.start < at);
            let Some(edit) = before.checked_sub(1).map(|n| &self.edits[n]) else { return at };
            let end = edit.start + edit.len;
            if at < end { edit.view } else { edit.view + edit.shown + (at - end) }
        };
        place(range.start)..place(range.end)
    }

    /// Maps a position back to the original. An end excludes bytes that were dropped there; a start comes
    /// after them.
    fn place(&self, at: usize, is_end: bool) -> usize {
        let before = self
            .edits
            .partition_point(|edit| if is_end { edit.view < at } else { edit.view <= at });
        let Some(edit) = before.checked_sub(1).map(|n| &self.edits[n]) else { return at };
        let shown_end = edit.view + edit.shown;
        match at {
            _ if at >= shown_end => edit.start + edit.len + (at - shown_end),
            _ if is_end => edit.start + edit.len,
            _ => edit.start,
        }
    }
}

/// Returns the positions at which a sequence to drop or decode may begin, in order.
fn beginnings(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let (blocks, rest) = bytes.as_chunks();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let blocks = blocks.iter().copied().chain([last]).enumerate();
    let places = blocks.flat_map(|(n, block)| {
        let left = |bits: &u64| Some(*bits & (*bits - 1)).filter(|bits| *bits > 0);
        let bits = Some(marks(&block)).filter(|bits| *bits > 0);
        std::iter::successors(bits, left)
            .map(move |bits| n * BLOCK + bits.trailing_zeros() as usize)
    });
    places.filter(|at| may_differ(&bytes[*at..]))
}

/// Returns a bit for each byte of a block that may begin a sequence, which excludes the most common escapes.
fn marks(block: &[u8; BLOCK]) -> u64 {
    let backslashes = any_of(block, [b'\\']);
    let common = any_of(block, [b'n', b'"']);
    let others = any_of(block, [0x1b, b'&', 0xC2, 0xE1, 0xE2, 0xEF, 0xF3]);
    backslashes & !(common >> 1) | others
}

/// Returns whether a sequence to drop or decode may begin here. Its second byte excludes most others.
fn may_differ(rest: &[u8]) -> bool {
    match rest {
        [0x1b, ..] => true,
        [b'\\', next, ..] => matches!(next, b'u' | b'x' | b'0' | b'e' | b'\\'),
        [b'&', next, ..] => matches!(next, b'#' | b'a'..=b'z'),
        [0xC2, next, ..] => matches!(next, 0x9B | 0xA0 | 0xAD),
        [0xE1 | 0xF3, next, ..] => *next == 0xA0,
        [0xE2, next, ..] => matches!(next, 0x80 | 0x81),
        [0xEF, next, ..] => *next == 0xBB,
        _ => false,
    }
}

/// Returns the length of the sequence to drop or decode at a position, and the character that it encodes.
fn decode(text: &str, at: usize) -> Option<(usize, Option<char>)> {
    let rest = &text[at..];
    match rest.as_bytes()[0] {
        0x1b => Some((1 + sequence(&rest.as_bytes()[1..]), None)),
        b'&' => entity(rest),
        b'\\' => escape(rest),
        _ if text.is_char_boundary(at) => {
            let c = rest.chars().next()?;
            match c {
                '\u{a0}' => Some((c.len_utf8(), Some(' '))),
                '\u{9b}' => {
                    let tail = &rest.as_bytes()[c.len_utf8()..];
                    Some((c.len_utf8() + parameters(tail), None))
                }
                c => is_invisible(c).then(|| (c.len_utf8(), None)),
            }
        }
        _ => None,
    }
}

/// Returns whether a character has no width, and could be inside a secret without being visible.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the length of a terminal sequence behind its escape character.
fn sequence(tail: &[u8]) -> usize {
    match tail.first() {
        Some(b'[') => 1 + parameters(&tail[1..]),
        Some(b']' | b'P' | b'_' | b'^') => {
            let most = &tail[..tail.len().min(LONGEST_SEQUENCE)];
            match memchr::memchr2(0x07, 0x1b, most) {
                Some(end) if most[end] == 0x07 => end + 1,
                Some(end) if most.get(end + 1) == Some(&b'\\') => end + 2,
                _ => 1,
            }
        }
        Some(b'(' | b')') if tail.get(1).is_some_and(|byte| matches!(byte, b'0' | b'A' | b'B')) => {
            2
        }
        _ => 0,
    }
}

/// Returns the length of `31;1m`: parameters and the letter that ends them. Without parameters, only the
/// letters that set colours or erase count, because others may belong to the text.
fn parameters(tail: &[u8]) -> usize {
    let count = tail.iter().take(64).take_while(|byte| matches!(byte, b'0'..=b'?')).count();
    let is_end = |byte: &u8| match count {
        0 => matches!(byte, b'm' | b'K' | b'J' | b'H'),
        _ => matches!(byte, b'@'..=b'~'),
    };
    count + usize::from(tail.get(count).is_some_and(is_end))
}

fn entity(rest: &str) -> Option<(usize, Option<char>)> {
    if let Some((name, c)) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some((name.len(), Some(*c)));
    }
    let number = rest.strip_prefix("&#")?;
    let end = number.bytes().take(6).position(|byte| byte == b';')?;
    let code = match number[..end].strip_prefix(['x', 'X']) {
        Some(hex) => u8::from_str_radix(hex, 16),
        None => number[..end].parse(),
    };
    Some((2 + end + 1, Some(printable(code.ok()?)?)))
}

/// Decodes `\u003d`, `\u{3d}` and `\x3d` behind any number of backslashes, and drops an escape character with
/// the sequence that it begins.
fn escape(rest: &str) -> Option<(usize, Option<char>)> {
    let slashes = rest.bytes().take(16).take_while(|byte| *byte == b'\\').count();
    let tail = &rest.as_bytes()[slashes..];
    let (digits, len) = match tail {
        [b'u', b'0', b'0', a, b, ..] | [b'u', b'{', a, b, b'}', ..] => ([*a, *b], 5),
        [b'x', a, b, ..] => ([*a, *b], 3),
        [b'0', b'3', b'3', b'[', ..] => ([b'1', b'b'], 3),
        [b'e', b'[', ..] => ([b'1', b'b'], 1),
        _ => return None,
    };
    let code = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
    if code == 0x1b {
        return Some((slashes + len + sequence(&tail[len..]), None));
    }
    Some((slashes + len, Some(printable(code)?)))
}

fn printable(code: u8) -> Option<char> {
    (b' '..0x7f).contains(&code).then(|| char::from(code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_view_has_no_disguise() {
        for (text, want) in [
            ("\x1b[1;31mPASSWORD\x1b[0m=x", "PASSWORD=x"),
            ("a\x1b]8;;http://x\x07b\x1b]8;;\x1b\\c", "abc"),
            ("&quot;token&quot;&#58; &#x27;x&#39;", "\"token\": 'x'"),
            (r"pass\u0077ord\\u003d\x41", "password=A"),
            (r"\u001b[32mok\033[0m\e[1m", "ok"),
            ("gh\u{200b}p_\u{feff}a\u{a0}b", "ghp_a b"),
        ] {
            assert_eq!(View::decoded(text).unwrap().text, want);
        }
        assert!(View::decoded("R&D &unknown; \\user \\x é").is_none());
    }

    #[test]
    fn a_match_covers_what_is_inside_and_not_what_is_around() {
        let text = "x \x1b[1mgh\u{200b}p\x1b[0m &quot;";
        let view = View::decoded(text).unwrap();
        assert_eq!(view.text, "x ghp \"");
        assert_eq!(&text[view.original(&(2..5))], "gh\u{200b}p");
        assert_eq!(&text[view.original(&(6..7))], "&quot;");
    }

    proptest! {
        #[test]
        fn every_beginning_is_found(text in r#"(?s)(\x1b|&#|&a|\\[nux"]|\\|[\u{a0}\u{200b}\u{feff}é“a ]){0,200}"#) {
            let bytes = text.as_bytes();
            let each = (0..bytes.len()).filter(|at| may_differ(&bytes[*at..]));
            prop_assert!(beginnings(bytes).eq(each));
        }

        /// Ranges on character boundaries of the view are ranges on those of the text, in order.
        #[test]
        fn ranges_map_back(text in "(?s)(\\x1b\\[|&#|\\\\u00|\u{200b}|[a-f0-9;mé\\\\x]){0,30}") {
            let Some(view) = View::decoded(&text) else { return Ok(()) };
            let mut last = 0;
            for (at, c) in view.text.char_indices() {
                let range = view.original(&(at..at + c.len_utf8()));
                prop_assert!(range.start >= last && range.end > range.start);
                prop_assert!(text.get(range.clone()).is_some());
                prop_assert_eq!(view.shown(&range), at..at + c.len_utf8());
                last = range.end;
            }
        }
    }
}
