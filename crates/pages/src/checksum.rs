//! The checksum of a page, *quad64*.
//!
//! A page is a sequence of little-endian 64-bit words. The last one is the checksum of the others.
//! These are distributed over four lanes, word `i` to lane `i % 4`. The lanes start as
//!
//! ```text
//! 0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89
//! ```
//!
//! and a word is added to its lane by
//!
//! ```text
//! lane = rotate_left(lane ^ (word * WORD), 29) * LANE      (mod 2^64)
//! WORD = 0x9E3779B97F4A7C15, LANE = 0xBB67AE8584CAA73B
//! ```
//!
//! At the end the four lanes are added to the page number in the same way, and the bits of the sum
//! are mixed:
//!
//! ```text
//! sum = (sum ^ (sum >> 32)) * LANE
//! sum = sum ^ (sum >> 29)
//! ```
//!
//! Every step is reversible, so a change to a single word or to the page number always changes the
//! checksum. Other damage goes undetected with a probability of about 2^-64. The checksum does not
//! protect against someone who changes a page on purpose.
//!
//! The algorithm is part of the file format and must not change.

/// The number of bytes that a checksum takes at the end of a page.
pub const LEN: usize = 8;

/// The lanes' start values: the first digits of pi after the point. They are not zero, so a page of
/// zeros does not have the checksum zero.
const SEEDS: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// The factor of a word: 2^64 divided by the golden ratio. It spreads a word's lowest bits, as
/// [`LANE`] spreads its highest ones, so that one flipped bit cannot undo another.
const WORD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The factor of a lane: the first digits of the square root of three after the point.
const LANE: u64 = 0xBB67_AE85_84CA_A73B;

/// Writes the checksum of a page into its last eight bytes.
///
/// `number` is the page's number in the database, counted from 1.
pub fn stamp(page: &mut [u8], number: u64) {
    if let Some((body, end)) = page.split_last_chunk_mut::<LEN>() {
        *end = sum(body, number).to_le_bytes();
    }
}

/// Returns whether the last eight bytes of a page are its checksum.
pub fn matches(page: &[u8], number: u64) -> bool {
    page.split_last_chunk::<LEN>()
        .is_some_and(|(body, end)| sum(body, number) == u64::from_le_bytes(*end))
}

/// Computes the checksum of a page's bytes without the last eight.
///
/// Pages are made of whole words, so bytes after the last whole word do not count.
fn sum(body: &[u8], number: u64) -> u64 {
    let mut lanes = SEEDS;
    let (words, _) = body.as_chunks::<8>();
    let (rows, rest) = words.as_chunks::<4>();
    for row in rows {
        for (lane, word) in lanes.iter_mut().zip(row) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
    for (lane, word) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, u64::from_le_bytes(*word));
    }
    let sum = lanes.into_iter().fold(number, step);
    let sum = (sum ^ (sum >> 32)).wrapping_mul(LANE);
    sum ^ (sum >> 29)
}

/// Mixes a word into a lane.
fn step(lane: u64, word: u64) -> u64 {
    (lane ^ word.wrapping_mul(WORD)).rotate_left(29).wrapping_mul(LANE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with the bytes 0, 7, 14, …
    fn sample(size: usize) -> Vec<u8> {
        (0..size).map(|at| u8::try_from(at * 7 % 256).unwrap()).collect()
    }

    #[test]
    fn the_algorithm_is_the_one_on_disk() {
        // Computed by an independent implementation.
        assert_eq!(sum(&sample(512)[..504], 1), 0xC70E_1BC1_EDA6_D15D);
        assert_eq!(sum(&sample(4096)[..4088], 2), 0x748E_F180_B9ED_B9C0);
        assert_eq!(sum(&vec![0; 65528], 0xFFFF_FFFE), 0x9215_08A9_E9E2_75CD);
    }

    #[test]
    fn a_stamped_page_matches_only_under_its_own_number() {
        for size in [512, 1024, 4096, 65536] {
            let mut page = sample(size);
            assert!(!matches(&page, 3));
            stamp(&mut page, 3);
            assert!(matches(&page, 3));
            assert!((1..1000).all(|number| number == 3 || !matches(&page, number)));
        }
    }

    #[test]
    fn a_page_of_zeros_does_not_match() {
        assert!((1..100_000).all(|number| !matches(&[0; 512], number)));
    }

    #[test]
    fn every_single_flipped_bit_is_found() {
        let mut page = sample(1024);
        stamp(&mut page, 9);
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches(&page, 9), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(matches(&page, 9));
    }

    #[test]
    fn every_pair_of_flipped_bits_is_found() {
        for mut page in [sample(512), vec![0; 512], vec![255; 512]] {
            stamp(&mut page, 1);
            for first in 0..4096 {
                page[first / 8] ^= 1 << (first % 8);
                for second in 0..first {
                    page[second / 8] ^= 1 << (second % 8);
                    assert!(!matches(&page, 1), "bits {first} and {second}");
                    page[second / 8] ^= 1 << (second % 8);
                }
                page[first / 8] ^= 1 << (first % 8);
            }
        }
    }

    #[test]
    fn two_exchanged_words_are_found() {
        let mut page = sample(512);
        stamp(&mut page, 1);
        for (first, second) in
            (0..63).flat_map(|first| (0..first).map(move |second| (first, second)))
        {
            let mut other = page.clone();
            for at in 0..8 {
                other.swap(first * 8 + at, second * 8 + at);
            }
            assert!(other == page || !matches(&other, 1), "words {first} and {second}");
        }
    }

    #[test]
    fn too_short_a_page_matches_nothing_and_is_left_alone() {
        let mut page = [1, 2, 3];
        stamp(&mut page, 1);
        assert_eq!(page, [1, 2, 3]);
        assert!(!matches(&page, 1));
    }
}
