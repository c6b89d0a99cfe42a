//! Searches text: defines tokens, parses queries and locates matches.
//!
//! Nothing here depends on the archive: the index (`archive/text_index`) and a scan of plain text use
//! the same tokens and the same queries.

mod field;
mod filter;
mod find;
mod letter;
mod query;
mod snippet;
mod spelling;
mod token;

// Hidden items serve the archive and the program.
pub use field::Where;
#[doc(hidden)]
pub use field::{Extent, Fields, Piece};
pub use filter::Filters;
#[doc(hidden)]
pub use filter::{Condition, MessageTraits};
#[doc(hidden)]
pub use find::{FieldMatch, Finder};
#[doc(hidden)]
pub use query::{Node, Term};
pub use query::{Query, QueryError};
#[doc(hidden)]
pub use snippet::{Bit, snippet};
pub(crate) use spelling::variants;
pub use spelling::{MissingTerm, corrected};
#[doc(hidden)]
pub use token::{Form, GAP, Token, each_token};
