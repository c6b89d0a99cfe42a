//! Tests the program from outside, in one binary.
#![allow(clippy::unwrap_used, reason = "tests")]

mod export;
mod privacy;
mod support;
