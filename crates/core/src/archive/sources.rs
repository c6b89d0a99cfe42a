//! Reads and writes the rows of sources.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::capture::CapturedBytes;
use super::digest::Digest;
use super::fingerprint::{self, Fingerprint};
use super::reading;
use super::{Archive, ArchiveError, codec};
use crate::agent::{Agents, Detail, Resume};
use crate::assemble::ScannedSource;
use crate::discover::{Archived, Source, SourceKind, SourceState};
use crate::facts::{PromptLine, SourceFacts, SourceSummary};
use crate::model::{AgentId, SessionKind};
use crate::path_text::{from_text, to_text};

/// The stored state of a file, without its facts.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) fingerprint: Fingerprint,
    pub(super) state: SourceState,
    pub(super) offset: Option<u64>,
    /// Whether the current sync found it.
    pub(super) is_found: bool,
}

/// The stored state of files by path.
pub(super) type KnownFiles = FxHashMap<Box<str>, Known>;

/// Returns the current versions of the files of a machine, of which there are about `count`.
pub(super) fn known(db: &Connection, machine: &str, count: usize) -> rusqlite::Result<KnownFiles> {
    let mut find = db.prepare(
        "SELECT path, number, size, modified, inode, state, offset, changed FROM sources NOT INDEXED
         WHERE machine = ?1 AND state != 'replaced'",
    )?;
    let mut rows = find.query([machine])?;
    let mut out = KnownFiles::with_capacity_and_hasher(count, FxBuildHasher);
    while let Some(row) = rows.next()? {
        let fingerprint = Fingerprint {
            size: row.get::<_, i64>(2)?.cast_unsigned(),
            modified: row.get(3)?,
            changed: row.get(7)?,
            inode: row.get(4)?,
        };
        let known = Known {
            number: row.get(1)?,
            fingerprint,
            state: row.get(5)?,
            offset: row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned),
            is_found: false,
        };
        out.insert(row.get_ref(0)?.as_str()?.into(), known);
    }
    Ok(out)
}

/// Returns the content of a file that was read; `None` if it could not be read.
pub(super) fn digest_of(db: &Connection, known: &Known) -> rusqlite::Result<Option<Digest>> {
    let mut find = db.prepare_cached("SELECT digest FROM sources WHERE number = ?1")?;
    find.query_row([known.number], |row| {
        Ok(digest(known.fingerprint.size, row.get_ref(0)?.as_blob_or_null()?))
    })
}

pub(super) const COLUMNS: &str =
    "number, machine, agent, path, kind, folder, size, modified, state";

pub(super) fn source(row: &Row<'_>) -> rusqlite::Result<Source> {
    let folder = row.get_ref(5)?.as_str_or_null()?;
    let modified: Option<i64> = row.get(7)?;
    Ok(Source {
        agent: AgentId::new(row.get_ref(2)?.as_str()?),
        path: from_text(row.get_ref(3)?.as_str()?),
        kind: row.get(4)?,
        folder: folder.map(|folder| Arc::from(from_text(folder))),
        size: row.get::<_, i64>(6)?.cast_unsigned(),
        modified: modified.map(fingerprint::time),
        changed: None,
        inode: None,
        archived: Some(Archived {
            number: row.get(0)?,
            machine: row.get_ref(1)?.as_str()?.into(),
            state: row.get(8)?,
        }),
    })
}

fn digest(length: u64, blob: Option<&[u8]>) -> Option<Digest> {
    Digest::from_blob(length, blob?)
}

/// Parses a stored word. One that no version of this program writes is an error.
fn named<T: Copy>(
    value: ValueRef<'_>,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> FromSqlResult<T> {
    let text = value.as_str()?;
    all.iter().copied().find(|one| name(*one) == text).ok_or(FromSqlError::InvalidType)
}

impl FromSql for SourceState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        named(value, &Self::ALL, Self::name)
    }
}

impl FromSql for SourceKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        named(value, &Self::ALL, Self::key)
    }
}

impl FromSql for SessionKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        named(value, &Self::ALL, Self::name)
    }
}

pub(super) fn by_number(db: &Connection, number: i64) -> rusqlite::Result<Option<Source>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM sources WHERE number = ?1"))?
        .query_row([number], source)
        .optional()
}

/// Returns the sources whose text may mention paths, each with the offset at which to begin.
pub(super) fn texts(db: &Connection) -> rusqlite::Result<Vec<(i64, u64)>> {
    let mut find = db.prepare("SELECT number, kind FROM sources WHERE kept ORDER BY number")?;
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get::<_, SourceKind>(1)?)))?;
    let mut out = Vec::new();
    for row in rows {
        let (number, kind) = row?;
        if kind.is_text() {
            out.push((number, 0));
        }
    }
    Ok(out)
}

/// Returns all sources in the same project folder.
pub(super) fn neighbours(db: &Connection, number: i64) -> rusqlite::Result<Vec<i64>> {
    let mut find = db.prepare_cached(
        "SELECT other.number FROM sources AS one JOIN sources AS other USING (machine, folder)
         WHERE one.number = ?1",
    )?;
    find.query_map([number], |row| row.get(0))?.collect()
}

