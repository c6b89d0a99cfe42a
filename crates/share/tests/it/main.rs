//! Machines that share a folder, each with the real program.
#![allow(clippy::unwrap_used, reason = "tests")]

mod damage;
mod keys;
mod machines;
mod support;
