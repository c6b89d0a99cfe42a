//! Defines sessions and their parts for all agents. This is plain data, without reading or writing.

mod agent;
pub mod call;
pub mod event;
mod merge;
pub mod message;
pub mod service;
pub mod session;
pub mod tool;
pub mod usage;

pub use agent::AgentId;
pub use call::{Call, ToolUse};
pub use event::{Event, EventBody, EventType};
pub use message::{Attachment, Fate, Message, MessageKind, Reference, Role, Thought};
pub use service::{Service, ServiceClass};
pub use session::{Part, PartWhy, Session, SessionKind, State, TitleFrom};
pub use tool::{ToolCall, ToolName, ToolStatus};
pub use usage::{Bucket, Usage, UsageRow};

pub use crate::id::{MessageId, SessionId, ToolCallId};
