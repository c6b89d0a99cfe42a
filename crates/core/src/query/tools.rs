//! Counts tool calls and their outcomes.

use std::collections::{BTreeSet, HashMap};

use rusqlite::params;

use crate::archive::{Archive, ArchiveError};
use crate::model::ToolName;
use crate::time::Period;
use crate::tools::tool_name;

/// The calls to count.
#[derive(Debug, Clone)]
pub struct Question {
    /// The grouping.
    pub group: Group,
    /// The period to count.
    pub period: Period,
    /// The ids of the sessions to count; none for all.
    pub sessions: Option<BTreeSet<String>>,
    /// Whether saved chats and restore points count, which repeat calls of a session.
    pub checkpoints: bool,
}

/// The grouping of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// By tool.
    Tool,
    /// By the name shown to people.
    Label,
    /// By category.
    Category,
    /// By MCP server.
    Server,
}

/// The calls of one group.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tool; for other groups, the first one of the group.
    pub name: ToolName,
    /// The key of the group.
    pub key: String,
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

/// Returns the rows, most calls first.
pub fn tools(archive: &Archive, question: &Question) -> Result<Vec<Row>, ArchiveError> {
    archive.spread_tools()?;
    let mut statement = archive.db.prepare(
        "SELECT tool_calls.name, tool_calls.server, sessions.id, tool_calls.at, count(*), \
             sum(status = 'success'), sum(status = 'error'), sum(status = 'cancelled'), \
             sum(status = 'unfinished'), sum(lines_added), sum(lines_removed) \
         FROM temp.tool_calls JOIN sessions ON sessions.number = tool_calls.session \
         WHERE (?3 OR sessions.kind != 'checkpoint') AND (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2) \
         GROUP BY tool_calls.name, tool_calls.server, tool_calls.session",
    )?;
    let millisecond = |at: Option<jiff::Timestamp>| at.map(jiff::Timestamp::as_millisecond);
    let period = [millisecond(question.period.since), millisecond(question.period.until)];
    let mut rows: HashMap<String, Row> = HashMap::new();
    let mut found = statement.query(params![period[0], period[1], question.checkpoints])?;
    while let Some(row) = found.next()? {
        let session: String = row.get(2)?;
        if question.sessions.as_ref().is_some_and(|wanted| !wanted.contains(&session)) {
            continue;
        }
        let number = |n: usize| {
            Ok::<u64, rusqlite::Error>(u64::try_from(row.get::<_, i64>(n)?).unwrap_or(0))
        };
        let recorded: String = row.get(0)?;
        let mut name = tool_name(&recorded, None);
        if let Some(server) = row.get::<_, Option<String>>(1)? {
            // An older MCP tool names its server only in its display name.
            name = tool_name(&recorded, Some(&format!("({server} MCP Server)")));
        }
        let key = match question.group {
            Group::Tool => name.name.clone(),
            Group::Label => name.label.clone(),
            Group::Category => name.category.to_owned(),
            Group::Server => name.server.clone().unwrap_or_else(|| "built in".to_owned()),
        };
        let sum = rows.entry(key.clone()).or_insert_with(|| Row {
            name,
            key,
            calls: 0,
            success: 0,
            error: 0,
            cancelled: 0,
            unfinished: 0,
            lines_added: 0,
            lines_removed: 0,
        });
        sum.calls += number(4)?;
        sum.success += number(5)?;
        sum.error += number(6)?;
        sum.cancelled += number(7)?;
        sum.unfinished += number(8)?;
        sum.lines_added += number(9)?;
        sum.lines_removed += number(10)?;
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| (std::cmp::Reverse(row.calls), row.key.clone()));
    Ok(rows)
}
