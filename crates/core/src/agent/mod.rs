//! All that is specific to one agent, a folder each.

use serde::{Deserialize, Serialize};

pub mod gemini;

/// An agent whose sessions can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AgentKind {
    Gemini,
}

impl AgentKind {
    /// As it stands in documents and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
        }
    }
}
