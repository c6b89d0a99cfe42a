//! The list of sessions as `backstory.sessions/1` and as plain rows, for every program that answers it.

use serde::Serialize;

use super::json::SessionRow;
use super::plain::Plain;
use crate::model::{Bucket, Session};
use crate::number::json_time;
use crate::pricing::Bill;

/// `backstory.sessions/1`
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    sessions: Vec<SessionRow<'a>>,
}

impl<'a> Document<'a> {
    /// Creates the document of sessions and their costs.
    pub fn new(sessions: impl IntoIterator<Item = (&'a Session, Bill)>) -> Self {
        let rows = sessions.into_iter().map(|(session, bill)| SessionRow::new(session, bill));
        Self { schema: "backstory.sessions/1", sessions: rows.collect() }
    }
}

/// Returns the rows with whole ids and exact times.
pub fn plain<'a>(sessions: impl IntoIterator<Item = (&'a Session, Bill)>) -> Plain {
    let first = ["id", "kind", "project", "started", "updated"];
    let counts = ["prompts", "messages", "calls", "tool_calls"];
    let last = ["total", "cost_usd", "at_least", "unpriced_calls", "models", "title", "agent"];
    let names = first.into_iter().chain(counts).chain(Bucket::ALL.map(Bucket::name)).chain(last);
    let mut rows = Plain::new(names);
    for (session, bill) in sessions {
        let time = |at: Option<jiff::Timestamp>| at.map(json_time).unwrap_or_default();
        let usage = &session.usage;
        let counts = [session.prompts, session.messages_full, session.calls, session.tool_calls];
        let mut cells = vec![
            session.id.to_string(),
            session.kind.name().to_owned(),
            session.project.key().to_owned(),
            time(session.started),
            time(session.updated),
        ];
        cells.extend(counts.map(|count| count.to_string()));
        cells.extend(Bucket::ALL.map(|bucket| usage.get(bucket).to_string()));
        cells.extend([
            usage.total().to_string(),
            bill.usd.map(|usd| usd.to_string()).unwrap_or_default(),
            bill.at_least.to_string(),
            bill.unpriced.to_string(),
            session.models.join(" "),
            session.title().0,
            session.agent.to_string(),
        ]);
        rows.row(cells);
    }
    rows
}
