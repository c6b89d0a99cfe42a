//! Searches text: defines tokens, parses queries and locates matches.
//!
//! Nothing here depends on the archive: the index (`archive/text.rs`) and a scan of plain text use
//! the same tokens and the same queries.

mod field;
mod filter;
mod find;
mod query;
mod snippet;
mod token;

pub use field::{Extent, Fields, Piece, Where};
pub use filter::{Condition, Filters, MessageTraits};
pub use find::{FieldMatch, Finder};
pub use query::{Node, Query, QueryError, Term};
pub use snippet::{Bit, snippet};
pub use token::{Form, GAP, Token, each_token};
