//! Decides which older versions of a file are kept.
//!
//! A file that did not simply grow gets a new row, and the old one is kept as a replaced version.
//! Once the newer version is captured, an older one is removed if a newer one contains it: its
//! bytes are the beginning of the other's, or all of its text is also in the other. The result does
//! not depend on the order in which the versions arrived, because containment is transitive.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Read};
use std::path::PathBuf;

use rusqlite::{Connection, TransactionBehavior};

use super::affected;
use super::capture::{CaptureReader, CapturedBytes, UNUSUAL};
use super::forget::remove_source;
use super::ingest::Ingest;
use super::reading;
use super::sources::{self, Version};
use super::sync::SyncOptions;
use super::{Archive, ArchiveError};
use crate::agent::{Agents, Detail};
use crate::assemble::{ScannedSource, SessionFacts, assemble};
use crate::content::{Reader, View};
use crate::discover::{SourceKind, SourceState};
use crate::facts::{CallFacts, Contents, PromptLine, SourceFacts};
use crate::model::{MessageId, SessionId, Usage};
use crate::path_text::from_text;
use crate::projects::{ProjectHints, Projects};
use crate::search::{Extent, Fields, Where};

impl Archive {
    /// Removes replaced versions that a newer, captured one contains.
    pub(super) fn drop_contained_versions(&mut self) -> Result<(), ArchiveError> {
        let mut contained: Vec<i64> = Vec::new();
        let mut compared: Vec<i64> = Vec::new();
        for (machine, path) in self.undecided()? {
            let mut versions = sources::versions(&self.db, &machine, &path)?;
            // The current version counts as the newest, whatever its times are.
            versions.sort_by_cached_key(|v| (v.state != SourceState::Replaced, v.age()));
            for (n, older) in versions.iter().enumerate() {
                let newer: Vec<&Version> = versions[n + 1..].iter().collect();
                if newer.is_empty() {
                    continue;
                }
                let candidates = newer.iter().filter(|newer| newer.is_whole);
                let mut is_contained = false;
                for newer in candidates {
                    is_contained = is_contained || self.contains(newer, older)?;
                }
                if is_contained {
                    contained.push(older.number);
                } else if newer.iter().all(|newer| newer.is_whole) {
                    compared.push(older.number);
                }
            }
        }
        if contained.is_empty() && compared.is_empty() {
            return Ok(());
        }
        let candidates = ProjectHints::default();
        let options = SyncOptions::plain(&candidates);
        let mut ingest = Ingest::new(&options, self.agents, self.projects(&candidates)?);
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut touched: BTreeSet<String> = BTreeSet::new();
        for number in contained {
            touched.extend(affected::groups(&db, number)?);
            remove_source(&db, number)?;
        }
        for number in compared {
            db.execute("UPDATE sources SET compared = 1 WHERE number = ?1", [number])?;
        }
        ingest.rebuild_after_removal(&db, touched)?;
        db.commit()?;
        ingest.finish(self)
    }

