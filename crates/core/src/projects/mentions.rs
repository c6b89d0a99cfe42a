//! Finds absolute paths in any text of a home folder. A path whose hash is that of a project is
//! proven to be its path.
//!
//! The text is that of raw files: JSON, in which a backslash is written twice, and four times in
//! JSON within a string.

use std::hash::Hasher;
use std::io::{self, Read};

use rustc_hash::{FxHashSet, FxHasher};
use sha2::{Digest, Sha256};

use super::path::{is_hash, other_drive_case};

/// The longest path to consider.
const LONGEST_PATH: usize = 1024;

/// The bytes of a file that are in memory at once.
const BUFFER: usize = 1 << 20;

/// The maximum number of paths to try, more than any home folder mentions.
const MOST: usize = 4_000_000;

/// Searches for the paths of hashes.
#[derive(Debug)]
pub struct Mentions {
    wanted: FxHashSet<[u8; 32]>,
    /// Hashes of the paths that were tried.
    tried: FxHashSet<u64>,
    found: Vec<String>,
    buffer: Vec<u8>,
    path: Vec<u8>,
}

impl Mentions {
    /// Returns a search for the paths of project hashes.
    pub fn of<'a>(hashes: impl IntoIterator<Item = &'a str>) -> Self {
        let wanted = hashes.into_iter().filter_map(digest).collect();
        let (tried, found) = (FxHashSet::default(), Vec::new());
        let mut mentions = Self { wanted, tried, found, buffer: Vec::new(), path: Vec::new() };
        mentions.check("/");
        mentions
    }

    /// Returns whether any hash is still without a path.
    pub fn wants_more(&self) -> bool {
        !self.wanted.is_empty() && self.tried.len() < MOST
    }

    /// Returns the paths that were found.
    pub fn found(self) -> Vec<String> {
        self.found
    }

    /// Reads a text to its end, or until all hashes are resolved.
    pub fn read(&mut self, mut input: impl Read) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        while self.wants_more() {
            // A path that was cut at the end of the last buffer is repeated here.
            let from = buffer.len().saturating_sub(LONGEST_PATH);
            buffer.drain(..from);
            let known = buffer.len();
            let read = input.by_ref().take((BUFFER - known) as u64).read_to_end(&mut buffer)?;
            if read == 0 {
                break;
            }
            self.scan(&buffer);
        }
        self.buffer = buffer;
        Ok(())
    }

    fn scan(&mut self, text: &[u8]) {
        for at in memchr::memchr2_iter(b'/', b':', text) {
            if text[at] == b'/' && begins_posix(text, at) {
                self.posix(&text[at..]);
            } else if text[at] == b':' && begins_drive(text, at) {
                self.drive(&text[at - 1..]);
            }
        }
    }

    /// Tries the path at the beginning of `text` and the folders above it, once up to the first
    /// blank and once up to the end of the line.
    fn posix(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(LONGEST_PATH)];
        let line = text.iter().position(|byte| ends_text(*byte)).unwrap_or(text.len());
        let word = text[..line].iter().position(|byte| ends_word(*byte)).unwrap_or(line);
        for end in [word, line] {
            self.with_parents(&text[..end], b'/');
            if end == line {
                break;
            }
        }
    }

    /// Tries the path at the beginning of `text`, which begins with a drive, and the folders above
    /// it.
    fn drive(&mut self, text: &[u8]) {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.extend(&text[..2]);
        let mut word = None;
        let mut rest = &text[2..text.len().min(LONGEST_PATH)];
        while let Some((first, more)) = rest.split_first() {
            let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
            match (*first, slashes) {
                // A single backslash begins an escape, and so does the last of an odd number.
                (b'\\', n) if n % 2 == 1 => break,
                (b'\\' | b'/', _) => path.push(b'\\'),
                (b':', _) => break,
                (byte, _) if ends_text(byte) => break,
                (byte, _) => {
                    if ends_word(byte) {
                        word.get_or_insert(path.len());
                    }
                    path.push(byte);
                }
            }
            rest = if slashes > 0 { &rest[slashes..] } else { more };
        }
        let line = path.len();
        self.with_parents(&path[..word.unwrap_or(line)], b'\\');
        if word.is_some() {
            self.with_parents(&path, b'\\');
        }
        self.path = path;
    }

    fn with_parents(&mut self, path: &[u8], separator: u8) {
        // Punctuation at the end of a sentence is not part of the path.
        let trimmed = path.trim_ascii_end();
        let sentence = trimmed.iter().rposition(|byte| !matches!(byte, b'.' | b',' | b'!'));
        let sentence = sentence.map_or(0, |last| last + 1);
        for end in [trimmed.len(), sentence] {
            self.check_bytes(&trimmed[..end]);
        }
        for end in memchr::memrchr_iter(separator, trimmed) {
            // If a path was tried before, so were the folders above it.
            if !self.check_bytes(&trimmed[..end]) {
                break;
            }
        }
    }

    /// Returns whether the path was not tried before.
    fn check_bytes(&mut self, path: &[u8]) -> bool {
        let mut hasher = FxHasher::default();
        hasher.write(path);
        if path.len() < 2 || !self.tried.insert(hasher.finish()) {
            return false;
        }
        if let Ok(path) = str::from_utf8(path) {
            self.check(path);
            if let Some(other) = other_drive_case(path) {
                self.check(&other);
                self.check(&path.to_lowercase());
            }
        }
        true
    }

    fn check(&mut self, path: &str) {
        let hash: [u8; 32] = Sha256::digest(path).into();
        if self.wanted.remove(&hash) {
            self.found.push(path.to_owned());
        }
    }
}

