//! Takes out of a text what could make a terminal or a page lie.
//!
//! Sessions hold other people's text: web pages, file contents, tool output. An escape sequence in
//! it could recolour, move the cursor or retitle the window; a bidirectional override could show a
//! path that is not the path.

use std::borrow::Cow;

/// A text of several lines: line feeds and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(may_be_unsafe) {
        return Cow::Borrowed(text);
    }
    if text.chars().any(|c| is_unsafe(c) && !matches!(c, '\n' | '\t')) {
        Cow::Owned(text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_unsafe(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text that must stay on one line, such as a table cell or a path: what would break or shift the
/// line becomes a space.
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

/// Whether a character with this byte can be unsafe: a look at bytes is enough for most texts.
fn may_be_unsafe(byte: u8) -> bool {
    match byte {
        b'\n' | b'\t' => false,
        // The beginnings of C1, of U+061C and of U+2000 to U+2FFF.
        0xC2 | 0xD8 | 0xE2 => true,
        byte => byte.is_ascii_control(),
    }
}

/// Control characters (C0, DEL, C1), marks and overrides of writing direction, and the separators
/// that some terminals take for line ends.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
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
        assert!(matches!(block("a\n\tb"), Cow::Borrowed(_)));
    }
}
