//! The real program, run as people run it, one binary for all.
#![allow(clippy::unwrap_used, reason = "tests")]

mod agents;
mod archive;
mod branches;
mod completions;
mod config;
mod costs;
mod demo;
mod doctor;
mod documents;
mod events;
mod export;
mod golden;
mod help;
mod help_layout;
mod here;
mod honest;
mod lifecycle;
mod many;
mod output;
mod overview;
#[cfg(unix)]
mod paths;
mod projects;
mod questions;
mod redact;
mod restore;
mod search;
mod serve;
mod sessions;
mod show;
mod support;
mod titles;
mod usage;
#[cfg(unix)]
mod watch;
mod width;
#[cfg(unix)]
mod writing;
