//! Stores what the agents' own lists say about sessions: which file an agent would load, and names.
//!
//! An agent rewrites its list, which may contain anything else, so the archive keeps an extract of it: a log to
//! which each sync adds what the list says now and the log does not.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Cursor, Read as _};
use std::path::Path;

use rusqlite::{Connection, params};

use super::capture::{CaptureReader, Piece};
use super::digest::PIECE;
use super::{Archive, ArchiveError};
use crate::assemble::ScannedSource;
use crate::discover::Source;
use crate::facts::ListedSession;
use crate::model::SessionId;
use crate::read::bytes::{Bytes, ReadSeek};

/// Sorts rows about a session so that the one that counts comes last: that of the newest list, in whatever order
/// the lists were read.
const ORDER: &str = "ORDER BY state != 'replaced', modified, path, machine, listed.rowid";

/// An extract, as the content of the file that it was made from.
pub(super) struct Extract<'a>(pub(super) &'a [u8]);

impl Bytes for Extract<'_> {
    fn open(&self, _: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(Cursor::new(self.0)))
    }

    fn beside(&self, _: &Path, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }
}

/// Returns the extract that the archive has of a file.
pub(super) fn extract(db: &Connection, source: i64) -> Result<Vec<u8>, ArchiveError> {
    let mut out = Vec::new();
    let read = CaptureReader::new(db, source)?.read_to_end(&mut out);
    read.map_err(|error| ArchiveError::Read(format!("the extract {source}"), error))?;
    Ok(out)
}

/// Captures an extract. It cannot be made again later, because the file may say something else by then.
pub(super) fn capture(db: &Connection, source: i64, extract: &[u8]) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::Read(format!("the extract {source}"), error);
    let length = usize::try_from(PIECE).unwrap_or(usize::MAX);
    for (number, bytes) in extract.chunks(length).enumerate() {
        Piece::new(number as u64 * PIECE, bytes).map_err(failed)?.insert(db, source)?;
    }
    db.prepare_cached("UPDATE sources SET captured = size, lost = 0 WHERE number = ?1")?
        .execute([source])?;
    Ok(())
}

/// Replaces what a list says, and returns the sessions of which it names another file than before.
pub(super) fn put(
    db: &Connection,
    source: i64,
    listed: &[ListedSession],
    forgotten: &HashSet<SessionId>,
) -> rusqlite::Result<BTreeSet<String>> {
    let mut find = db.prepare_cached("SELECT session, file FROM listed WHERE source = ?1")?;
    let before = find.query_map([source], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let before: BTreeMap<String, Option<String>> = before.collect::<Result<_, _>>()?;
    let kept = listed.iter().filter(|listed| !forgotten.contains(&listed.session));
    // The last row about a session counts.
    let now: BTreeMap<&str, &ListedSession> =
        kept.map(|listed| (listed.session.as_str(), listed)).collect();
    db.prepare_cached("DELETE FROM listed WHERE source = ?1")?.execute([source])?;
    let mut insert = db.prepare_cached("INSERT INTO listed VALUES (?1, ?2, ?3, ?4)")?;
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for (session, listed) in &now {
        insert.execute(params![source, session, listed.file, listed.name])?;
        if before.get(*session).is_none_or(|file| *file != listed.file) {
            changed.insert((*session).to_owned());
        }
    }
    changed.extend(before.into_keys().filter(|session| !now.contains_key(session.as_str())));
    Ok(changed)
}

/// Marks the files that the lists name as the ones to load.
pub(super) fn mark<'a>(
    db: &Connection,
    groups: &BTreeSet<String>,
    sources: impl Iterator<Item = &'a mut ScannedSource>,
) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached(&format!(
        "SELECT file FROM listed JOIN sources ON number = source
         WHERE session = ?1 AND file IS NOT NULL {ORDER}"
    ))?;
    let mut names: HashSet<String> = HashSet::new();
    for group in groups {
        let files = find.query_map([group], |row| row.get(0))?;
        names.extend(files.last().transpose()?);
    }
    for ScannedSource { source, facts } in sources {
        let name = source.path.file_name().unwrap_or_default().to_string_lossy();
        if names.contains(name.strip_suffix(".zst").unwrap_or(&name)) {
            facts.parts.iter_mut().for_each(|part| part.is_listed = true);
        }
    }
    Ok(())
}

impl Archive {
    /// Returns the names of sessions in the agents' lists.
    pub(super) fn listed_names(&self) -> Result<HashMap<SessionId, String>, ArchiveError> {
        let mut find = self.db.prepare(&format!(
            "SELECT session, name FROM listed JOIN sources ON number = source
             WHERE name IS NOT NULL {ORDER}"
        ))?;
        let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
