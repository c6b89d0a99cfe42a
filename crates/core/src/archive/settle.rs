//! What can only be told when all is in: projects that other sessions proved, and sessions of which
//! only what was typed is left.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::batch::{Batch, UNSETTLED};
use super::forget::forgotten;
use super::{Archive, ArchiveError, codec, ledger, sources};
use crate::agent::gemini::{self, Projects};
use crate::path_text::from_text;
use crate::project::Project;

impl Batch<'_> {
    /// What can only be told when all is in: projects that other sessions proved, and sessions that
    /// no file holds any more.
    pub(super) fn settle(mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let resolved_now = resolve_all(&archive.db, &mut self.projects)?;
        let before = resolved(&archive.db)?;
        let is_unsettled = archive.note(UNSETTLED)?.is_some();
        if !self.logs_changed && !is_unsettled && resolved_now == before {
            return Ok(());
        }
        let db = archive.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if resolved_now != before {
            let changed: HashSet<&Place> = resolved_now
                .iter()
                .filter(|(key, project)| before.get(key).is_some_and(|before| before != *project))
                .map(|(key, _)| key)
                .collect();
            let touched = self.touch_projects(&db, &changed)?;
            self.weave(&db, touched, HashMap::new())?;
            ledger::set_note(&db, "resolved", &codec::encode(&resolved_now, "projects")?)?;
            ledger::set_note(&db, "projects", &self.projects.store())?;
        }
        self.log_only(&db)?;
        ledger::remove_note(&db, UNSETTLED)?;
        db.commit()?;
        Ok(())
    }

    /// Returns the groups of all sessions in places whose project is now known better.
    fn touch_projects(
        &mut self,
        db: &Transaction<'_>,
        changed: &HashSet<&Place>,
    ) -> Result<BTreeSet<String>, ArchiveError> {
        let mut touched = BTreeSet::new();
        if changed.is_empty() {
            return Ok(touched);
        }
        // One pass over all, for a folder may hold sessions of very many projects.
        let mut find = db.prepare(
            "SELECT folder, hash, source, grp FROM members JOIN sources ON number = source",
        )?;
        let mut rows = find.query([])?;
        let mut sources: BTreeSet<i64> = BTreeSet::new();
        while let Some(row) = rows.next()? {
            if changed.contains(&(row.get(0)?, row.get(1)?)) {
                sources.insert(row.get(2)?);
                touched.insert(row.get(3)?);
            }
        }
        self.names.clear();
        for number in sources {
            self.reconsider(db, number, &mut touched)?;
        }
        Ok(touched)
    }

    /// Sessions of which only what was typed is left.
    fn log_only(&mut self, db: &Transaction<'_>) -> Result<(), ArchiveError> {
        db.execute_batch(
            "DELETE FROM details WHERE session IN (SELECT number FROM sessions WHERE grp LIKE 'log:%');
             DELETE FROM sessions WHERE grp LIKE 'log:%';",
        )?;
        let forgotten = forgotten(db)?;
        let mut find = db.prepare(
            "SELECT DISTINCT session FROM typed WHERE session NOT IN (SELECT grp FROM members)",
        )?;
        let ids = find.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        for id in ids.iter().filter(|id| !forgotten.contains(*id)) {
            let (typed, files) = sources::typed(db, id)?;
            ledger::insert(db, gemini::of_prompts(id, typed, files, &mut self.projects))?;
        }
        Ok(())
    }
}

/// A folder and a hash that sessions in it name.
pub(super) type Place = (Option<String>, Option<String>);

/// How each folder and hash resolves.
pub(super) type Resolved = BTreeMap<Place, Project>;

/// How they resolved when their sessions were put together.
pub(super) fn resolved(db: &Connection) -> Result<Resolved, ArchiveError> {
    let stored = ledger::note(db, "resolved")?;
    stored.map_or_else(|| Ok(Resolved::new()), |stored| codec::decode(&stored, "projects"))
}

pub(super) fn resolve_all(
    db: &Connection,
    projects: &mut Projects,
) -> Result<Resolved, ArchiveError> {
    let mut find =
        db.prepare("SELECT DISTINCT folder, hash FROM members JOIN sources ON number = source")?;
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut out = Resolved::new();
    for row in rows {
        let (folder, hash): (Option<String>, Option<String>) = row?;
        let project =
            projects.resolve(folder.as_deref().map(from_text).as_deref(), hash.as_deref());
        out.insert((folder, hash), (*project).clone());
    }
    Ok(out)
}
