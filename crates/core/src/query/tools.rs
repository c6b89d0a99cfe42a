//! Counts tool calls and their outcomes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::archive::{Archive, ArchiveError, ToolCounts};
use crate::model::{SessionId, SessionKind, ToolName};
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
    pub sessions: Option<BTreeSet<SessionId>>,
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

impl Group {
    /// Returns the name for the command line and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Label => "label",
            Self::Category => "category",
            Self::Server => "server",
        }
    }
}

/// The calls of one group.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tool; for other groups, the first one of the group.
    pub name: ToolName,
    /// The key of the group.
    pub key: String,
    /// Their number and outcomes.
    pub counts: ToolCounts,
}

/// Returns the rows, most calls first.
pub fn tools(archive: &Archive, question: &Question) -> Result<Vec<Row>, ArchiveError> {
    let sessions = archive.session_keys()?;
    let is_selected = |number: i64| {
        sessions.get(&number).is_some_and(|session| {
            let wanted = question.sessions.as_ref();
            (question.checkpoints || session.kind != SessionKind::Checkpoint)
                && wanted.is_none_or(|wanted| wanted.contains(&session.id))
        })
    };
    // Sorted, because the first tool of a group gives it its name.
    let mut tools: BTreeMap<(String, Option<String>), ToolCounts> = BTreeMap::new();
    archive.each_tool_sum(&question.period, |session, sum| {
        if is_selected(session) {
            tools.entry((sum.name, sum.server)).or_default().add(&sum.counts);
        }
    })?;
    Ok(grouped(tools, question.group))
}

/// Groups the counts of recorded names and servers, most calls first.
pub fn grouped(tools: BTreeMap<(String, Option<String>), ToolCounts>, group: Group) -> Vec<Row> {
    let mut rows: HashMap<String, Row> = HashMap::new();
    for ((recorded, server), counts) in tools {
        // An older MCP tool names its server only in its display name.
        let shown = server.map(|server| format!("({server} MCP Server)"));
        let name = tool_name(&recorded, shown.as_deref());
        let key = match group {
            Group::Tool => name.name.clone(),
            Group::Label => name.label.clone(),
            Group::Category => name.category.to_owned(),
            Group::Server => name.server.clone().unwrap_or_else(|| "built in".to_owned()),
        };
        let new = || Row { name, key: key.clone(), counts: ToolCounts::default() };
        rows.entry(key.clone()).or_insert_with(new).counts.add(&counts);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| (Reverse(row.counts.calls), row.key.clone()));
    rows
}
