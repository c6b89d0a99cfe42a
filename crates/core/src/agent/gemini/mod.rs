//! Gemini CLI: what it writes, and what its own loader makes of it.

mod about;
mod assemble;
mod capture;
mod checkpoint;
mod clues;
mod content;
mod copies;
mod facts;
mod history;
pub mod hooks;
mod identity;
mod load;
mod log;
mod mentions;
mod nameless;
mod normalize;
mod own;
mod owners;
mod paths;
mod piece;
mod projects;
mod prompt;
mod prompts;
mod record;
mod registry;
mod replay;
mod reply;
pub mod restore;
pub mod retention;
mod said;
mod scan;
mod search;
mod segment;
mod shape;
mod stored;
mod together;
mod toolcall;
mod tools;

pub use about::{About, Holding, SessionFile};
pub use assemble::{
    Assembled, Membership, Named, Place, Placed, assemble, is_nameless, learn_projects,
    memberships, of_prompts,
};
pub use facts::{Tokens, ToolFact};
pub use load::{Form, Loaded, LogReader, load, load_current};
pub use log::{Span, Tail};
pub use mentions::Mentions;
pub use nameless::is_nameless as has_no_id;
pub use normalize::{View, excerpt, some_messages, transcript};
pub use owners::{keys, message_tokens, token_problems};
pub use paths::{discover, discover_given, project_parents, usual_root};
pub use projects::{Candidates, Projects, folder_project, hash_of, is_hash};
pub use prompts::{Typed, read_prompt_log};
pub use registry::enter as enter_project;
pub use replay::{Manner, Replay};
pub use said::Said;
pub use scan::{Holds, Scanned, read_conversation, scan, scan_calls};
pub use search::{Search, find_projects, worktrees};
pub use segment::{Segment, is_uuid as is_unique};
pub use shape::Shape;
pub use stored::{Kept, VERSION, keep_stored, recall, scan_and_store, scan_on, unread, unreadable};
pub use together::together;
pub use tools::{KEY_ARGUMENTS, tool_name};
