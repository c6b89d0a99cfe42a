//! Adds up the tool calls of sessions.

use serde::{Deserialize, Serialize};

use super::extent::Extent;
use super::{Archive, ArchiveError, codec};
use crate::model::{ToolStatus, ToolUse};
use crate::time::Period;

/// Counts of tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// The tool calls of a session that share a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolSum {
    /// The recorded name of the tool.
    pub(crate) name: String,
    /// Its MCP server.
    pub(crate) server: Option<String>,
    pub(crate) counts: ToolCounts,
    times: Extent,
}

/// Adds up tool calls by tool.
pub(super) fn tool_sums<'a>(tools: impl IntoIterator<Item = &'a ToolUse>) -> Vec<ToolSum> {
    let mut sums: Vec<ToolSum> = Vec::new();
    for tool in tools {
        let is_same = |sum: &ToolSum| (&sum.name, &sum.server) == (&tool.name, &tool.server);
        let place = sums.iter().position(is_same).unwrap_or_else(|| {
            let (name, server) = (tool.name.clone(), tool.server.clone());
            sums.push(ToolSum { name, server, ..ToolSum::default() });
            sums.len() - 1
        });
        sums[place].counts.add(&ToolCounts::of(tool));
        sums[place].times.add(tool.at);
    }
    sums
}

impl Archive {
    /// Passes the number of each session, and the sums of its tool calls in a period, to `each`.
    pub(crate) fn each_tool_sum(
        &self,
        period: &Period,
        mut each: impl FnMut(i64, ToolSum),
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare("SELECT session, tools FROM summaries")?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let session = row.get(0)?;
            let tools = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let mut sums: Vec<ToolSum> = codec::decode(tools, "a session")?;
            if sums.iter().any(|sum| sum.times.is_in(period).is_none()) {
                let calls = self.session_calls(session)?;
                sums = tool_sums(calls.tools.iter().filter(|tool| period.includes(tool.at)));
            } else {
                sums.retain(|sum| sum.times.is_in(period) == Some(true));
            }
            for sum in sums {
                each(session, sum);
            }
        }
        Ok(())
    }
}