/// Returns the stored facts of a source, or `None` if nothing is stored. Facts that cannot be
/// decoded are read again from the captured bytes.
pub(super) fn scanned(
    db: &Connection,
    agents: Agents,
    number: i64,
) -> Result<Option<ScannedSource>, ArchiveError> {
    let Some(packed) = packed_scan(db, number)? else { return Ok(None) };
    let mut find = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, captured = size AND lost = 0 FROM sources WHERE number = ?1"
    ))?;
    let found = find.query_row([number], |row| Ok((source(row)?, row.get::<_, bool>(9)?)));
    let Some((source, is_whole)) = found.optional()? else { return Ok(None) };
    match unpack(&packed, &source) {
        Ok(facts) => Ok(Some(ScannedSource { source, facts })),
        Err(_) if is_whole => {
            let bytes = CapturedBytes { db, number };
            Ok(Some(reading::read(agents, source, &bytes, Detail::Full).scanned))
        }
        Err(error) => Err(error),
    }
}

/// Returns the stored facts of a source, or `None` if there are none or they cannot be decoded.
pub(super) fn facts(
    db: &Connection,
    source: &Source,
    number: i64,
) -> rusqlite::Result<Option<SourceFacts>> {
    Ok(packed_scan(db, number)?.and_then(|packed| unpack(&packed, source).ok()))
}

/// Returns the stored facts of a source and the state needed to continue reading it, or `None` if there are none or
/// they cannot be decoded.
pub(super) fn earlier(
    db: &Connection,
    source: &Source,
    number: i64,
) -> rusqlite::Result<Option<(SourceFacts, Vec<u8>)>> {
    let Some(packed) = packed_scan(db, number)? else { return Ok(None) };
    let unpacked = unpack_bytes(&packed, source).ok();
    Ok(unpacked.and_then(|scan| {
        let (facts, state) = postcard::take_from_bytes(&scan).ok()?;
        Some((facts, state.to_vec()))
    }))
}

fn packed_scan(db: &Connection, number: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut find = db.prepare_cached("SELECT facts FROM scans WHERE source = ?1")?;
    find.query_row([number], |row| row.get(0)).optional()
}

fn shown(source: &Source) -> String {
    source.path.display().to_string()
}

/// Encodes a reading for storage: the facts, and then the state. They name the same messages, so they take less
/// space together.
pub(super) fn pack(
    db: &Connection,
    facts: &SourceFacts,
    resume: Option<Resume>,
    source: &Source,
) -> Result<Vec<u8>, ArchiveError> {
    let name = shown(source);
    let mut scan = codec::encode(facts, &name)?;
    if let Some(resume) = resume {
        scan.extend_from_slice(&resume.state);
    }
    codec::shrink(db, scan, &name)
}

fn unpack(packed: &[u8], source: &Source) -> Result<SourceFacts, ArchiveError> {
    codec::decode(&unpack_bytes(packed, source)?, &shown(source))
}

/// Unpacks a stored reading. The size is limited because the archive may come from somebody else;
/// facts are never much larger than their file.
fn unpack_bytes<'a>(packed: &'a [u8], source: &Source) -> Result<Cow<'a, [u8]>, ArchiveError> {
    let most = usize::try_from(source.size.saturating_mul(8)).unwrap_or(usize::MAX);
    codec::expand(packed, most.saturating_add(1 << 20), &shown(source))
}

/// The values of a source's row.
pub(super) struct New<'a> {
    pub(super) source: &'a Source,
    pub(super) machine: &'a str,
    pub(super) state: SourceState,
    pub(super) fingerprint: Fingerprint,
    pub(super) offset: Option<u64>,
    pub(super) digest: Option<&'a Digest>,
    pub(super) nameless: bool,
    pub(super) about: &'a SourceSummary,
    pub(super) problems: usize,
    pub(super) kept: bool,
    pub(super) scan: Option<&'a [u8]>,
}

