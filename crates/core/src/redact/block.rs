//! Finds private keys: a complete block up to its `END`, or a truncated one as far as its base64 extends.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::rule::REACH;

/// The header fields before the base64 of a key.
const HEADERS: [&str; 6] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:"];

/// The minimum length of the base64 between `BEGIN` and `END` of a key. Code and prose about keys have less.
const LEAST: usize = 40;

/// The minimum length of a full line of a truncated key.
const LINE: usize = 20;

/// The maximum number of consecutive short pieces between two full lines.
const SHORTS: usize = 4;

/// The literals at the end and the beginning of a key.
static LITERALS: LazyLock<[memmem::Finder<'static>; 4]> =
    LazyLock::new(|| ["--END ", "-- END ", "--BEGIN ", "-- BEGIN "].map(memmem::Finder::new));

/// Finds blocks in one text. Caches the positions of the next `END` and `BEGIN`, so that every byte is read
/// once.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// For each literal, the position that the search began at, and the position of the match.
    places: [Option<(usize, usize)>; 4],
}

impl Blocks {
    /// Returns the private key that begins or ends at `at`, the position of a line of dashes with `BEGIN` or
    /// `END`.
    pub(super) fn look(&mut self, text: &str, at: usize) -> Option<Range<usize>> {
        if text.as_bytes()[at..].starts_with(b"-----END ") {
            return headless(text.as_bytes(), at);
        }
        let body = at + label(&text.as_bytes()[at..])?;
        let end = self.next(0, text, body);
        let begin = self.next(2, text, body);
        let end = end.filter(|end| begin.is_none_or(|begin| *end < begin) && *end < at + REACH);
        if let Some(end) = end.filter(|end| is_key(&text.as_bytes()[body..*end])) {
            // The dashes before `END` are part of the range.
            let label = text.as_bytes()[end..].iter().take(64).position(|byte| *byte == b'\n');
            let stop = end + label.unwrap_or(64).min(text.len() - end);
            let tail = &text.as_bytes()[end..stop];
            let after = |label: &str| Some(memmem::find(tail, label.as_bytes())? + label.len());
            let dashes = after("KEY").or_else(|| after("key V1")).unwrap_or(0);
            let close = tail[dashes..].iter().take_while(|byte| close_byte(**byte)).count();
            let closing = &tail[dashes..dashes + close];
            let last = closing.iter().rposition(|byte| *byte == b'-').map_or(0, |last| last + 1);
            return Some(at..end + dashes + last);
        }
        if end.is_some() {
            return None;
        }
        cut_off(text.as_bytes(), body).map(|end| at..end)
    }

    /// Returns the next position of either of two literals, which are numbered `first` and `first + 1`.
    fn next(&mut self, first: usize, text: &str, from: usize) -> Option<usize> {
        let places = [first, first + 1].map(|n| self.find(n, text.as_bytes(), from));
        places.into_iter().flatten().min()
    }

    fn find(&mut self, n: usize, text: &[u8], from: usize) -> Option<usize> {
        let found = match self.places[n] {
            Some((asked, found)) if asked <= from && from <= found => found,
            _ => LITERALS[n].find(&text[from..]).map_or(text.len(), |found| from + found),
        };
        self.places[n] = Some((from, found));
        (found < text.len()).then_some(found)
    }
}

/// Returns whether a byte may occur in ` BLOCK-----` behind the label of an `END`.
fn close_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'B' | b'L' | b'O' | b'C' | b'K')
}

/// Returns the length of `-----BEGIN … PRIVATE KEY-----`.
fn label(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(96)];
    let dashes = text.iter().take_while(|byte| matches!(byte, b'-' | b' ')).count();
    let name = &text[dashes..];
    let end = name.iter().position(|byte| *byte == b'-')?;
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b' ';
    let name = &name[..end];
    let is_key =
        name.strip_suffix(b" BLOCK").unwrap_or(name).trim_ascii_end().ends_with(b"PRIVATE KEY");
    let is_private =
        name.iter().all(is_label) && (is_key || name.starts_with(b"BEGIN OpenVPN Static key"));
    let close = text[dashes + end..].iter().take(5).take_while(|byte| **byte == b'-').count();
    (is_private && close >= 4).then_some(dashes + end + close)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Returns whether enough of the bytes may be base64. Prose has fewer digits and capitals.
