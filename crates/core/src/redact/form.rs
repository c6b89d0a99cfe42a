//! Recognizes forms of random text, regardless of the text around it.

use super::words::{NAMES, PLACES, TECHNICAL};

/// Returns whether a text is a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether a text consists of random words: `copper-maple-pickle-magnet`. Names for things in a program have
/// other words.
pub(super) fn is_phrase(text: &str, least: usize) -> bool {
    let is_word = |part: &str| {
        (4..=9).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_lowercase())
            && !NAMES.iter().chain(&PLACES).any(|name| part.contains(name))
    };
    text.split('-').count() >= least && text.split('-').all(is_word)
}

/// Returns whether a text is padded base64 of random bytes, like a key, and not of a text or a public key.
pub(super) fn is_key_material(text: &str) -> bool {
    const PUBLIC: [&str; 2] = ["MII", "AAAA"];
    let is_hex = |part: &str| part.len() >= 24 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.split_once(':').is_some_and(|(id, key)| is_hex(id) && is_hex(key)) {
        return true;
    }
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    text.len() >= 32
        && text.ends_with('=')
        && text.bytes().all(is_base64)
        && !PUBLIC.iter().any(|begin| text.starts_with(begin))
        && base64(text).iter().any(|byte| *byte >= 0x80)
}

/// Returns whether a text is base64 of `user:password`.
pub(super) fn is_basic(text: &str) -> bool {
    let decoded = base64(text);
    decoded.len() >= 3
        && decoded.contains(&b':')
        && decoded.iter().all(|byte| (b' '..0x7f).contains(byte) || *byte >= 0x80)
}

fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count).to_le_bytes()[0]);
        }
    }
    out
}

/// Returns the number of changes between digits, lower-case and upper-case letters, not counting the change
/// from upper to lower case at the beginning of a word. A name such as `Base64Encoder` has few of them.
pub(super) fn turns(text: &str) -> usize {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => Some(0),
        b'a'..=b'z' => Some(1),
        b'A'..=b'Z' => Some(2),
        _ => None,
    };
    let pairs = text.bytes().zip(text.bytes().skip(1));
    let turns = pairs.filter_map(|(a, b)| Some((kind(a)?, kind(b)?)));
    turns.filter(|(a, b)| a != b && (*a, *b) != (2, 1)).count()
}

/// Returns whether a text contains the name of an algorithm or protocol, which may have digits:
/// `PBKDF2WithHmacSHA256`, `OAuth2Client`.
pub(super) fn is_technical(text: &str) -> bool {
    TECHNICAL.is_match(text)
}

/// Returns whether the entropy of a text is at least so many bits per character.
pub(super) fn has_entropy(text: &str, least: f64) -> bool {
    let mut seen = [0u32; 256];
    let mut squares = 0;
    for byte in text.bytes() {
        let seen = &mut seen[usize::from(byte)];
        squares += 2 * *seen + 1;
        *seen += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a secret is no longer than its reach")]
    let length = text.len() as f64;
    // The probability that two characters are equal is a bound that takes one logarithm.
    if length * length >= f64::from(squares) * least.exp2() {
        return true;
    }
    let counts = seen.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -counts.map(|share| share * share.log2()).sum::<f64>() >= least
}

/// Returns the length of the longest run of bytes that are equal to the one before or next to it in the alphabet. In
/// random text it is 3 at most, as a rule.
pub(super) fn small_steps(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut run, mut longest) = (0, 0);
    for (a, b) in bytes.iter().zip(bytes.iter().skip(1)) {
        let is_small = b.wrapping_sub(*a).wrapping_add(1) <= 2 || (*a == b'9' && *b == b'0');
        run = (run + 1) * usize::from(is_small);
        longest = longest.max(run);
    }
    longest + 1
}

/// Returns whether at least half of a text consists of runs such as `12345678`, `abcdef`, `00000000`.
pub(super) fn is_sequence(text: &str) -> bool {
    const LEAST: usize = 5;
    let bytes = text.as_bytes();
    let step = |at: usize| match (bytes[at], bytes[at + 1]) {
        (b'9', b'0') => 1,
        (a, b) => i16::from(b) - i16::from(a),
    };
    let (mut covered, mut from) = (0, 0);
    for at in 1..=bytes.len() {
        let continues = at < bytes.len()
            && step(at - 1).abs() <= 1
            && (at - from < 2 || step(at - 1) == step(at - 2));
        if !continues {
            if at - from >= LEAST {
                covered += at - from;
            }
            from = at;
        }
    }
    covered * 2 >= bytes.len()
}

