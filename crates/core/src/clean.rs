//! Removes characters from a text that could make a terminal or a page misrepresent it.
//!
//! Sessions contain other people's text: web pages, file contents, tool output. An escape sequence
//! in it could change colours, move the cursor or set the window title; a bidirectional override
//! could make a path look like another one.

use std::borrow::Cow;

/// Cleans a text of several lines; line feeds and tabs are kept.
pub fn block(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_unsafe(*c)).collect())
}

/// Returns whether a text of several lines can stay unchanged. Texts are long and nearly all are
/// clean, so bytes are examined in pieces, and characters only where a byte may begin an unsafe
/// one.
fn is_clean(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_unsafe_at = |at: usize| match bytes[at] {
        byte if byte < 0x80 => true,
        _ => text[at..].chars().next().is_some_and(is_unsafe),
    };
    bytes.chunks(64).enumerate().all(|(n, piece)| {
        let suspect = piece.iter().fold(false, |any, byte| any | may_be_unsafe(*byte));
        let mut places = (0..piece.len()).filter(|at| may_be_unsafe(piece[*at]));
        !suspect || !places.any(|at| is_unsafe_at(n * 64 + at))
    })
}

/// Cleans a text that must stay on one line, such as a table cell or a path. Characters that would
/// break or shift the line become spaces.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let safe = |c: char| match c {
        '\n' | '\t' | '\r' | '\u{2028}' | '\u{2029}' => Some(' '),
        c => (!is_unsafe(c)).then_some(c),
    };
    Cow::Owned(text.chars().filter_map(safe).collect())
}

/// Yields the characters of a text as one line, with white space collapsed and trimmed and without
/// unsafe characters. Reads no more of the text than needed, because texts can be long.
pub fn one_line(text: &str) -> impl Iterator<Item = char> {
    let (mut has_begun, mut is_gap) = (false, false);
    text.chars().flat_map(move |c| {
        let is_space = c.is_whitespace();
        is_gap |= is_space && has_begun;
        let kept = Some(c).filter(|c| !is_space && !is_unsafe(*c));
        has_begun |= kept.is_some();
        let gap = Some(' ').filter(|_| kept.is_some() && std::mem::take(&mut is_gap));
        [gap, kept].into_iter().flatten()
    })
}

/// Cleans a message that repeats user input. It also removes the joiners, which scripts and emoji
/// need, but which can make two words look alike.
pub fn message(text: &str) -> String {
    block(text).chars().filter(|c| !matches!(c, '\u{200C}' | '\u{200D}')).collect()
}

/// Returns whether a character that begins with this byte may be unsafe: control characters, and
/// the first bytes of C1, of U+061C, of U+2000 to U+2FFF, of U+F000 to U+FFFF and of U+C0000 to
/// U+FFFFF.
fn may_be_unsafe(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t')
        | matches!(byte, 0x7F | 0xC2 | 0xD8 | 0xE2 | 0xEF | 0xF3)
}

/// Returns whether a character is unsafe: control characters (C0, DEL, C1), marks and overrides of
/// writing direction, the separators that some terminals treat as line ends, and characters that
/// are not visible. The joiners are safe, because scripts and emoji need them.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200B}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{2069}'
                | '\u{FEFF}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_and_what_stays() {
        assert_eq!(line("plain é 🥛"), "plain é 🥛");
        assert_eq!(line("a\x1b[31mred\x07\u{9b}2J\u{7f}"), "a[31mred2J");
        assert_eq!(line("a\r\nb\tc\u{2028}d"), "a  b c d");
        assert_eq!(line("evil\u{202E}gnp.exe\u{2066}\u{200F}"), "evilgnp.exe");
        assert_eq!(block("a\r\n\tb\x1b]0;title\x07\u{2029}"), "a\n\tb]0;title");
        assert_eq!(line("pass\u{200b}word\u{feff}\u{e0041} 👩\u{200d}💻"), "password 👩\u{200d}💻");
        assert!(matches!(block("a\n\tb é – → ص 👩\u{200d}💻"), Cow::Borrowed(_)));
        assert_eq!(one_line(" \ra\n\u{202E}\tb\u{7} c  ").collect::<String>(), "a b c");
        assert_eq!(message("a\u{200d}\u{feff}b\u{e0041}\u{9b}\r\nc 🥛"), "ab\nc 🥛");
    }

    /// The shortcut agrees with the rule in any surroundings.
    #[test]
    fn every_unsafe_character_is_found() {
        let all =
            ('\0'..='\u{3000}').chain('\u{F000}'..='\u{FFFF}').chain('\u{E0000}'..='\u{E0FFF}');
        for c in all.filter(|c| !matches!(c, '\n' | '\t')) {
            let text = format!("{}–{c}.", "x".repeat(70));
            assert_eq!(is_clean(&text), !is_unsafe(c), "{c:?}");
        }
    }
}
