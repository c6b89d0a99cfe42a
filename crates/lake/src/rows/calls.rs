//! The rows of calls and tool calls.

use backstory_core::SessionFacts;
use backstory_core::archive::{IdentifiedCalls, Identity, Scope};
use backstory_core::model::{Call, ServiceClass, SessionKind, ToolStatus, ToolUse};
use backstory_core::tools::tool_name;
use jiff::Timestamp;

use super::{Outgoing, Rows};
use crate::filter::Filter;
use crate::tables::{CallRow, SessionRow, ToolRow};
use crate::value::{Text, count};

/// Adds the calls and tool calls of a session.
pub(super) fn add(
    rows: &mut Rows,
    filter: &Filter<'_>,
    assembled: SessionFacts,
    session: &SessionRow,
    from: &Outgoing<'_>,
) {
    let IdentifiedCalls { calls, call_ids, tool_ids } = IdentifiedCalls::of(assembled);
    let models: Vec<Text> = calls.models.iter().map(|model| model.as_str().into()).collect();
    let mut before: Option<(&Identity, i64)> = None;
    for (call, id) in calls.calls.iter().zip(&call_ids) {
        let repeated = before.filter(|(last, _)| *last == id).map_or(0, |(_, position)| position);
        let position = if call.is_extra { repeated + 1 } else { 0 };
        before = Some((id, position));
        let model = call.model.and_then(|model| models.get(model as usize)).cloned();
        rows.push(filter, call_row(call, id, position, model, session, from));
    }
    for (tool, id) in calls.tools.iter().zip(&tool_ids) {
        rows.push(filter, tool_row(tool, id, session, from, filter));
    }
}

fn call_row(
    call: &Call,
    id: &Identity,
    position: i64,
    model: Option<Text>,
    session: &SessionRow,
    from: &Outgoing<'_>,
) -> CallRow {
    let class = call.service.class;
    let name = pseudonym("call", id, session, from);
    CallRow {
        agent: session.agent.clone(),
        call_hash: hash(&name, position),
        call: name,
        position,
        session: session.session.clone(),
        session_kind: session.kind.clone(),
        is_inherited: id.is_inherited,
        owner_rank: rank(id, call.at.filter(|_| !call.undated), session, from),
        project: session.project.clone(),
        branch: session.branch.clone(),
        occurred_at: call.at,
        undated: call.undated,
        model,
        class: class.name().into(),
        class_rank: ServiceClass::ALL.iter().position(|known| *known == class).map_or(0, count),
        us_only: call.service.us_only,
        is_elsewhere: call.service.is_elsewhere,
        searches: call.service.searches.into(),
        input: count(call.usage.input),
        cached: count(call.usage.cached),
        cache_write_5m: count(call.usage.cache_write_5m),
        cache_write_1h: count(call.usage.cache_write_1h),
        output: count(call.usage.output),
        thoughts: count(call.usage.thoughts),
        tool: count(call.usage.tool),
        other: count(call.usage.other),
        at_least: call.at_least,
        is_current: call.current,
    }
}

fn tool_row(
    tool: &ToolUse,
    id: &Identity,
    session: &SessionRow,
    from: &Outgoing<'_>,
    filter: &Filter<'_>,
) -> ToolRow {
    // A part of a secret may not look like one, so it is removed before the name is split.
    let clean = filter.clean(&tool.name);
    let name = tool_name(&clean, None);
    ToolRow {
        agent: session.agent.clone(),
        tool_call: pseudonym("tool call", id, session, from),
        session: session.session.clone(),
        session_kind: session.kind.clone(),
        owner_rank: rank(id, tool.at, session, from),
        project: session.project.clone(),
        branch: session.branch.clone(),
        tool: clean,
        label: name.label.into(),
        category: name.category.into(),
        server: tool.server.as_deref().or(name.server.as_deref()).map(Into::into),
        status: tool.status.name().into(),
        status_rank: match tool.status {
            ToolStatus::Unfinished => 0,
            ToolStatus::Cancelled => 1,
            ToolStatus::Success => 2,
            ToolStatus::Error => 3,
        },
        occurred_at: tool.at,
        lines_added: count(tool.lines_added),
        lines_removed: count(tool.lines_removed),
    }
}

/// Returns the pseudonym that all copies of a call share, after a letter for the scope of its key.
fn pseudonym(kind: &str, id: &Identity, session: &SessionRow, from: &Outgoing<'_>) -> Text {
    let scope = match id.scope {
        Scope::Message => "m",
        Scope::Call => "k",
        Scope::Session => "s",
    };
    let key = format!("{}\0{}", session.agent, id.key);
    format!("{scope}{}", from.policy.key.pseudonym(kind, &key)).into()
}

/// Returns a number for a pseudonym and a position. The digits after its letter are those of a keyed hash already.
fn hash(pseudonym: &str, position: i64) -> i64 {
    let digits = pseudonym.get(1..17).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default().cast_signed().wrapping_add(position)
}

/// Returns the text whose order decides who made a call: a session that did not inherit it, that is not a
/// checkpoint, that has its earliest record, that started first.
fn rank(id: &Identity, at: Option<Timestamp>, session: &SessionRow, from: &Outgoing<'_>) -> Text {
    let digit = |is: bool| if is { '1' } else { '0' };
    let time = |at: Option<Timestamp>| at.map(|at| format!("{at:.6}")).unwrap_or_default();
    let inherited = digit(id.is_inherited);
    let checkpoint = digit(&*session.kind == SessionKind::Checkpoint.name());
    let timeless = digit(at.is_none());
    let outdated = digit(id.is_outdated);
    let order = format!("{inherited}{checkpoint}{timeless} {} {outdated}", time(at));
    format!("{order} {} {} {}", time(session.started), session.session, from.machine).into()
}
