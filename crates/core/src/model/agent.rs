//! Defines the id of an agent.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Identifies an agent in the archive, in documents and on the command line, such as `gemini`.
///
/// The set is open: an archive may contain sessions of an agent that this program cannot read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// Creates an id from a name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