/// Returns whether a text is masked by repeated characters: `****`, `xxxx`, `00000000`.
pub(super) fn is_masked(text: &str) -> bool {
    let mut chars = text.chars();
    let is_same = chars
        .next()
        .is_some_and(|first| chars.next() == Some(first) && chars.all(|next| next == first));
    let (mut before, mut run) = (0, 0);
    let mut is_mask = |byte: u8| {
        run = if byte == before { run + 1 } else { 1 };
        before = byte;
        match byte {
            _ if run < 3 => false,
            b'*' => true,
            b'x' | b'X' | b'#' => run >= 4,
            b'0' => run >= 8,
            _ => false,
        }
    };
    is_same || text.bytes().any(&mut is_mask) || text.contains("•••") || text == "…"
}

/// Returns whether a text is a hexadecimal number, a version or a time: `0x1f`, `^7.1.2`, `2026-05-04t10:22`.
pub(super) fn is_number(text: &str) -> bool {
    let is_time = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b't',
        _ => byte.is_ascii_digit(),
    };
    if text.len() >= 16 && text.bytes().take(13).enumerate().all(is_time) {
        return true;
    }
    let version = text.trim_start_matches(['^', '~', '>', '<', '=', 'v']);
    if version.contains('.') && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return true;
    }
    // `v0.0.0-20240311101010-9ba36f88b40a`
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let release = version.split(['-', '+']).next().unwrap_or_default();
    if release.len() < version.len()
        && release.split('.').count() == 3
        && release.split('.').all(is_part)
    {
        return true;
    }
    let digits = text.strip_prefix("0x").unwrap_or_default();
    (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text is too long and has too many signs for code, like the keys of web frameworks:
/// `x4(^b!&q=7…`.
pub(super) fn is_of_signs(text: &str) -> bool {
    text.len() >= 32
        && text.bytes().filter(|byte| b"!@#$%^&*=+".contains(byte)).count() >= 3
        && !text.contains(char::is_whitespace)
        && !text.contains(['"', '\'', ';', ','])
}

/// Returns whether a text is public by its form: the checksum of a package (`sha512-…`), the address of an account
/// (`0x…`).
pub(super) fn is_public(text: &str) -> bool {
    let digest = text.strip_prefix("sha").and_then(|rest| rest.split_once('-'));
    let is_checksum = digest.is_some_and(|(bits, _)| matches!(bits, "1" | "256" | "384" | "512"));
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_checksum || text.strip_prefix("0x").is_some_and(|rest| rest.len() == 40 && is_hex(rest))
}

/// Returns whether a text is a pattern for paths: `tests/ui/*.rs`, `prod/*`, `*:*`.
pub(super) fn is_glob(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || b"/._*:-".contains(&byte);
    text.contains('*') && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_and_sequences() {
        for masked in ["***", "xxxx1", "ab####", "00000000", "zz", "•••", "…", "a•••"]
        {
            assert!(is_masked(masked), "{masked}");
        }
        for not in ["", "z", "a**", "xxxa", "00000001", "aab"] {
            assert!(!is_masked(not), "{not}");
        }
        for sequence in ["", "12345678", "78901", "edcba", "aaaaaa", "abcdefk2Qx"] {
            assert!(is_sequence(sequence), "{sequence}");
        }
        for not in ["1234", "1", "12132435", "abcdek2Qx7w", "1212121212"] {
            assert!(!is_sequence(not), "{not}");
        }
    }

    proptest! {
        #[test]
        fn the_bound_of_the_entropy_is_one(text in "[a-d0-9éA-Z]{1,40}", least in 0.0..6.0f64) {
            let bytes = text.as_bytes();
            let number = |count: usize| f64::from(u32::try_from(count).unwrap());
            let share = |byte: u8| {
                let same = bytes.iter().filter(|other| **other == byte);
                number(same.count()) / number(bytes.len())
            };
            let entropy: f64 = (0..=255)
                .map(share)
                .filter(|share| *share > 0.0)
                .map(|share| -share * share.log2())
                .sum();
            prop_assume!((entropy - least).abs() > 1e-9);
            prop_assert_eq!(has_entropy(&text, least), entropy >= least);
        }
    }
}
