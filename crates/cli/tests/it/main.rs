//! Tests the real program from outside, in one binary.
#![allow(clippy::unwrap_used, reason = "tests")]

mod agents;
mod archive;
mod branches;
mod completions;
mod config;
mod costs;
mod deletions;
mod demo;
mod doctor;
mod documents;
mod events;
mod export;
#[cfg(unix)]
mod extensions;
#[cfg(unix)]
mod follow_up;
mod golden;
mod help;
mod help_layout;
mod here;
mod honest;
mod lifecycle;
mod many;
mod mistakes;
mod output;
mod overview;
#[cfg(unix)]
mod paths;
mod projects;
mod questions;
mod readme;
mod redact;
mod restore;
mod restore_attacks;
mod search;
mod serve;
mod sessions;
mod show;
mod support;
mod titles;
mod tools;
mod usage;
#[cfg(unix)]
mod watch;
mod width;
#[cfg(unix)]
mod writing;
