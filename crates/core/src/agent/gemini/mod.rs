//! Gemini CLI: what it writes, and what its own loader makes of it.

mod checkpoint;
mod content;
mod load;
mod log;
mod record;
mod replay;

pub use load::{Form, Loaded, LogReader, load};
pub use log::{Span, Tail};
pub use replay::{Manner, Replay};
