//! Which characters a text consists of, found in one pass over it.

use std::ops::BitOr;

/// A set of kinds of characters: digits, lower-case and upper-case letters, white space, each ASCII sign, and all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alphabet(u64);

/// The set that contains each byte.
static SETS: [u64; 256] = {
    let mut sets = [0; 256];
    let mut byte = 0u8;
    loop {
        // The signs follow the five other kinds, in four ranges.
        sets[byte as usize] = 1
            << match byte {
                b'0'..=b'9' => 0,
                b'a'..=b'z' => 1,
                b'A'..=b'Z' => 2,
                b' ' | b'\t'..=b'\r' => 3,
                b'!'..=b'/' => 5 + byte - b'!',
                b':'..=b'@' => 20 + byte - b':',
                b'['..=b'`' => 27 + byte - b'[',
                b'{'..=b'~' => 33 + byte - b'{',
                _ => 4,
            };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    sets
};

impl Alphabet {
    /// The digits.
    pub(super) const DIGIT: Self = Self::of("0");
    /// The lower-case letters of ASCII.
    pub(super) const LOWER: Self = Self::of("a");
    /// The upper-case letters of ASCII.
    pub(super) const UPPER: Self = Self::of("A");
    /// The letters of ASCII.
    pub(super) const LETTER: Self = Self::of("aA");
    /// Letters and digits.
    pub(super) const WORD: Self = Self::of("aA0");
    /// All characters that are not ASCII, and control characters.
    pub(super) const OTHER: Self = Self::of("é");

    /// Returns the kinds of the characters of a text.
    pub(super) const fn of(text: &str) -> Self {
        let (bytes, mut set, mut at) = (text.as_bytes(), 0, 0);
        while at < bytes.len() {
            set |= SETS[bytes[at] as usize];
            at += 1;
        }
        Self(set)
    }

    /// Returns whether any of the kinds is in it.
    pub(super) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Returns whether no other kinds are in it.
    pub(super) const fn is_within(self, all: Self) -> bool {
        self.0 & !all.0 == 0
    }
}

impl BitOr for Alphabet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_sign_is_a_kind_of_its_own() {
        let signs = (0u8..128).filter(u8::is_ascii_punctuation).map(char::from);
        let sets = signs.map(|sign| Alphabet::of(sign.encode_utf8(&mut [0; 4])).0);
        let all = [Alphabet::WORD, Alphabet::OTHER, Alphabet::of(" ")];
        let all = sets.chain(all.map(|set| set.0));
        assert_eq!(
            all.fold(0, |all, set| if all & set == 0 { all | set } else { 0 }),
            (1 << 37) - 1
        );
    }

    proptest! {
        #[test]
        fn a_kind_is_found_wherever_it_is(text in "[ -~\té]{0,40}") {
            let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
            let alphabet = Alphabet::of(&text);
            prop_assert_eq!(alphabet.has(Alphabet::DIGIT), has(u8::is_ascii_digit));
            prop_assert_eq!(alphabet.has(Alphabet::LETTER), has(u8::is_ascii_alphabetic));
            prop_assert_eq!(alphabet.has(Alphabet::UPPER), has(u8::is_ascii_uppercase));
            prop_assert_eq!(alphabet.has(Alphabet::of("$/~")), text.contains(['$', '/', '~']));
            let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
            prop_assert_eq!(alphabet.is_within(Alphabet::WORD), is_word);
        }
    }
}
