//! Tests the library from outside, in one binary.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod activity;
mod agents;
mod archive;
mod blocks;
mod claude;
mod claude_count;
mod claude_lines;
mod claude_notes;
mod claude_resume;
mod claude_views;
mod codex;
mod conformance;
mod current_view;
mod described;
mod events;
mod expected;
mod merge;
mod outdated;
mod paths;
mod prices;
mod projects;
mod properties;
mod rebuild;
mod redact;
mod redaction_set;
mod round_trip;
mod search;
mod shapes;
mod support;
mod table;
mod third_agent;
mod trees;
mod typed;
mod usage;
mod versions;
