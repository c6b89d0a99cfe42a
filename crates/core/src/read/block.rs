//! Finds bytes in blocks of as many bytes as a word has bits.

use fearless_simd::{Level, Simd, dispatch, mask8x64, prelude::*, u8x64};

/// The number of bytes of a block.
pub const BLOCK: usize = 64;

/// Returns a bit for each byte of a block that is one of `bytes`.
#[inline]
pub fn any_of<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
    dispatch!(Level::baseline(), simd => find(simd, block, bytes))
}

#[expect(clippy::inline_always, reason = "it is compiled for the processor of its caller")]
#[inline(always)]
fn find<S: Simd, const N: usize>(simd: S, block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
    let block = u8x64::simd_from(simd, *block);
    let found = bytes.map(|byte| block.simd_eq(byte));
    found.into_iter().reduce(|any, is| any | is).map_or(0, mask8x64::to_bitmask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_bit() {
        let mut block = [b'-'; BLOCK];
        for (at, byte) in [(0, b'a'), (15, b'b'), (16, b'a'), (40, b'c'), (63, b'b')] {
            block[at] = byte;
        }
        assert_eq!(any_of(&block, [b'a', b'b']), 1 | 1 << 15 | 1 << 16 | 1 << 63);
        assert_eq!(any_of(&block, []), 0);
    }
}
