//! Drives the real server over connections on loopback.

#![allow(clippy::unwrap_used, reason = "tests")]

mod attacks;
mod live;
mod pages;
mod server;
