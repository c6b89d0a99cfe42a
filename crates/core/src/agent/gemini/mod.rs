//! Gemini CLI: what it writes, and what its own loader makes of it.

mod checkpoint;
mod content;
mod facts;
mod history;
mod load;
mod log;
mod paths;
mod projects;
mod prompt;
mod record;
mod replay;
pub mod retention;
mod segment;
mod shape;
mod tools;

pub use facts::{Tokens, ToolFact};
pub use history::Said;
pub use load::{Form, Loaded, LogReader, load};
pub use log::{Span, Tail};
pub use paths::{discover, discover_given};
pub use projects::{Project, Proof, hash_of, is_hash};
pub use replay::{Manner, Replay};
pub use segment::Segment;
pub use shape::Shape;
pub use tools::{KEY_ARGUMENTS, tool_name};
