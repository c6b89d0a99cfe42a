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

/// Returns the entropy of a text in bits per character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut seen = [0u32; 256];
    for byte in text.bytes() {
        seen[usize::from(byte)] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a secret is no longer than its reach")]
    let length = text.len() as f64;
    let counts = seen.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -counts.map(|share| share * share.log2()).sum::<f64>()
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
