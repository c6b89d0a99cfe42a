//! The library from outside, one binary for all.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod conformance;
mod current_view;
mod expected;
mod properties;
mod round_trip;
mod shapes;
mod support;
mod table;