fn is_key(between: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| between.iter().filter(|byte| is(byte)).count();
    let base64 = count(|byte| is_base64(*byte));
    let (digits, capitals) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
    base64 >= LEAST && (digits * 40 >= base64 && capitals * 10 >= base64 || digits * 4 >= base64)
}

/// Returns the lines before the `END` of a key whose beginning is missing.
fn headless(text: &[u8], end: usize) -> Option<Range<usize>> {
    let label = &text[end..text.len().min(end + 64)];
    memmem::find(label, b"PRIVATE KEY-----")?;
    let text = &text[end.saturating_sub(REACH)..end];
    let mut start = text.len();
    loop {
        let gap = gap_before(&text[..start]);
        let head = &text[..start - gap];
        let padding = head.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
        let mut run =
            head[..head.len() - padding].iter().rev().take_while(|byte| is_base64(**byte)).count();
        let line = head.len() - padding - run;
        if line > 0 && head[line - 1] == b'\\' && matches!(head.get(line), Some(b'n' | b'r' | b't'))
        {
            run -= 1;
        }
        // The last line may be short.
        if gap == 0 || run < LINE && start < text.len() {
            break;
        }
        start = head.len() - padding - run;
    }
    is_key(&text[start..]).then(|| end - (text.len() - start)..end)
}

/// Returns the length of the gap between two lines at the end of a text.
fn gap_before(text: &[u8]) -> usize {
    let mut at = text.len();
    loop {
        at -= match &text[..at] {
            [.., b'\\', b'n' | b'r' | b't'] => 2,
            [
                ..,
                b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b',' | b'>' | b'|' | b'\\',
            ]
            | [.., b'\n', b'+' | b'-'] => 1,
            _ => return text.len() - at,
        };
    }
}

/// Returns the end of a key without `END`, which consists of headers, full lines, and one shorter piece that
/// is not a word.
fn cut_off(text: &[u8], body: usize) -> Option<usize> {
    let limit = text.len().min(body + REACH);
    let (mut at, mut end, mut short) = (body, None, 0);
    loop {
        at += between_lines(&text[at..limit]);
        let rest = &text[at..limit];
        if end.is_none() && HEADERS.iter().any(|header| rest.starts_with(header.as_bytes())) {
            at += rest
                .iter()
                .position(|byte| matches!(byte, b'\n' | b'\\' | b'"'))
                .unwrap_or(rest.len());
            continue;
        }
        let run = rest.iter().take_while(|byte| is_base64(**byte)).count();
        let padding = rest[run..].iter().take(2).take_while(|byte| **byte == b'=').count();
        let is_odd = rest[..run].iter().any(|byte| !byte.is_ascii_alphabetic());
        at += run + padding;
        if run >= LINE {
            (end, short) = (Some(at), 0);
            continue;
        }
        short += 1;
        // A terminal may have broken a line into pieces: several pieces belong to the key if a full line
        // follows.
        if run == 0 || !(is_odd || run <= 2) || short > SHORTS {
            return end;
        }
        if short == 1 && is_odd && end.is_some() {
            end = Some(at);
        }
    }
}

/// Returns the length of the gap between two lines: line ends (including escaped ones), quotes, diff and
/// quote marks, line numbers.
fn between_lines(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'\\' => {
                1 + usize::from(
                    text.get(at + 1).is_some_and(|next| matches!(next, b'n' | b'r' | b't')),
                )
            }
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b',' | b'>' | b'|' | b':'
            | b'-' | b'+' => 1,
            b'0'..=b'9' => {
                let digits =
                    text[at..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
                match text.get(at + digits) {
                    Some(b':' | b'|' | b'\t') if digits < 6 => digits + 1,
                    _ if text[at + digits..].starts_with("→".as_bytes()) => digits + "→".len(),
                    _ => return at,
                }
            }
            _ if text[at..].starts_with("│".as_bytes()) => "│".len(),
            _ => return at,
        };
    }
    at
}
