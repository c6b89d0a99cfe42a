//! CSV rows.

use std::fmt::Display;

use backstory_core::export::plain::csv_field;
use backstory_core::model::{Bucket, Message, Session, ToolCall};
use backstory_core::pricing::Bill;
use backstory_core::query::calls::CallRow;
use jiff::Timestamp;

use crate::output::number::json_time;

pub(super) const CALLS: &[&str] = &[
    "dedup_key",
    "agent",
    "session",
    "project",
    "timestamp",
    "model",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "tools",
    "bash_commands",
    "user_message",
    "cost_usd",
];

pub(super) const TOOLS: &[&str] = &[
    "session",
    "project",
    "message",
    "id",
    "timestamp",
    "name",
    "label",
    "canonical",
    "category",
    "server",
    "argument",
    "status",
    "exit_code",
    "lines_added",
    "lines_removed",
    "agent_session",
];

/// Returns the columns of sessions.
pub(super) fn sessions() -> Vec<&'static str> {
    let first = ["session", "agent", "kind", "parent", "project", "path", "started", "updated"];
    let counts = ["title", "prompts", "calls", "tool_calls", "subagents", "models"];
    let last = ["total", "cost_usd", "at_least", "unpriced_calls"];
    let columns = first.into_iter().chain(counts);
    columns.chain(Bucket::ALL.map(Bucket::name)).chain(last).collect()
}

pub(super) fn call(row: &CallRow) -> String {
    let mut line = Line::default();
    line.text(&row.dedup_key).text(row.agent.as_str()).text(&row.session).text(&row.project);
    line.text(row.timestamp.as_deref().unwrap_or_default());
    line.text(row.model.as_deref().unwrap_or_default());
    line.number(row.input_tokens).number(row.output_tokens);
    line.number(row.cached_input_tokens).number(row.reasoning_tokens);
    line.text(&row.tools.join(" ")).text(&row.bash_commands.join("; "));
    line.text(&row.user_message).text(row.cost_usd.as_deref().unwrap_or_default());
    line.0
}

pub(super) fn tool(
    session: &Session,
    message: &Message,
    call: &ToolCall,
    at: Option<Timestamp>,
    argument: &str,
) -> String {
    let mut line = Line::default();
    line.text(&session.id).text(session.project.key()).text(&message.id).text(&call.id);
    line.text(&at.map(json_time).unwrap_or_default());
    line.text(&call.name.name).text(&call.name.label);
    line.text(call.name.canonical).text(call.name.category);
    line.text(call.name.server.as_deref().unwrap_or_default()).text(argument);
    line.text(call.status.name()).maybe(call.exit_code);
    line.maybe(call.lines_added).maybe(call.lines_removed);
    line.text(call.agent_session.as_deref().unwrap_or_default());
    line.0
}

pub(super) fn session(session: &Session, cost: Bill) -> String {
    let mut line = Line::default();
    line.text(&session.id).text(session.agent.as_str()).text(session.kind.name());
    line.text(session.parent.as_deref().unwrap_or_default());
    line.text(&session.project.name).text(session.project.path.as_deref().unwrap_or_default());
    line.text(&session.started.map(json_time).unwrap_or_default());
    line.text(&session.updated.map(json_time).unwrap_or_default());
    line.text(&session.title().0);
    line.number(session.prompts).number(session.calls).number(session.tool_calls);
    line.number(session.subagents).text(&session.models.join(" "));
    let usage = &session.usage;
    for bucket in Bucket::ALL {
        line.number(usage.get(bucket));
    }
    line.number(usage.total()).maybe(cost.usd);
    line.number(cost.at_least).number(cost.unpriced);
    line.0
}

#[derive(Default)]
struct Line(String);

impl Line {
    fn text(&mut self, text: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&csv_field(text));
        self
    }

    fn number(&mut self, number: impl Display + Copy) -> &mut Self {
        self.text(&number.to_string())
    }

    fn maybe(&mut self, number: Option<impl Display + Copy>) -> &mut Self {
        self.text(&number.map(|number| number.to_string()).unwrap_or_default())
    }
}
