//! Adds up the tool calls of sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

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
    /// The times of the first and the last call; none if a call has no time.
    #[serde(with = "crate::time::stored")]
    first: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    last: Option<Timestamp>,
}

impl ToolSum {
    /// Returns whether all of its calls are in a period, or `None` if only some may be.
    fn is_in(&self, period: &Period) -> Option<bool> {
        match (self.first, self.last) {
            _ if period.is_everything() => Some(true),
            (Some(first), Some(last)) if !period.overlaps(first, last) => Some(false),
            (Some(first), Some(last)) if period.contains(first) && period.contains(last) => {
                Some(true)
            }
            _ => None,
        }
    }
}

/// Adds up tool calls by tool.
pub(super) fn tool_sums<'a>(tools: impl IntoIterator<Item = &'a ToolUse>) -> Vec<ToolSum> {
    let mut sums: Vec<ToolSum> = Vec::new();
    for tool in tools {
        let is_same = |sum: &ToolSum| (&sum.name, &sum.server) == (&tool.name, &tool.server);
        match sums.iter_mut().find(|sum| is_same(sum)) {
            Some(sum) => {
                sum.counts.add(&ToolCounts::of(tool));
                sum.first = sum.first.min(tool.at);
                sum.last = sum.first.and(tool.at).and(sum.last.max(tool.at));
            }
            None => sums.push(ToolSum {
                name: tool.name.clone(),
                server: tool.server.clone(),
                counts: ToolCounts::of(tool),
                first: tool.at,
                last: tool.at,
            }),
        }
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
            if sums.iter().any(|sum| sum.is_in(period).is_none()) {
                let calls = self.session_calls(session)?;
                sums = tool_sums(calls.tools.iter().filter(|tool| period.includes(tool.at)));
            } else {
                sums.retain(|sum| sum.is_in(period) == Some(true));
            }
            for sum in sums {
                each(session, sum);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, at: Option<i64>) -> ToolUse {
        ToolUse {
            message: "m".to_owned(),
            name: name.to_owned(),
            server: None,
            status: ToolStatus::Success,
            at: at.map(|second| Timestamp::from_second(second).unwrap()),
            lines_added: 1,
            lines_removed: 0,
        }
    }

    /// Sums answer for a period only if they agree with the single calls.
    #[test]
    fn sums_know_which_periods_they_can_answer() {
        let limit = |second: i64| Some(Timestamp::from_second(second).unwrap());
        let tools = [tool("a", Some(3)), tool("a", Some(1)), tool("a", Some(2))];
        let undated = [tool("a", Some(1)), tool("a", None), tool("a", Some(2))];
        for since in 0..5 {
            for until in 0..5 {
                let period = Period { since: limit(since), until: limit(until) };
                for tools in [&tools, &undated] {
                    let inside = tools.iter().filter(|tool| period.includes(tool.at)).count();
                    let [sum] = &*tool_sums(tools) else { panic!() };
                    match sum.is_in(&period) {
                        Some(true) => assert_eq!(inside, tools.len(), "{period:?}"),
                        Some(false) => assert_eq!(inside, 0, "{period:?}"),
                        None => {}
                    }
                }
            }
        }
        let [sum] = &*tool_sums(&undated) else { panic!() };
        assert_eq!(sum.is_in(&Period::default()), Some(true));
        assert_eq!(sum.is_in(&Period { since: limit(0), until: None }), None);
    }
}
