//! Reads the files of Gemini CLI: parses bytes into records, and selects those that its loader
//! accepts.

pub(super) mod content;
pub(super) mod load;
pub(super) mod log;
pub(super) mod quick_reply;
pub(super) mod record;
mod saved;
mod scan;
mod shape;
pub(super) mod tokens;

pub use load::{Loaded, LogReader, load, load_current};
pub use log::Tail;
pub use saved::read_prompt_log;
pub use scan::{Holds, read_conversation};
pub(super) use scan::{continue_scan, scan};
pub use shape::Shape;
pub(super) use shape::is_certain;
