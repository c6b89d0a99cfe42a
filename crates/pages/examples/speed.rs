//! Measures how fast checksums are computed.
//!
//! `cargo run --release -p backstory-pages --example speed`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::time::Instant;

use backstory_pages::checksum;

fn main() {
    for size in [512, 4096, 65536] {
        let mut page: Vec<u8> = (0..=255).cycle().take(size).collect();
        // Short runs, of which some are not disturbed by other programs.
        let rounds = (16 << 20) / size;
        let best = (0..300).map(|_| {
            let start = Instant::now();
            for number in 0..rounds as u64 {
                checksum::stamp(black_box(&mut page), number);
            }
            start.elapsed()
        });
        let best = best.min().unwrap_or_default();
        let bytes = u32::try_from(rounds * size).unwrap_or_default();
        println!("{size:>6} bytes: {:.1} GB/s", f64::from(bytes) / 1e9 / best.as_secs_f64());
    }
}
