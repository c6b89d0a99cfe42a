//! Gemini CLI: what it writes, and what its own loader makes of it.

mod checkpoint;
mod content;
mod load;
mod log;
mod paths;
mod projects;
mod record;
mod replay;
pub mod retention;
mod shape;

pub use load::{Form, Loaded, LogReader, load};
pub use log::{Span, Tail};
pub use paths::{discover, discover_given};
pub use projects::{Project, Proof, hash_of, is_hash};
pub use replay::{Manner, Replay};
pub use shape::Shape;
