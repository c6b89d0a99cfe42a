//! Databases with checksums from outside, one binary for all.
#![allow(clippy::unwrap_used, reason = "tests")]

mod concurrency;
mod copies;
mod damage;
mod formats;
mod kill;
mod round_trip;
mod support;
