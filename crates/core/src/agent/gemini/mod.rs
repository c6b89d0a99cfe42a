//! Gemini CLI: what it writes, and what its own loader makes of it.

mod assemble;
mod capture;
mod checkpoint;
mod content;
mod facts;
mod history;
mod identity;
mod load;
mod log;
mod normalize;
mod paths;
mod projects;
mod prompt;
mod prompts;
mod record;
mod replay;
pub mod retention;
mod scan;
mod segment;
mod shape;
mod toolcall;
mod tools;

pub use assemble::{Assembled, Place, Placed, assemble};
pub use facts::{Tokens, ToolFact};
pub use history::Said;
pub use load::{Form, Loaded, LogReader, load};
pub use log::{Span, Tail};
pub use normalize::{View, transcript};
pub use paths::{discover, discover_given};
pub use projects::{Candidates, hash_of, is_hash};
pub use prompts::{Typed, by_session, read_prompt_log};
pub use replay::{Manner, Replay};
pub use scan::{Holds, Scanned, read_conversation, scan};
pub use segment::Segment;
pub use shape::Shape;
pub use tools::{KEY_ARGUMENTS, tool_name};
