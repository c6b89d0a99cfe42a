//! A source in a few words: what lists of files need, without what its sessions said.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::scan::{Holds, Scanned};
use super::shape::Shape;
use crate::fault::Faults;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub what: Holding,
    pub faults: Faults,
}

/// What a source holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holding {
    Session(SessionFile),
    History,
    Prompts,
    Nothing(Shape),
    /// It belongs to a session and is not read for itself.
    Attached,
    Unreadable,
}

/// What a file says of its session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    pub is_subagent: bool,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// Whether Gemini CLI's own loader takes the file.
    pub accepted: bool,
    /// Whether there is anything to go back to.
    pub resumable: bool,
}

impl About {
    pub fn of(scanned: &Scanned) -> Self {
        let what = match &scanned.holds {
            Holds::Sessions(loaded) => Holding::Session(SessionFile {
                is_subagent: loaded.text("kind").as_deref() == Some("subagent"),
                updated: loaded.text("lastUpdated").and_then(|text| text.parse().ok()),
                accepted: loaded.accepted,
                resumable: loaded.resumable,
            }),
            Holds::History(_) => Holding::History,
            Holds::Prompts(_) => Holding::Prompts,
            Holds::Nothing(shape) => Holding::Nothing(*shape),
            Holds::Attached => Holding::Attached,
            Holds::Unreadable => Holding::Unreadable,
        };
        Self { what, faults: scanned.faults.clone() }
    }
}

impl SessionFile {
    /// Whether Gemini CLI would offer the file for resuming.
    pub fn is_offered(&self) -> bool {
        self.accepted && self.resumable && !self.is_subagent
    }
}
