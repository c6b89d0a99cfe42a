//! The facts read from a source, in terms that apply to every agent.
//!
//! An agent's reader produces these facts; the archive stores them unchanged, and sessions are
//! assembled from them regardless of the agent that wrote the file. They are light: the kind, time,
//! tokens, tools and position ([`Span`]) of a message, never its text.

mod call;
mod limit;
mod lineage;
mod message;
mod part;
mod source;
mod span;

pub use call::{BilledLine, CallFacts, CallKey};
pub use limit::LimitFacts;
pub use lineage::{BranchPoint, FirstTotal, Lineage, ListChange};
pub use message::{MessageFacts, ToolFacts};
pub use part::{Form, PartFacts, RecordedSession, SessionRef};
pub use source::{
    Contents, ListedSession, PromptLine, SESSIONLESS, SessionFile, SourceFacts, SourceSummary,
    TitleLine,
};
pub(crate) use span::Base;
pub use span::Span;
