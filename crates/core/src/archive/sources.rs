//! Sources as rows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fingerprint::{self, Look};
use crate::agent::AgentKind;
use crate::agent::gemini::{About, Scanned, Typed, recall};
use crate::discover::{Archived, Source, SourceKind, SourceState};

/// What is known of a file without looking into what was read of it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) look: Look,
    pub(super) state: SourceState,
    pub(super) offset: Option<u64>,
    pub(super) proof: Option<Vec<u8>>,
}

/// The files of a machine by path, those left out that were replaced.
pub(super) fn known(db: &Connection, machine: &str) -> rusqlite::Result<HashMap<String, Known>> {
    let mut statement = db.prepare(
        "SELECT path, number, size, modified, inode, state, offset, proof FROM sources
         WHERE machine = ?1 AND state != 'replaced'",
    )?;
    let rows = statement.query_map([machine], |row| {
        let look = Look {
            size: row.get::<_, i64>(2)?.cast_unsigned(),
            modified: row.get(3)?,
            inode: row.get(4)?,
        };
        let known = Known {
            number: row.get(1)?,
            look,
            state: state(row.get_ref(5)?.as_str()?),
            offset: row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned),
            proof: row.get(7)?,
        };
        Ok((row.get(0)?, known))
    })?;
    rows.collect()
}

pub(super) const COLUMNS: &str =
    "number, machine, agent, path, kind, folder, size, modified, state";

pub(super) fn source(row: &Row<'_>) -> rusqlite::Result<Source> {
    let folder: Option<String> = row.get(5)?;
    let modified: Option<i64> = row.get(7)?;
    Ok(Source {
        agent: AgentKind::Gemini,
        path: PathBuf::from(row.get::<_, String>(3)?),
        kind: kind(row.get_ref(4)?.as_str()?),
        folder: folder.map(|folder| Arc::from(PathBuf::from(folder))),
        size: row.get::<_, i64>(6)?.cast_unsigned(),
        modified: modified.map(fingerprint::time),
        inode: None,
        archived: Some(Archived {
            number: row.get(0)?,
            machine: row.get::<_, String>(1)?.into(),
            state: state(row.get_ref(8)?.as_str()?),
        }),
    })
}

fn state(name: &str) -> SourceState {
    SourceState::ALL.into_iter().find(|state| state.name() == name).unwrap_or(SourceState::Gone)
}

fn kind(name: &str) -> SourceKind {
    SourceKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(SourceKind::Chat)
}

/// What was read of a source; none when nothing is stored of it.
pub(super) fn scanned(db: &Connection, number: i64) -> rusqlite::Result<Option<Scanned>> {
    let Some(scan) = scan(db, number)? else { return Ok(None) };
    let mut find =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM sources WHERE number = ?1"))?;
    let source = find.query_row([number], source).optional()?;
    Ok(source.and_then(|source| recall(source, &scan)))
}

/// What was stored of a source.
pub(super) fn scan(db: &Connection, number: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut find = db.prepare_cached("SELECT body FROM scans WHERE source = ?1")?;
    let scan = find.query_row([number], |row| Ok(unpack(row.get_ref(0)?.as_blob()?))).optional()?;
    Ok(scan.flatten())
}

/// In a file it is compressed; what is gone at the end of the run is not worth it. The last byte
/// tells.
pub(super) fn pack(db: &Connection, scan: Vec<u8>) -> Vec<u8> {
    if db.path().is_some_and(|path| !path.is_empty()) {
        let mut packed = zstd::bulk::compress(&scan, 1).unwrap_or_default();
        packed.push(1);
        return packed;
    }
    let mut plain = scan;
    plain.push(0);
    plain
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    match packed.split_last()? {
        (1, packed) => zstd::decode_all(packed).ok(),
        (_, plain) => Some(plain.to_vec()),
    }
}

