//! What reading a source gives, in terms that hold for every agent.
//!
//! An agent's reader produces these facts; the archive stores them as they are, and sessions are
//! assembled from them without knowing which agent wrote the file. They are light: of a message its kind,
//! time, tokens, tools and where its text is ([`Span`]), never the text itself.

mod call;
mod message;
mod part;
mod source;
mod span;

pub use call::{BilledLine, CallFacts, CallKey};
pub use message::{MessageFacts, ToolFacts, is_nameless};
pub use part::{Form, PartFacts, SessionRef, Stated};
pub use source::{Contents, PromptLine, SessionFile, SourceFacts, SourceSummary};
pub(crate) use span::Base;
pub use span::Span;
