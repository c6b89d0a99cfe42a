//! Adds up the tool calls of sessions.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Archive, ArchiveError};
use crate::model::{ToolStatus, ToolUse};
use crate::time::Period;

/// Counts of tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolCounts {
    /// The number of calls.
    pub calls: u64,
    /// The calls that succeeded.
    pub success: u64,
    /// The calls that failed.
    pub error: u64,
    /// The calls that were cancelled.
    pub cancelled: u64,
    /// The calls without an outcome.
    pub unfinished: u64,
    /// The lines added by edits.
    pub lines_added: u64,
    /// The lines removed by edits.
    pub lines_removed: u64,
}

impl ToolCounts {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.success += other.success;
        self.error += other.error;
        self.cancelled += other.cancelled;
        self.unfinished += other.unfinished;
        self.lines_added += other.lines_added;
        self.lines_removed += other.lines_removed;
    }

    fn of(tool: &ToolUse) -> Self {
        let is = |status| u64::from(tool.status == status);
        Self {
            calls: 1,
            success: is(ToolStatus::Success),
            error: is(ToolStatus::Error),
            cancelled: is(ToolStatus::Cancelled),
            unfinished: is(ToolStatus::Unfinished),
            lines_added: tool.lines_added,
            lines_removed: tool.lines_removed,
        }
    }
}

/// The recorded name of a tool, and its MCP server.
pub(crate) type ToolKey = (String, Option<String>);

impl Archive {
    /// Passes the number of each session, and the counts of its tool calls in a period, to `each`.
    pub(crate) fn each_tool_sum(
        &self,
        period: &Period,
        mut each: impl FnMut(i64, BTreeMap<ToolKey, ToolCounts>),
    ) -> Result<(), ArchiveError> {
        let is_inside =
            |at: Option<Timestamp>| at.map_or(period.is_everything(), |at| period.contains(at));
        self.each_details(&Period::default(), |session, details| {
            let mut sums: BTreeMap<ToolKey, ToolCounts> = BTreeMap::new();
            for tool in details.tools.into_iter().filter(|tool| is_inside(tool.at)) {
                let counts = ToolCounts::of(&tool);
                sums.entry((tool.name, tool.server)).or_default().add(&counts);
            }
            each(session, sums);
        })
    }
}
