//! Computes both views of a file: the current one as Gemini CLI would load it, and the full one
//! with fates.

mod copies;
pub(super) mod current;
pub(super) mod facts;
pub(super) mod full;
pub(super) mod segment;
mod unmarked;

pub use current::{Mode, Replay};
pub(super) use unmarked::refine;