/// A source as it goes into its row.
pub(super) struct New<'a> {
    pub(super) source: &'a Source,
    pub(super) machine: &'a str,
    pub(super) state: SourceState,
    pub(super) look: Look,
    pub(super) offset: Option<u64>,
    pub(super) proof: Option<&'a [u8]>,
    pub(super) nameless: bool,
    pub(super) about: &'a About,
    pub(super) problems: usize,
    pub(super) kept: bool,
    pub(super) scan: Option<&'a [u8]>,
}

/// Writes a source into its row; gives the row's number.
pub(super) fn put(db: &Connection, new: &New<'_>, number: Option<i64>) -> rusqlite::Result<i64> {
    let source = new.source;
    let signed = |number: u64| number.cast_signed();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    db.prepare_cached(
        "INSERT INTO sources
             (number, machine, agent, path, kind, folder, size, modified, inode, state, offset, proof,
              nameless, faults, problems, about, kept)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
         ON CONFLICT (number) DO UPDATE SET
             kind = excluded.kind, folder = excluded.folder, size = excluded.size,
             modified = excluded.modified, inode = excluded.inode, state = excluded.state,
             offset = excluded.offset, proof = excluded.proof, nameless = excluded.nameless,
             faults = excluded.faults, problems = excluded.problems,
             about = excluded.about, kept = excluded.kept",
    )?
    .execute(params![
        number,
        new.machine,
        source.agent.name(),
        source.path.to_string_lossy(),
        source.kind.name(),
        source.folder().map(Path::to_string_lossy),
        signed(new.look.size),
        new.look.modified,
        new.look.inode,
        new.state.name(),
        new.offset.map(signed),
        new.proof,
        new.nameless,
        count(new.about.faults.count()),
        count(new.problems),
        // Plain data in memory always serializes.
        postcard::to_stdvec(new.about).unwrap_or_default(),
        new.kept,
    ])?;
    let number = number.unwrap_or_else(|| db.last_insert_rowid());
    match new.scan {
        Some(scan) => db
            .prepare_cached("INSERT OR REPLACE INTO scans VALUES (?1, ?2)")?
            .execute(params![number, scan])?,
        None => db.prepare_cached("DELETE FROM scans WHERE source = ?1")?.execute([number])?,
    };
    Ok(number)
}

/// The row of a file, as another process may have written it by now.
pub(super) fn number_of(
    db: &Connection,
    machine: &str,
    path: &Path,
) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached(
        "SELECT number FROM sources WHERE machine = ?1 AND path = ?2 AND state != 'replaced'",
    )?
    .query_row(params![machine, path.to_string_lossy()], |row| row.get(0))
    .optional()
}

/// Whether this version of a file is among the replaced ones.
pub(super) fn has_replaced(
    db: &Connection,
    machine: &str,
    path: &Path,
    look: Look,
) -> rusqlite::Result<bool> {
    let path = path.to_string_lossy();
    db.prepare_cached(
        "SELECT 1 FROM sources WHERE machine = ?1 AND path = ?2 AND state = 'replaced'
         AND size = ?3 AND modified IS ?4",
    )?
    .exists(params![machine, path, look.size.cast_signed(), look.modified])
}

pub(super) fn set_state(db: &Connection, number: i64, state: SourceState) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE sources SET state = ?2 WHERE number = ?1")?
        .execute(params![number, state.name()])?;
    Ok(())
}

/// The lines of a session in prompt logs, and the logs.
pub(super) fn typed(db: &Connection, id: &str) -> rusqlite::Result<(Vec<Typed>, Vec<Source>)> {
    let sql = format!(
        "SELECT {}, typed.number, at, text FROM typed JOIN sources ON sources.number = source
         WHERE session = ?1",
        COLUMNS.replace("number", "sources.number")
    );
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([id])?;
    let (mut typed, mut files) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let at: Option<i64> = row.get(10)?;
        typed.push(Typed {
            session: id.to_owned(),
            number: row.get::<_, i64>(9)?.cast_unsigned(),
            at: at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()),
            text: row.get(11)?,
        });
        let source = source(row)?;
        if !files.contains(&source) {
            files.push(source);
        }
    }
    Ok((typed, files))
}
