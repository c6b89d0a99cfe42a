//! All that is specific to one agent, a folder each.

pub mod gemini;
