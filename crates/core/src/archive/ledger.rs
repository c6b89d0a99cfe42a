//! Fills the ledger's tables.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::facts::Facts;
use crate::collection::Collection;

pub(super) fn fill(
    db: &mut Connection,
    all: &Collection,
    facts: &Facts,
    machine: &str,
) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    {
        let mut insert = transaction.prepare(
            "INSERT INTO sessions (number, id, agent, machine, kind, parent, project)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (number, assembled) in (1..).zip(&all.sessions) {
            let s = &assembled.session;
            insert.execute(params![
                number,
                s.id,
                s.agent.name(),
                machine,
                s.kind.name(),
                s.parent,
                s.project.key()
            ])?;
            sessions.insert(&s.id, number);
        }
        let mut prompts: HashMap<&str, i64> = HashMap::new();
        let mut insert = transaction
            .prepare("INSERT INTO prompts (number, message, text) VALUES (?1, ?2, ?3)")?;
        for (number, (message, text)) in (1..).zip(&facts.prompts) {
            insert.execute(params![number, &**message, text])?;
            prompts.insert(message, number);
        }
        let mut insert = transaction.prepare(
            "INSERT INTO calls VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?;
        // SQLite's integers are signed; no count comes near the difference.
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for call in &facts.calls {
            let usage = &call.usage;
            insert.execute(params![
                sessions.get(call.session.id.as_str()),
                &*call.message,
                call.prompt.as_deref().and_then(|prompt| prompts.get(prompt)),
                call.at.map(jiff::Timestamp::as_millisecond),
                call.undated,
                call.model.as_deref(),
                whole(usage.input),
                whole(usage.cached),
                whole(usage.output),
                whole(usage.thoughts),
                whole(usage.tool),
                whole(usage.other),
                call.at_least,
                call.current
            ])?;
        }
        let mut insert = transaction
            .prepare("INSERT INTO tool_calls VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        for tool in &facts.tools {
            insert.execute(params![
                sessions.get(tool.session.id.as_str()),
                tool.message,
                tool.name,
                tool.server,
                tool.status.name(),
                tool.at.map(jiff::Timestamp::as_millisecond),
                whole(tool.lines_added),
                whole(tool.lines_removed)
            ])?;
        }
    }
    transaction.commit()
}