    /// Returns the files with versions that have not been compared yet.
    fn undecided(&self) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
        // SQLite would choose the index by path, which has all sources.
        let mut find = self.db.prepare_cached(&format!(
            "SELECT DISTINCT machine, path FROM sources INDEXED BY sources_unusual
             WHERE state = 'replaced' AND NOT compared AND captured > 0 AND {UNUSUAL}",
        ))?;
        let rows =
            find.query_map([], |row| Ok((row.get(0)?, from_text(&row.get::<_, String>(1)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns whether a version contains everything in an older one.
    fn contains(&self, newer: &Version, older: &Version) -> Result<bool, ArchiveError> {
        if older.digest.is_some() && older.digest == newer.digest {
            return Ok(true);
        }
        let db = &self.db;
        let is_beginning =
            older.lost == 0 && older.captured <= newer.size && is_beginning(db, older, newer)?;
        if older.is_whole && is_beginning {
            return Ok(true);
        }
        let agents = self.agents;
        let read = |version: &Version| read(db, agents, version.number);
        let (Some(old), Some(new)) = (read(older)?, read(newer)?) else {
            return Ok(is_beginning);
        };
        if !older.is_whole {
            // Only the facts of the rest are known.
            return Ok(is_beginning && !lacks_messages(&new.facts, &old.facts));
        }
        if (&old.facts.contents, &new.facts.contents) == (&Contents::Prompts, &Contents::Prompts) {
            let (old, new) = (&old.facts.prompts, &new.facts.prompts);
            return Ok(!old.is_empty() && has_lines(new, old));
        }
        if !old.facts.is_conversation() || !new.facts.is_conversation() {
            return Ok(false);
        }
        if old.facts.messages().next().is_none() || lacks_messages(&new.facts, &old.facts) {
            return Ok(false);
        }
        let words = |number, scanned| words(db, agents, number, scanned);
        Ok(has_words(&words(newer.number, new)?, &words(older.number, old)?))
    }
}

/// Reads a captured version.
fn read(
    db: &Connection,
    agents: Agents,
    number: i64,
) -> Result<Option<ScannedSource>, ArchiveError> {
    if let Some(scanned) = sources::scanned(db, agents, number)? {
        return Ok(Some(scanned));
    }
    // Prompt logs are stored as lines; other files are not read at all.
    let sql = format!("SELECT {} FROM sources WHERE number = ?1", sources::COLUMNS);
    let source = db.prepare_cached(&sql)?.query_row([number], sources::source)?;
    let is_log = source.kind == SourceKind::PromptLog;
    let bytes = CapturedBytes { db, number };
    Ok(is_log.then(|| reading::read(agents, source, &bytes, Detail::Full).scanned))
}

/// Returns whether the bytes of a version are the beginning of another.
fn is_beginning(db: &Connection, older: &Version, newer: &Version) -> Result<bool, ArchiveError> {
    let compare = || -> io::Result<bool> {
        let open = |number| CaptureReader::new(db, number).map_err(io::Error::other);
        let (mut a, mut b) = (open(older.number)?, open(newer.number)?.take(older.captured));
        let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let length = a.read(&mut left)?;
            if length == 0 {
                return Ok(true);
            }
            b.read_exact(&mut right[..length])?;
            if left[..length] != right[..length] {
                return Ok(false);
            }
        }
    };
    compare().map_err(|error| ArchiveError::Read(format!("version {}", older.number), error))
}

fn has_lines(new: &[PromptLine], old: &[PromptLine]) -> bool {
    let key = |line: &PromptLine| (line.session.clone(), line.number, line.at, line.text.clone());
    let new: HashSet<_> = new.iter().map(key).collect();
    old.iter().all(|line| new.contains(&key(line)))
}

/// Returns whether an older scan has messages or token counts that a newer one lacks.
pub(super) fn lacks_messages(new: &SourceFacts, old: &SourceFacts) -> bool {
    let new: HashMap<&str, Option<Usage>> = usages(new).collect();
    usages(old)
        .any(|(id, usage)| new.get(id).is_none_or(|known| usage.is_some() && *known != usage))
}

/// Iterates over the ids of messages, with their token counts.
fn usages(facts: &SourceFacts) -> impl Iterator<Item = (&str, Option<Usage>)> {
    facts
        .messages()
        .map(|message| (message.id.as_str(), message.call.as_ref().map(CallFacts::total_usage)))
}

/// The text of each message of a file, by session and message.
type Words = HashMap<(SessionId, MessageId), Vec<(Where, String)>>;

fn words(
    db: &Connection,
    agents: Agents,
    number: i64,
    scanned: ScannedSource,
) -> Result<Words, ArchiveError> {
    let mut projects = Projects::new(&ProjectHints::default());
    let sessions = assemble(vec![scanned], &agents, &mut projects, &|_, _| None);
    let mut out = Words::new();
    let bytes = CapturedBytes { db, number };
    for assembled in &sessions {
        let SessionFacts { session, .. } = assembled;
        let messages = Reader::new(agents, &bytes)
            .transcript(assembled, View::Full, &|_| None)
            .map_err(|error| ArchiveError::Read(session.id.to_string(), error))?;
        for message in messages {
            let fields = Fields::of(&message, Extent::All);
            let said = fields.pieces.iter().map(|piece| (piece.field, piece.text.to_string()));
            let said: Vec<_> = said.collect();
            out.entry((session.id.clone(), message.id)).or_default().extend(said);
        }
    }
    Ok(out)
}

fn has_words(new: &Words, old: &Words) -> bool {
    old.iter().all(|(message, said)| {
        let there = new.get(message).map(Vec::as_slice).unwrap_or_default();
        said.iter().all(|(field, text)| {
            there.iter().any(|(other, words)| other == field && words.contains(text.as_str()))
        })
    })
}