/// Returns whether a slash begins a path, rather than being part of a word, a URL or a regular
/// expression.
fn begins_posix(text: &[u8], at: usize) -> bool {
    let follows = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | 0x80..);
    text.get(at + 1).is_some_and(follows) && begins_word(text, at)
}

/// Returns whether a colon follows a drive, which is a single letter, and precedes a slash.
fn begins_drive(text: &[u8], at: usize) -> bool {
    let is_letter = at > 0 && text[at - 1].is_ascii_alphabetic();
    let slash = text.get(at + 1);
    let is_path = match slash {
        Some(b'/') => text.get(at + 2) != Some(&b'/'),
        slash => slash == Some(&b'\\'),
    };
    is_letter && is_path && begins_word(text, at - 1)
}

fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    // The letter of an escape, such as that of a line end, is not part of a word.
    let is_escape = matches!(before, b'n' | b'r' | b't') && at > 1 && text[at - 2] == b'\\';
    let is_inside = before.is_ascii_alphanumeric()
        || matches!(before, b'.' | b'_' | b'-' | b'+' | b'/' | b'~' | b'\\' | b'$' | b'%' | 0x80..);
    // The path of a `file` URL has one slash more than that of others.
    is_escape || !is_inside || text[..at].ends_with(b"://")
}

/// Returns whether a byte ends a line of text or the string it is in.
fn ends_text(byte: u8) -> bool {
    matches!(byte, 0..b' ' | b'"' | b'\\' | 0x7F)
}

/// Returns whether a byte ends a path, unless names in it contain blanks or special characters.
fn ends_word(byte: u8) -> bool {
    ends_text(byte)
        || matches!(
            byte,
            b' ' | b'\''
                | b'`'
                | b'<'
                | b'>'
                | b'|'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'{'
                | b'}'
                | b','
                | b';'
                | b':'
                | b'*'
                | b'?'
                | b'&'
                | b'#'
        )
}

/// Parses a hash in hexadecimal digits.
fn digest(hash: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    for (n, byte) in out.iter_mut().enumerate().filter(|_| is_hash(hash)) {
        *byte = u8::from_str_radix(hash.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    is_hash(hash).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::super::path::hash_of;
    use super::*;

    fn finds(path: &str, text: &str) -> bool {
        let hash = hash_of(path);
        let mut mentions = Mentions::of([hash.as_str()]);
        mentions.read(text.as_bytes()).unwrap();
        mentions.found() == [path]
    }

    #[test]
    fn a_path_and_the_folders_above_it() {
        let path = "/home/me/old/thing";
        for text in [
            "/home/me/old/thing",
            r#"{"text":"why does /home/me/old/thing/src/main.c not build?"}"#,
            r#"{"text":"cd\n/home/me/old/thing"}"#,
            r#"{"args":"{\"path\":\"/home/me/old/thing/a\"}"}"#,
            r#""content from @/home/me/old/thing/a.md:""#,
            r#""in `/home/me/old/thing`, and""#,
            r#""it is in /home/me/old/thing.""#,
            r#""--dir=/home/me/old/thing/x:12:3""#,
            r#""file:///home/me/old/thing/x""#,
        ] {
            assert!(finds(path, text), "{text}");
        }
        for text in ["x/home/me/old/thing", "/home/me/old/thin", "/home/me/old/things/x"] {
            assert!(!finds(path, text), "{text}");
        }
        assert!(finds("/home/me/My Project (2)", r#""- /home/me/My Project (2)\n""#));
        assert!(finds("/home/me/My Project", r#""look at /home/me/My Project/a.c please""#));
        assert!(finds("/home/me/é.x", r#""/home/me/é.x/y""#));
        assert!(finds("/", "nothing"));
    }

    #[test]
    fn drives_in_json_and_in_either_case() {
        for text in [
            r#"{"path":"C:\\Users\\Me\\dev\\app\\a.c"}"#,
            r#"{"text":"see c:\\Users\\Me\\dev\\app\nthere"}"#,
            r#"{"args":"{\"path\":\"C:\\\\Users\\\\Me\\\\dev\\\\app\\\\a\"}"}"#,
            r#"{"text":"C:/Users/Me/dev/app/x"}"#,
        ] {
            assert!(finds(r"C:\Users\Me\dev\app", text), "{text}");
            assert!(finds(r"c:\users\me\dev\app", text), "{text}");
        }
        assert!(finds(r"C:\My Code\app", r#""C:\\My Code\\app\\x y""#));
        assert!(!finds(r"C:\app", r#""abC:\\app""#));
    }

    #[test]
    fn a_path_across_two_buffers() {
        for before in BUFFER - 30..BUFFER + 2 {
            let text = format!("{} /home/me/old/thing/x", "-".repeat(before));
            assert!(finds("/home/me/old/thing", &text), "{before}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in proptest::collection::vec(
            proptest::sample::select(br#"/\:cC a."n'"#.to_vec()), 0..60)) {
            Mentions::of([hash_of("/a").as_str()]).read(&text[..]).unwrap();
        }
    }
}
