//! Finds where a string ends, many bytes at a time. The vectors are as wide as the processor's.

use fearless_simd::{Level, Simd, dispatch, mask8x64, prelude::*, u8x32, u8x64};

use super::Invalid;
use crate::read::block::BLOCK;

/// More than the length of most strings: keys, ids and times.
const SHORT: usize = 32;

/// Returns the position after the closing quote of a string whose content begins at `first`, and
/// whether it has no escape.
#[inline]
pub(super) fn end(bytes: &[u8], first: usize) -> Result<(usize, bool), Invalid> {
    if let Some(beginning) = bytes.get(first..).and_then(<[u8]>::first_chunk) {
        let found = dispatch!(Level::baseline(), simd => specials(simd, beginning));
        let here = found.trailing_zeros() as usize;
        if beginning.get(here) == Some(&b'"') {
            return Ok((first + here + 1, true));
        }
    }
    end_of_long(bytes, first)
}

/// Returns what [`end`] does, for a string of any kind.
#[inline(never)]
fn end_of_long(bytes: &[u8], first: usize) -> Result<(usize, bool), Invalid> {
    dispatch!(Level::new(), simd => find_end(simd, bytes, first))
}

/// Returns a bit for each byte that is a quote, a backslash or a control character, which end a
/// string or need special treatment.
#[expect(clippy::inline_always, reason = "it is compiled for the processor of its caller")]
#[inline(always)]
fn specials<S: Simd>(simd: S, bytes: &[u8; SHORT]) -> u64 {
    let bytes = u8x32::simd_from(simd, *bytes);
    let found = bytes.simd_eq(b'"') | bytes.simd_eq(b'\\') | bytes.simd_lt(b' ');
    found.to_bitmask()
}

#[expect(clippy::inline_always, reason = "it is compiled for the processor of its caller")]
#[inline(always)]
fn find_end<S: Simd>(simd: S, bytes: &[u8], mut at: usize) -> Result<(usize, bool), Invalid> {
    let (mut is_plain, mut is_escaped) = (true, false);
    while at < bytes.len() {
        let (block, before) = block(bytes, at);
        let block = u8x64::simd_from(simd, block);
        let bits = |found: mask8x64<S>| found.to_bitmask() >> before;
        let quotes = bits(block.simd_eq(b'"'));
        let backslashes = bits(block.simd_eq(b'\\'));
        let controls = bits(block.simd_lt(b' '));
        let common_letters = bits(block.simd_eq(b'n') | block.simd_eq(b't'));
        let escaped = escaped(backslashes, &mut is_escaped);
        let end = quotes & !escaped;
        // All bits before the closing quote.
        let inside = (end & end.wrapping_neg()).wrapping_sub(1);
        if controls & inside != 0 {
            return Err(Invalid);
        }
        is_plain &= backslashes & inside == 0;
        // Other escapes are rare enough to be looked at one by one.
        let mut rest = escaped & inside & !(quotes | backslashes | common_letters);
        while rest != 0 {
            let here = rest.trailing_zeros() as usize;
            if !is_escape(&bytes[at + here..]) {
                return Err(Invalid);
            }
            rest &= rest - 1;
        }
        if end != 0 {
            return Ok((at + end.trailing_zeros() as usize + 1, is_plain));
        }
        at += BLOCK;
    }
    Err(Invalid)
}

/// Returns the block at `at`, or the last one of the text and how many of its bytes are before `at`.
#[inline]
fn block(bytes: &[u8], at: usize) -> ([u8; BLOCK], usize) {
    if let Some(block) = bytes[at..].first_chunk() {
        return (*block, 0);
    }
    let left = bytes.len() - at;
    if let Some(block) = bytes.last_chunk() {
        return (*block, BLOCK - left);
    }
    // No string continues in the control characters that fill the block of a short text.
    let mut block = [0; BLOCK];
    block[..left].copy_from_slice(&bytes[at..]);
    (block, 0)
}

/// Returns a bit for each byte that a backslash before it escapes. `is_escaped` is whether the first
/// byte is, and then whether the first byte after the block is. It does not branch, because a
/// processor cannot predict where escapes are.
#[inline]
fn escaped(backslashes: u64, is_escaped: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(*is_escaped);
    let backslashes = backslashes & !first;
    let behind = backslashes << 1 | first;
    // Of a run of backslashes, the 1st, 3rd, … escape. Adding the beginnings of those runs that
    // begin at an odd place moves the place of these from even to odd.
    let odd_runs = backslashes & !EVEN & !behind;
    let (sum, overflow) = odd_runs.overflowing_add(backslashes);
    *is_escaped = overflow;
    (EVEN ^ sum << 1) & behind
}

/// Returns whether these bytes complete the escape that a backslash begins.
fn is_escape(bytes: &[u8]) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match bytes {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        [b'u', rest @ ..] => rest.get(..4).is_some_and(is_hex),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end_one_by_one(bytes: &[u8], first: usize) -> Result<(usize, bool), Invalid> {
        let (mut at, mut is_plain) = (first, true);
        loop {
            match bytes.get(at).ok_or(Invalid)? {
                b'"' => return Ok((at + 1, is_plain)),
                b'\\' if is_escape(&bytes[at + 1..]) => (at, is_plain) = (at + 2, false),
                b'\\' | ..b' ' => return Err(Invalid),
                _ => at += 1,
            }
        }
    }

    proptest! {
        #[test]
        fn ends_as_found_one_by_one(
            text in r#"([ -~é🥛]|\\[nt"\\u0]|\\u00e9){0,150}[\x00-\x1f\\"]?[ -~"\\]{0,70}"#,
            first in 0..70_usize,
        ) {
            let bytes = text.as_bytes();
            let first = first.min(bytes.len());
            let want = end_one_by_one(bytes, first);
            prop_assert_eq!(end(bytes, first), want);
            for level in [Level::new(), Level::baseline()] {
                let found = dispatch!(level, simd => find_end(simd, bytes, first));
                prop_assert_eq!(found, want, "{:?}", level);
            }
        }
    }
}
