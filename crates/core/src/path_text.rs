//! Writes any path as text and reads it back.
//!
//! The archive stores paths in text columns, but a path need not be text: on Unix it is any bytes,
//! on Windows any 16-bit units. A path that is valid Unicode is stored unchanged; an invalid byte
//! (or unit) becomes `ESCAPE` and two (or four) hexadecimal digits. `ESCAPE` itself is escaped too,
//! so that no two paths have the same text.
//!
//! This is for storage. Use [`Path::display`] to show paths to people.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serializer};

/// Begins an escape. It is a noncharacter, which Unicode reserves for a program's own use.
const ESCAPE: char = '\u{10FFFE}';

/// Returns the text for storing a path.
pub fn to_text(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !text.contains(ESCAPE) => Cow::Borrowed(text),
        _ => Cow::Owned(escape(path.as_os_str())),
    }
}

/// Returns the path that [`to_text`] wrote. An escape that this system cannot have written is kept
/// unchanged.
pub fn from_text(text: &str) -> PathBuf {
    if text.contains(ESCAPE) { unescape(text).into() } else { text.into() }
}

#[cfg(unix)]
fn escape(path: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut out = String::new();
    let mut whole = [0; 4];
    for chunk in path.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == ESCAPE {
                push_escapes(c.encode_utf8(&mut whole).bytes(), 2, &mut out);
            } else {
                out.push(c);
            }
        }
        push_escapes(chunk.invalid().iter().copied(), 2, &mut out);
    }
    out
}

#[cfg(unix)]
fn unescape(text: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let mut out = Vec::new();
    each(text, 2, |plain, escaped| {
        out.extend_from_slice(plain.as_bytes());
        // Two digits fit into a byte.
        out.extend(escaped.and_then(|unit| u8::try_from(unit).ok()));
    });
    OsString::from_vec(out)
}

#[cfg(windows)]
fn escape(path: &OsStr) -> String {
    use std::os::windows::ffi::OsStrExt as _;
    let mut out = String::new();
    let mut whole = [0; 2];
    for c in char::decode_utf16(path.encode_wide()) {
        match c {
            Ok(ESCAPE) => {
                push_escapes(ESCAPE.encode_utf16(&mut whole).iter().copied(), 4, &mut out)
            }
            Ok(c) => out.push(c),
            Err(lone) => push_escapes([lone.unpaired_surrogate()], 4, &mut out),
        }
    }
    out
}

#[cfg(windows)]
fn unescape(text: &str) -> OsString {
    use std::os::windows::ffi::OsStringExt as _;
    let mut out = Vec::new();
    each(text, 4, |plain, escaped| {
        out.extend(plain.encode_utf16());
        out.extend(escaped);
    });
    OsString::from_wide(&out)
}

fn push_escapes<T: std::fmt::LowerHex>(
    units: impl IntoIterator<Item = T>,
    digits: usize,
    out: &mut String,
) {
    use std::fmt::Write as _;
    for unit in units {
        // Writing to a string cannot fail.
        let _ = write!(out, "{ESCAPE}{unit:0digits$x}");
    }
}

/// Calls `unit` with each stretch of plain text and the escape that ends it, if any.
fn each(text: &str, digits: usize, mut unit: impl FnMut(&str, Option<u16>)) {
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let after = at + ESCAPE.len_utf8();
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let number = rest.get(after..after + digits).filter(|hex| hex.bytes().all(is_digit));
        if let Some(number) = number.and_then(|hex| u16::from_str_radix(hex, 16).ok()) {
            unit(&rest[..at], Some(number));
            rest = &rest[after + digits..];
        } else {
            unit(&rest[..after], None);
            rest = &rest[after..];
        }
    }
    unit(rest, None);
}

/// Stores a field of type [`PathBuf`] (`#[serde(with = "path_text")]`); serde's own implementation
/// fails for a path that is not valid Unicode.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(path))
}

/// Reads a path that [`serialize`] wrote.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(from_text(&String::deserialize(deserializer)?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    fn path(bytes: &[u8]) -> PathBuf {
        OsString::from_vec(bytes.to_vec()).into()
    }

    /// Bytes that mix text, fragments of text and escapes.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..6),
            ".{0,4}".prop_map(String::into_bytes),
            "\u{10FFFE}[0-9a-f]{0,3}".prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_path_comes_back(bytes in bytes()) {
            let path = path(&bytes);
            let back = from_text(&to_text(&path));
            prop_assert_eq!(back.as_os_str().as_bytes(), bytes);
        }

        #[test]
        fn any_text_is_read(text in "(\u{10FFFE}|[0-9a-fé]){0,12}") {
            from_text(&text);
        }
    }

    #[test]
    fn plain_text_is_itself() {
        for text in ["", "/home/me/.gemini", "/home/été/日本/\u{FFFD}\u{F8FF}", "a\\b\n\0"] {
            assert!(matches!(to_text(Path::new(text)), Cow::Borrowed(same) if same == text));
            assert_eq!(from_text(text), Path::new(text));
        }
    }

    #[test]
    fn what_is_not_text_is_escaped() {
        assert_eq!(to_text(&path(b"a\xFF\xE9t\xE9/b")), "a\u{10FFFE}ff\u{10FFFE}e9t\u{10FFFE}e9/b");
        assert_eq!(from_text("a\u{10FFFE}d83d"), path(b"a\xD83d"));
        for foreign in ["\u{10FFFE}", "\u{10FFFE}F0", "\u{10FFFE}g0", "\u{10FFFE}0é"] {
            assert_eq!(from_text(foreign), Path::new(foreign));
        }
    }
}
