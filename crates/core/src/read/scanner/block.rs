//! Finds the bytes that matter inside strings, 64 at a time.

use wide::u8x16;

/// As many bytes as a word has bits.
pub(super) const BLOCK: usize = 64;

/// As many bytes as a vector has.
pub(super) const CHUNK: usize = 16;

/// Returns whether these bytes complete the escape that a backslash begins.
pub(super) fn is_escape(bytes: &[u8]) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match bytes {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        [b'u', rest @ ..] => rest.get(..4).is_some_and(is_hex),
        _ => false,
    }
}

/// Returns a bit for each byte that a backslash before it escapes. `is_escaped` is whether the first
/// byte is, and then whether the first byte after the block is. It does not branch, because a
/// processor cannot predict where escapes are.
#[inline]
pub(super) fn escaped(backslashes: u64, is_escaped: &mut bool) -> u64 {
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

/// Returns a bit for each byte that is a quote, a backslash or a control character, which end a
/// string or need special treatment.
#[inline]
pub(super) fn specials(block: &[u8; BLOCK]) -> u64 {
    bits(block, is_special)
}

/// Returns the bits of [`specials`] for a part of a block.
#[inline]
pub(super) fn specials_of(chunk: &[u8; CHUNK]) -> u32 {
    is_special(u8x16::new(*chunk)).to_bitmask()
}

#[inline]
fn is_special(bytes: u8x16) -> u8x16 {
    let (quote, backslash) = (u8x16::splat(b'"'), u8x16::splat(b'\\'));
    let last_control = u8x16::splat(b' ' - 1);
    let is_control = bytes.min(last_control).simd_eq(bytes);
    bytes.simd_eq(quote) | bytes.simd_eq(backslash) | is_control
}

/// Returns a bit for each byte that is `byte`.
#[inline]
pub(super) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    bits(block, |bytes| bytes.simd_eq(u8x16::splat(byte)))
}

/// Returns a bit for each byte that is `n` or `t`, the letters of the most common escapes.
#[inline]
pub(super) fn common_letters(block: &[u8; BLOCK]) -> u64 {
    bits(block, |bytes| bytes.simd_eq(u8x16::splat(b'n')) | bytes.simd_eq(u8x16::splat(b't')))
}

/// Returns a bit for each byte for which `test` is true.
#[inline]
fn bits(block: &[u8; BLOCK], test: impl Fn(u8x16) -> u8x16) -> u64 {
    let (chunks, _) = block.as_chunks();
    let mut found = 0;
    for (n, chunk) in chunks.iter().enumerate() {
        found |= u64::from(test(u8x16::new(*chunk)).to_bitmask()) << (CHUNK * n);
    }
    found
}
