//! What Gemini CLI does with its files later: it deletes them, and resumes sessions that are there.

pub mod hooks;
pub mod restore;
pub mod retention;
