//! Determines the project of a session, and the evidence for it.
//!
//! `resolver` weighs the evidence, `mentions` finds paths in any text, and `locate` searches the disk
//! for folders.

mod locate;
mod mentions;
mod path;
mod resolver;

pub use locate::{Search, find_encoded, find_projects, worktree_root, worktrees};
pub use mentions::Mentions;
pub use path::{base_name, has_drive, hash_of, is_absolute, is_hash, is_hash_folder, short_hash};
pub use resolver::{Learned, ProjectHints, Projects, SessionHints};
