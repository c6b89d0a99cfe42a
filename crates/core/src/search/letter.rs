//! Decides what a character is to a word, and folds letters for case and accents.

use std::cell::RefCell;
use std::ops::Deref;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What a character other than those of ASCII is to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// It is invisible inside a word.
    Ignored,
    /// It is a letter of a script without spaces.
    Spaceless,
    /// It is another letter or digit.
    Spaced {
        is_upper: bool,
        is_lower: bool,
        /// Its folded form, unless that is long.
        folded: Option<Folded>,
    },
    /// It ends a word.
    None,
}

/// A short text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Folded {
    length: u8,
    bytes: [u8; 6],
}

impl Folded {
    fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; 6];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { length: u8::try_from(text.len()).ok()?, bytes })
    }
}

impl Deref for Folded {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// The number of characters that are remembered. A text has few different ones, and finding out about one takes longer
/// than all else about it.
const KNOWN: usize = 512;

thread_local! {
    /// Characters at the place that their number gives, and what they are.
    static LETTERS: RefCell<[(char, Letter); KNOWN]> = const { RefCell::new([('\0', Letter::None); KNOWN]) };
}

impl Letter {
    /// Returns what a character is.
    pub(super) fn of(c: char) -> Self {
        if is_common(c) {
            return Self::Spaceless;
        }
        LETTERS.with_borrow_mut(|letters| {
            // The letters of a script follow one another; this spreads scripts, too.
            let place = u32::from(c).wrapping_mul(0x9E37_79B9) >> (u32::BITS - KNOWN.ilog2());
            let known = &mut letters[place as usize];
            if known.0 != c {
                *known = (c, Self::classify(c));
            }
            known.1
        })
    }

    fn classify(c: char) -> Self {
        if is_ignored(c) {
            return Self::Ignored;
        }
        if !c.is_alphanumeric() && !is_combining_mark(c) {
            return Self::None;
        }
        if is_spaceless(c) {
            return Self::Spaceless;
        }
        let mut folded = String::new();
        fold(c, &mut folded);
        let folded = Folded::new(&folded);
        Self::Spaced { is_upper: c.is_uppercase(), is_lower: c.is_lowercase(), folded }
    }
}

/// Appends a letter without case and accents.
pub(super) fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        out.extend(c.to_lowercase().filter(char::is_ascii_alphanumeric));
        return;
    }
    for small in c.to_lowercase() {
        // These have no decomposition, but people type them like this.
        let plain = match small {
            'ß' => "ss",
            'æ' => "ae",
            'œ' => "oe",
            'ø' => "o",
            'đ' | 'ð' => "d",
            'ł' => "l",
            'ı' => "i",
            'þ' => "th",
            _ => "",
        };
        if !plain.is_empty() {
            out.push_str(plain);
            continue;
        }
        decompose_compatible(small, |c| {
            let is_letter = c.is_alphanumeric() || is_combining_mark(c);
            if is_letter && !is_ignored(c) {
                out.extend(c.to_lowercase().filter(|c| !c.is_ascii() || c.is_ascii_alphanumeric()));
            }
        });
    }
}

/// Returns whether a character is invisible inside a word: accents that follow their letter, and
/// characters without width.
pub(super) fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{300}'..='\u{36F}' | '\u{483}'..='\u{487}' | '\u{61C}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{20D0}'..='\u{20FF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FE20}'..='\u{FE2F}' | '\u{FEFF}')
}

/// Returns whether a character is one of the many letters of China, Japan and Korea, which are recognized without
/// a lookup in a table.
fn is_common(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Returns whether a script puts no spaces between words: those of China, Japan and Korea, Thai,
/// Lao, Burmese, Khmer.
fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{11FF}' | '\u{1780}'..='\u{17FF}'
        | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FFDC}' | '\u{1B000}'..='\u{1B16F}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_letters_are_letters() {
        for c in ('\0'..=char::MAX).filter(|c| is_common(*c)) {
            assert!(c.is_alphanumeric() && is_spaceless(c), "{c:?}");
        }
    }

    /// What is remembered of a character is that of no other one.
    #[test]
    fn every_character_is_what_it_is() {
        for c in ('\u{80}'..=char::MAX).step_by(7).chain('\u{80}'..'\u{3000}') {
            assert_eq!(Letter::of(c), Letter::classify(c), "{c:?}");
            if let Letter::Spaced { folded: Some(text), .. } = Letter::of(c) {
                let mut folded = String::new();
                fold(c, &mut folded);
                assert_eq!(*text, *folded, "{c:?}");
            }
        }
    }
}
