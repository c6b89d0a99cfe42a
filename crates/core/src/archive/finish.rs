//! Finishes a sync: re-resolves projects, and adds sessions known only from prompt logs.
//!
//! Both need all files: any session can prove the path of another one's project, and only after all
//! files are read is it certain that no file contains a session.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Seek as _, SeekFrom};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::forget::{forget_source, forgotten};
use super::ingest::{Ingest, SEARCHED, UNSETTLED};
use super::{Archive, ArchiveError, codec, notes, session_rows, sources};
use crate::agent::Agents;
use crate::assemble::from_prompts;
use crate::facts::SESSIONLESS;
use crate::model::SessionId;
use crate::path_text::from_text;
use crate::project::{Project, Proof};
use crate::projects::{Mentions, Projects, is_hash};
use crate::read::bytes::Bytes;

impl Ingest<'_> {
    /// Finishes a sync: re-resolves projects that other sessions have proved, and adds sessions
    /// that no file contains any more.
    pub(super) fn finish(mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let before = resolved(&archive.db)?;
        // Unless something was written, the places are the ones of the last time.
        let places =
            if self.has_written { places(&archive.db)? } else { before.keys().cloned().collect() };
        let mut resolved_now = resolve(&places, &mut self.projects);
        if self.search(archive, &resolved_now)? {
            resolved_now = resolve(&places, &mut self.projects);
        }
        let is_unsettled = archive.note(UNSETTLED)?.is_some();
        if !self.logs_changed && !is_unsettled && resolved_now == before {
            return Ok(());
        }
        let agents = archive.agents;
        let db = archive.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if resolved_now != before {
            let changed: HashSet<&Place> = resolved_now
                .iter()
                .filter(|(key, project)| before.get(key).is_some_and(|before| before != *project))
                .map(|(key, _)| key)
                .collect();
            let touched = self.touch_projects(&db, &resolved_now, &changed)?;
            self.rebuild_groups(&db, touched, HashMap::new())?;
            notes::set(&db, "resolved", &codec::encode(&resolved_now, "projects")?)?;
            let learned = codec::encode(self.projects.learned(), "projects")?;
            notes::set(&db, "projects", &learned)?;
        }
        if let Some(searched) = self.searched.take() {
            notes::set(&db, SEARCHED, &searched)?;
        }
        self.log_only(&db, agents)?;
        notes::remove(&db, UNSETTLED)?;
        db.commit()?;
        Ok(())
    }

    /// Searches the text of files for the paths of projects of which only the hash is known: new
    /// text for all hashes, and all text if a hash is new. Returns whether it found one.
    fn search(&mut self, archive: &Archive, known: &Resolved) -> Result<bool, ArchiveError> {
        let is_proved =
            |project: &Project| !matches!(project.proof, Proof::None | Proof::ToolPaths);
        let unknown: BTreeSet<&str> = known
            .values()
            .filter(|project| !is_proved(project))
            .filter_map(|project| project.hash.as_deref())
            .filter(|hash| is_hash(hash))
            .collect();
        if unknown.is_empty() {
            return Ok(false);
        }
        let stored = self.searched.take().or(archive.note(SEARCHED)?);
        let searched: BTreeSet<String> = match &stored {
            Some(stored) => codec::decode(stored, "projects")?,
            None => BTreeSet::new(),
        };
        let texts = if unknown.iter().all(|hash| searched.contains(*hash)) {
            std::mem::take(&mut self.new_text)
        } else {
            sources::texts(&archive.db)?
        };
        let mut mentions = Mentions::of(unknown.iter().copied());
        for (number, from) in texts {
            if !mentions.wants_more() {
                break;
            }
            let Some(source) = sources::by_number(&archive.db, number)? else { continue };
            // Files that can no longer be read are skipped.
            let Ok(mut text) = archive.open(&source) else { continue };
            let _ = text.seek(SeekFrom::Start(from)).and_then(|_| mentions.read(text));
        }
        let found = mentions.found();
        self.projects.record_found(&found);
        let now = codec::encode(&unknown, "projects")?;
        if !found.is_empty() {
            // The note is only true once the paths that were found are stored.
            self.searched = Some(now);
        } else if archive.note(SEARCHED)?.as_ref() != Some(&now) {
            notes::set(&archive.db, SEARCHED, &now)?;
        }
        Ok(!found.is_empty())
    }

    /// Returns the groups of all sessions whose project has been resolved differently. Sources that
    /// turn out to belong to an excluded project are removed.
    fn touch_projects(
        &mut self,
        db: &Transaction<'_>,
        now: &Resolved,
        changed: &HashSet<&Place>,
    ) -> Result<BTreeSet<String>, ArchiveError> {
        let mut touched = BTreeSet::new();
        if changed.is_empty() {
            return Ok(touched);
        }
        // One pass over all rows, because a folder may contain sessions of very many projects.
        let mut find = db.prepare(
            "SELECT folder, project, source, group_key FROM members JOIN sources ON number = source",
        )?;
        let mut rows = find.query([])?;
        let mut sources: BTreeSet<i64> = BTreeSet::new();
        let mut excluded: BTreeSet<i64> = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let place = (row.get(0)?, row.get(1)?);
            if changed.contains(&place) {
                let number = row.get(2)?;
                sources.insert(number);
                touched.insert(row.get(3)?);
                if now.get(&place).is_some_and(|project| self.options.exclude.takes(project)) {
                    excluded.insert(number);
                    excluded.extend(sources::neighbours(db, number)?);
                }
            }
        }
        for number in excluded {
            forget_source(db, number)?;
        }
        self.names.clear();
        for number in sources {
            self.reconsider(db, number, &mut touched)?;
        }
        Ok(touched)
    }

    /// Rebuilds the sessions that are known only from prompt logs.
    fn log_only(&mut self, db: &Transaction<'_>, agents: Agents) -> Result<(), ArchiveError> {
        let mut known =
            db.prepare("SELECT DISTINCT group_key FROM sessions WHERE group_key LIKE 'log:%'")?;
        let known = known.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        for group in known {
            session_rows::remove(db, &group)?;
        }
        let forgotten = forgotten(db)?;
        let mut find = db.prepare(
            "SELECT DISTINCT session FROM prompt_lines WHERE session NOT IN (SELECT group_key FROM members)",
        )?;
        let ids = find.query_map([], |row| row.get(0))?.collect::<Result<Vec<SessionId>, _>>()?;
        for id in ids.iter().filter(|id| !forgotten.contains(*id) && *id != SESSIONLESS) {
            let (typed, files) = sources::typed(db, id)?;
            if let Some(session) = from_prompts(id, typed, files, &agents, &mut self.projects) {
                session_rows::insert(db, session)?;
            }
        }
        Ok(())
    }
}

/// A folder, and the project that sessions in it name: its path, or the agent's hash of it.
pub(super) type Place = (Option<String>, Option<String>);

/// The project of each place.
pub(super) type Resolved = BTreeMap<Place, Project>;

/// Returns the projects of places as of the last time their sessions were assembled.
pub(super) fn resolved(db: &Connection) -> Result<Resolved, ArchiveError> {
    let stored = notes::get(db, "resolved")?;
    stored.map_or_else(|| Ok(Resolved::new()), |stored| codec::decode(&stored, "projects"))
}

/// Returns the places of all sources.
pub(super) fn places(db: &Connection) -> Result<Vec<Place>, ArchiveError> {
    let mut find =
        db.prepare("SELECT DISTINCT folder, project FROM members JOIN sources ON number = source")?;
    Ok(find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
}

/// Resolves the projects of places.
pub(super) fn resolve(places: &[Place], projects: &mut Projects) -> Resolved {
    let mut project = |(folder, named): &Place| {
        let folder = folder.as_deref().map(from_text);
        (*projects.resolve(folder.as_deref(), named.as_deref())).clone()
    };
    places.iter().map(|place| (place.clone(), project(place))).collect()
}
