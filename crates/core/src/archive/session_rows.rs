//! Writes and removes the rows of a session: the session itself, its calls, sums and prompts.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::calls::SessionCalls;
use super::doubts::Doubts;
use super::tool_sums::tool_sums;
use super::{ArchiveError, activity, codec, prompt_sums, sums, unrecorded};
use crate::assemble::SessionFacts;

/// Removes the sessions of a group.
pub(super) fn remove(db: &Connection, group: &str) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT number FROM sessions WHERE group_key = ?1")?;
    let numbers: Vec<i64> = find.query_map([group], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for number in numbers {
        for sql in [
            "DELETE FROM rollup WHERE session = ?1",
            "DELETE FROM prompt_sums WHERE session = ?1",
            "DELETE FROM details WHERE session = ?1",
            "DELETE FROM summaries WHERE session = ?1",
            "DELETE FROM reported WHERE session = ?1",
            "DELETE FROM prompts WHERE session = ?1",
            "DELETE FROM sessions WHERE number = ?1",
        ] {
            db.prepare_cached(sql)?.execute([number])?;
        }
        activity::remove(db, number)?;
    }
    Ok(())
}

pub(super) fn insert(db: &Connection, mut assembled: SessionFacts) -> Result<(), ArchiveError> {
    let mut doubts = Doubts::of(&assembled);
    let messages = std::mem::take(&mut assembled.messages);
    let detail = SessionCalls::of(&assembled.session, messages);
    doubts.add_calls(&assembled, &detail);
    let archived = assembled.own_files().next().and_then(|source| source.archived.as_ref());
    let machine = archived.map_or("", |archived| &archived.machine);
    let machine = machine.to_owned();
    let (first, last) = assembled.session.take_prompts();
    let id = &assembled.session.id;
    let body = codec::encode(&assembled.session, id)?;
    let number = insert_session(db, &assembled, &detail, &machine, &body)?;
    let prompts = codec::shrink(db, codec::encode(&(first, last), id)?, id)?;
    db.prepare_cached("INSERT INTO prompts VALUES (?1, ?2)")?.execute(params![number, prompts])?;
    let tools = codec::encode(&tool_sums(&detail.tools), id)?;
    db.prepare_cached("INSERT INTO summaries VALUES (?1, ?2, ?3)")?.execute(params![
        number,
        tools,
        doubts.encode(id)?
    ])?;
    let calls = codec::shrink(db, codec::encode(&detail, id)?, id)?;
    db.prepare_cached("INSERT INTO details VALUES (?1, ?2)")?.execute(params![number, calls])?;
    prompt_sums::put(db, number, &detail, id)?;
    sums::put(db, number, &detail, id)
}

/// Inserts only the rows that sums need.
pub(super) fn insert_sums(
    db: &Connection,
    mut assembled: SessionFacts,
    machine: &str,
) -> Result<(), ArchiveError> {
    let messages = std::mem::take(&mut assembled.messages);
    let detail = SessionCalls::of(&assembled.session, messages);
    let number = insert_session(db, &assembled, &detail, machine, &[])?;
    sums::put(db, number, &detail, &assembled.session.id)
}

fn insert_session(
    db: &Connection,
    assembled: &SessionFacts,
    detail: &SessionCalls,
    machine: &str,
    body: &[u8],
) -> rusqlite::Result<i64> {
    let s = &assembled.session;
    let times = || detail.calls.iter().filter_map(|call| call.at).map(Timestamp::as_millisecond);
    db.prepare_cached(
        "INSERT INTO sessions (id, group_key, agent, machine, kind, parent, project, first, last, updated, listed, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        s.id,
        assembled.group,
        s.agent.as_str(),
        machine,
        s.kind.name(),
        s.parent,
        s.project.key(),
        times().min(),
        times().max(),
        s.updated.map(Timestamp::as_millisecond),
        s.is_listed(),
        body,
    ])?;
    let number = db.last_insert_rowid();
    if let Some(reported) = &assembled.reported {
        unrecorded::put(db, number, reported)?;
    }
    Ok(number)
}
