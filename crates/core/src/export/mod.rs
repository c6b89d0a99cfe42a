//! Sessions written for others, a file a format.

pub mod gemini;
pub mod json;
