//! What can only be told when all is in: projects that other sessions proved, and sessions of which
//! only what was typed is left.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

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
            let mut touched = BTreeSet::new();
            for (key, project) in &resolved_now {
                if before.get(key).is_some_and(|before| before != project) {
                    self.touch_project(&db, key, &mut touched)?;
                }
            }
            self.weave(&db, touched, HashMap::new())?;
            ledger::set_note(&db, "resolved", &codec::encode(&resolved_now, "projects")?)?;
            ledger::set_note(&db, "projects", &self.projects.store())?;
        }
        self.log_only(&db)?;
        ledger::remove_note(&db, UNSETTLED)?;
        db.commit()?;
        Ok(())
    }

    /// All sessions of a project that is now known better.
    fn touch_project(
        &mut self,
        db: &Transaction<'_>,
        (folder, hash): &(Option<String>, Option<String>),
        touched: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let mut find = db.prepare_cached(
            "SELECT DISTINCT source, grp FROM members JOIN sources ON number = source
             WHERE folder IS ?1 AND hash IS ?2",
        )?;
        let rows = find.query_map(params![folder, hash], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (number, group) in rows.collect::<Result<Vec<(i64, String)>, _>>()? {
            touched.insert(group);
            self.reconsider(db, number, touched)?;
        }
        Ok(())
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

/// How each folder and hash resolves.
pub(super) type Resolved = BTreeMap<(Option<String>, Option<String>), Project>;

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