/// Writes a source into its row, or a new one if it has no number, and returns the number.
pub(super) fn put(
    db: &Connection,
    new: &New<'_>,
    number: Option<i64>,
) -> Result<i64, ArchiveError> {
    let source = new.source;
    let signed = |number: u64| number.cast_signed();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    db.prepare_cached(
        "INSERT INTO sources
             (number, machine, agent, path, kind, folder, size, modified, inode, state, offset, digest,
              nameless, faults, problems, about, kept, changed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
         ON CONFLICT (number) DO UPDATE SET
             kind = excluded.kind, folder = excluded.folder, size = excluded.size,
             modified = excluded.modified, inode = excluded.inode, state = excluded.state,
             offset = excluded.offset, digest = excluded.digest, changed = excluded.changed, nameless = excluded.nameless,
             faults = excluded.faults, problems = excluded.problems,
             about = excluded.about, kept = excluded.kept",
    )?
    .execute(params![
        number,
        new.machine,
        source.agent.as_str(),
        to_text(&source.path),
        source.kind.key(),
        source.folder().map(to_text),
        signed(new.fingerprint.size),
        new.fingerprint.modified,
        new.fingerprint.inode,
        new.state.name(),
        new.offset.map(signed),
        new.digest.map(Digest::to_blob),
        new.nameless,
        count(new.about.faults.count()),
        count(new.problems),
        codec::encode(new.about, &shown(source))?,
        new.kept,
        new.fingerprint.changed,
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

/// A stored version of a file.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) number: i64,
    pub(super) state: SourceState,
    pub(super) modified: Option<i64>,
    pub(super) size: u64,
    pub(super) digest: Option<Digest>,
    pub(super) captured: u64,
    pub(super) lost: u64,
    /// Whether all of its content is captured.
    pub(super) is_whole: bool,
}

impl Version {
    /// Returns a key that orders versions by age; the content decides between equal times.
    pub(super) fn age(&self) -> impl Ord + use<> {
        (self.modified, self.size, self.digest.as_ref().map(Digest::to_blob))
    }
}

/// Returns all versions of a file as other processes may have left them, the current one last.
pub(super) fn versions(
    db: &Connection,
    machine: &str,
    path: &Path,
) -> rusqlite::Result<Vec<Version>> {
    let mut find = db.prepare_cached(
        "SELECT number, state, modified, size, digest, captured, captured = size AND lost = 0, lost
         FROM sources WHERE machine = ?1 AND path = ?2 ORDER BY state != 'replaced', number",
    )?;
    let rows = find.query_map(params![machine, to_text(path)], |row| {
        let size = row.get::<_, i64>(3)?.cast_unsigned();
        Ok(Version {
            number: row.get(0)?,
            state: row.get(1)?,
            modified: row.get(2)?,
            size,
            digest: digest(size, row.get_ref(4)?.as_blob_or_null()?),
            captured: row.get::<_, i64>(5)?.cast_unsigned(),
            is_whole: row.get(6)?,
            lost: row.get::<_, i64>(7)?.cast_unsigned(),
        })
    })?;
    rows.collect()
}

/// Returns whether any stored lines of a prompt log come from this source.
pub(super) fn has_typed(db: &Connection, number: i64) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM prompt_lines WHERE source = ?1")?.exists([number])
}

/// Returns whether the digest of a source's whole content is known.
pub(super) fn has_digest(db: &Connection, number: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sources WHERE number = ?1 AND digest IS NOT NULL";
    db.prepare_cached(sql)?.exists([number])
}

/// Records the fingerprint of a file whose content is unchanged.
pub(super) fn set_fingerprint(
    db: &Connection,
    number: i64,
    fingerprint: Fingerprint,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE sources SET modified = ?2, changed = ?3, inode = ?4, state = 'live' WHERE number = ?1",
    )?
    .execute(params![number, fingerprint.modified, fingerprint.changed, fingerprint.inode])?;
    Ok(())
}

/// Marks a version as replaced, to be compared with the ones that follow it.
pub(super) fn replace(db: &Connection, number: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE sources SET state = 'replaced', compared = 0 WHERE number = ?1")?
        .execute([number])?;
    Ok(())
}

pub(super) fn set_state(db: &Connection, number: i64, state: SourceState) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE sources SET state = ?2 WHERE number = ?1")?
        .execute(params![number, state.name()])?;
    Ok(())
}

/// Returns the lines of a session in prompt logs, and the logs themselves.
pub(super) fn typed(db: &Connection, id: &str) -> rusqlite::Result<(Vec<PromptLine>, Vec<Source>)> {
    let sql = format!(
        "SELECT {}, prompt_lines.number, at, text, project FROM prompt_lines JOIN sources ON sources.number = source
         WHERE session = ?1",
        COLUMNS.replace("number", "sources.number")
    );
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([id])?;
    let (mut typed, mut files, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    // Versions of a log repeat its lines.
    let mut lines = HashSet::new();
    while let Some(row) = rows.next()? {
        let at: Option<i64> = row.get(10)?;
        let line = PromptLine {
            session: id.into(),
            number: row.get::<_, i64>(9)?.cast_unsigned(),
            at: at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()),
            text: row.get(11)?,
            project: row.get(12)?,
        };
        if lines.insert((line.number, at, line.text.clone())) {
            typed.push(line);
        }
        if seen.insert(row.get::<_, i64>(0)?) {
            files.push(source(row)?);
        }
    }
    Ok((typed, files))
}

impl Archive {
    /// Passes each line of the prompt logs to `each`, once, by session and time.
    pub(crate) fn each_prompt_line(
        &self,
        mut each: impl FnMut(PromptLine),
    ) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT DISTINCT session, number, at, text, project FROM prompt_lines ORDER BY session, at, number",
        )?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let at: Option<i64> = row.get(2)?;
            each(PromptLine {
                session: row.get(0)?,
                number: row.get::<_, i64>(1)?.cast_unsigned(),
                at: at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()),
                text: row.get(3)?,
                project: row.get(4)?,
            });
        }
        Ok(())
    }
}
