//! Finds the sessions that a change affects.
//!
//! Sources of one group belong together, and so do groups that contain the same call, because only
//! one of them made it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::{ArchiveError, listed, sources};
use crate::agent::Agents;
use crate::assemble::{ScannedSource, SessionFacts, assemble, keys};
use crate::path_text::to_text;
use crate::projects::Projects;

/// Groups, and all sources that their sessions are assembled from.
#[derive(Default)]
pub(super) struct Affected {
    pub(super) groups: BTreeSet<String>,
    sources: BTreeMap<i64, ScannedSource>,
}

impl Affected {
    /// Collects everything connected to some groups. `fresh` are sources that were just read.
    pub(super) fn from(
        db: &Connection,
        agents: Agents,
        start: impl IntoIterator<Item = String>,
        fresh: &mut HashMap<i64, ScannedSource>,
    ) -> Result<Self, ArchiveError> {
        let mut affected = Self::default();
        let mut waiting: Vec<String> = start.into_iter().collect();
        // A call that very many sources contain leads to all of them once, not once from each.
        let mut followed: FxHashSet<i64> = FxHashSet::default();
        while let Some(group) = waiting.pop() {
            if !affected.groups.insert(group.clone()) {
                continue;
            }
            for number in members(db, &group)? {
                if affected.sources.contains_key(&number) {
                    continue;
                }
                let Some(scanned) = fresh
                    .remove(&number)
                    .map_or_else(|| sources::scanned(db, agents, number), |s| Ok(Some(s)))?
                else {
                    continue;
                };
                waiting.extend(groups(db, number)?);
                if shares(db, number)? {
                    let mut keys = keys(&scanned);
                    keys.retain(|key| followed.insert(*key));
                    for other in holders(db, number, &keys)? {
                        waiting.extend(groups(db, other)?);
                    }
                }
                affected.sources.insert(number, scanned);
            }
        }
        Ok(affected)
    }

    pub(super) fn assemble(
        mut self,
        db: &Connection,
        agents: Agents,
        projects: &mut Projects,
    ) -> rusqlite::Result<Vec<SessionFacts>> {
        let names = Names::default();
        let named = |folder: &Path, short: &str| names.find(db, folder, short);
        listed::mark(db, &self.groups, self.sources.values_mut())?;
        Ok(assemble(self.sources.into_values().collect(), &agents, projects, &named))
    }
}

fn members(db: &Connection, group: &str) -> rusqlite::Result<Vec<i64>> {
    let mut find =
        db.prepare_cached("SELECT source FROM members WHERE group_key = ?1 ORDER BY 1")?;
    find.query_map([group], |row| row.get(0))?.collect()
}

pub(super) fn groups(db: &Connection, source: i64) -> rusqlite::Result<Vec<String>> {
    let mut find = db.prepare_cached("SELECT group_key FROM members WHERE source = ?1")?;
    find.query_map([source], |row| row.get(0))?.collect()
}

/// Returns whether another source contains a call of this one; few do.
fn shares(db: &Connection, source: i64) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT shares FROM sources WHERE number = ?1")?
        .query_row([source], |row| row.get(0))
}

/// Returns the other sources that contain any of the keys.
fn holders(db: &Connection, source: i64, keys: &[i64]) -> rusqlite::Result<BTreeSet<i64>> {
    let mut find =
        db.prepare_cached("SELECT source FROM call_sources WHERE key = ?1 AND source != ?2")?;
    let mut out = BTreeSet::new();
    for key in keys {
        for other in find.query_map(params![key, source], |row| row.get::<_, i64>(0))? {
            out.insert(other?);
        }
    }
    Ok(out)
}

/// The sessions of folders by the beginning of their ids, for logs without a header. A folder is
/// read once, when it is first needed.
#[derive(Default)]
pub(super) struct Names {
    known: RefCell<HashMap<PathBuf, HashMap<String, Option<String>>>>,
}

impl Names {
    /// Returns the only id in a folder that begins with `short`.
    pub(super) fn find(&self, db: &Connection, folder: &Path, short: &str) -> Option<String> {
        let mut known = self.known.borrow_mut();
        if !known.contains_key(folder) {
            known.insert(folder.to_owned(), beginnings(db, folder).unwrap_or_default());
        }
        known.get(folder)?.get(short)?.clone()
    }

    /// Clears the cache, because named sources were added or removed.
    pub(super) fn clear(&mut self) {
        self.known.get_mut().clear();
    }
}

/// Returns the ids in a folder by their first 8 characters; `None` where several begin alike.
fn beginnings(db: &Connection, folder: &Path) -> rusqlite::Result<HashMap<String, Option<String>>> {
    let mut find = db.prepare_cached(
        "SELECT DISTINCT group_key FROM sources JOIN members ON source = number
         WHERE folder = ?1 AND NOT nameless AND length(group_key) = 36",
    )?;
    let mut out: HashMap<String, Option<String>> = HashMap::new();
    for group in find.query_map([to_text(folder)], |row| row.get::<_, String>(0))? {
        let group = group?;
        if let Some(short) = group.get(..8) {
            let first = !out.contains_key(short);
            out.insert(short.to_owned(), first.then_some(group));
        }
    }
    Ok(out)
}
