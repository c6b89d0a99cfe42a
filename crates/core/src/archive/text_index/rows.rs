//! The rows of the text index.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::BITS;
use super::stamps::content;
use crate::model::{Message, MessageId};
use crate::search::{Extent, Fields, GAP, Where, each_token};

/// A message to be indexed.
pub(super) struct Incoming {
    /// The number of the row that it replaces.
    pub(super) number: Option<i64>,
    pub(super) message: Message,
    pub(super) stamp: i64,
}

/// A row of the index.
pub(super) struct Row {
    /// The number of the row that it replaces.
    pub(super) number: Option<i64>,
    /// Empty for the text about a session as a whole.
    pub(super) message: MessageId,
    pub(super) stamp: i64,
    pub(super) content: i64,
    pub(super) at: Option<i64>,
    pub(super) kind: &'static str,
    pub(super) fate: &'static str,
    pub(super) model: Option<String>,
    pub(super) tools: String,
    pub(super) capped: bool,
    pub(super) columns: [String; Where::ALL.len()],
}

impl Row {
    /// Returns the row of a message, whose text is dropped.
    pub(super) fn of(Incoming { number, message, stamp }: Incoming) -> Self {
        let fields = Fields::of(&message, Extent::Capped);
        let mut tools: Vec<&str> =
            message.tool_calls.iter().map(|call| call.name.name.as_str()).collect();
        tools.dedup();
        Self {
            number,
            stamp,
            content: content(&message),
            at: message.at.map(jiff::Timestamp::as_millisecond),
            kind: message.kind.name(),
            fate: message.fate.name(),
            tools: tools.join(" "),
            capped: fields.capped,
            columns: columns(&fields),
            model: message.model,
            message: message.id,
        }
    }

    /// Returns the row of the text about a session as a whole.
    pub(super) fn of_session(number: Option<i64>, at: Option<i64>, fields: &Fields<'_>) -> Self {
        Self {
            number,
            message: MessageId::default(),
            stamp: 0,
            content: 0,
            at,
            kind: "session",
            fate: "kept",
            model: None,
            tools: String::new(),
            capped: false,
            columns: columns(fields),
        }
    }
}

/// Returns the tokens of each field, separated by spaces.
pub(super) fn columns(fields: &Fields<'_>) -> [String; Where::ALL.len()] {
    let mut out: [String; Where::ALL.len()] = Default::default();
    let mut lengths = [0; Where::ALL.len()];
    for piece in &fields.pieces {
        lengths[piece.field as usize] += piece.text.len() + GAP.len() + 1;
    }
    for piece in &fields.pieces {
        let column = &mut out[piece.field as usize];
        // A little more is needed only for other forms of words.
        column.reserve(std::mem::take(&mut lengths[piece.field as usize]));
        if !column.is_empty() {
            column.push_str(GAP);
            column.push(' ');
        }
        each_token(&piece.text, &mut |token| {
            column.push_str(token.text);
            column.push(' ');
        });
    }
    out
}

pub(super) fn insert(db: &Connection, number: i64, row: &Row) -> rusqlite::Result<()> {
    // Not `OR REPLACE`: FTS5 flushes its buffer for a statement that may have to be rolled back.
    db.prepare_cached("INSERT INTO texts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            number,
            row.message,
            row.stamp,
            row.content,
            row.at,
            row.kind,
            row.fate,
            row.model,
            row.tools,
            row.capped
        ])?;
    let mut insert = db.prepare_cached(
        "INSERT INTO words (rowid, prompt, reference, reply, thought, tool, output, summary, name)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    insert.raw_bind_parameter(1, number)?;
    for (n, column) in row.columns.iter().enumerate() {
        insert.raw_bind_parameter(n + 2, Some(column).filter(|column| !column.is_empty()))?;
    }
    insert.raw_execute()?;
    Ok(())
}

pub(super) fn remove(db: &Connection, numbers: &[i64]) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM texts WHERE number = ?1",
        "DELETE FROM words WHERE rowid = ?1",
        "DELETE FROM copies WHERE number = ?1",
    ] {
        let mut delete = db.prepare_cached(sql)?;
        for number in numbers {
            delete.execute([number])?;
        }
    }
    Ok(())
}

/// Returns the rows of a session by message: number, stamp, content.
pub(super) fn rows_of(
    db: &Connection,
    session: i64,
) -> rusqlite::Result<HashMap<MessageId, (i64, i64, i64)>> {
    let mut find = db.prepare_cached(
        "SELECT message, number, stamp, content FROM texts WHERE number >= ?1 AND number < ?2",
    )?;
    let rows = find.query_map([session << BITS, (session + 1) << BITS], |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
    })?;
    rows.collect()
}
