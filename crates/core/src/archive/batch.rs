//! Sources into their rows, and the sessions they touch put together anew.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, params};
use rustc_hash::FxHashSet;

use super::fingerprint::Look;
use super::settle::{resolve_all, resolved};
use super::sources::{self, New};
use super::sync::Setup;
use super::web::{self, Web};
use super::words::{forget_source, forgotten};
use super::{ArchiveError, ledger};
use crate::agent::gemini::{
    self, About, Holds, Kept, Membership, Projects, Scanned, Typed, is_nameless, keys,
    learn_projects, memberships,
};
use crate::discover::{Archived, SourceState};

/// A source on its way into the archive.
pub(super) struct Incoming {
    pub(super) machine: Arc<str>,
    pub(super) state: SourceState,
    pub(super) look: Look,
    pub(super) proof: Option<Vec<u8>>,
    pub(super) kept: Kept,
    pub(super) origin: Origin,
}

/// Where a source comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is on the disk like this.
    Disk,
    /// The same, and was read on from where it was left: nothing it held is lost.
    Continued,
    /// Another archive knows it like this.
    Archive,
}

/// What is carried from batch to batch.
pub(super) struct Batch<'a> {
    setup: &'a Setup<'a>,
    pub(super) projects: Projects,
    /// Whether sessions that only a prompt log knows may have changed.
    pub(super) logs_changed: bool,
}

impl<'a> Batch<'a> {
    pub(super) fn new(setup: &'a Setup<'a>, projects: Projects) -> Self {
        Self { setup, projects, logs_changed: false }
    }

    /// Writes sources, and the sessions they touch. Gives the row of each, none for what was known.
    pub(super) fn write(
        &mut self,
        db: &Transaction<'_>,
        incoming: Vec<Incoming>,
    ) -> Result<Vec<(PathBuf, Option<i64>)>, ArchiveError> {
        learn_projects(incoming.iter().map(|one| &one.kept.scanned), &mut self.projects);
        let mut touched: BTreeSet<String> = BTreeSet::new();
        let mut fresh: HashMap<i64, Scanned> = HashMap::new();
        // What has a name goes in first: it may name the rest.
        let (nameless, named): (Vec<Incoming>, Vec<Incoming>) =
            incoming.into_iter().partition(|one| is_nameless(&one.kept.scanned));
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        let mut numbers = Vec::new();
        for one in named.into_iter().chain(nameless) {
            let source = &one.kept.scanned.source;
            if !is_nameless(&one.kept.scanned) {
                folders.extend(source.folder().map(Path::to_owned));
            }
            let path = source.path.clone();
            numbers.push((path, self.put(db, one, &mut touched, &mut fresh)?));
        }
        for folder in folders {
            self.rename(db, &folder, &mut touched)?;
        }
        self.weave(db, touched, fresh)?;
        ledger::set_note(db, "projects", &self.projects.store())?;
        // A later batch may know better: then these are put together again.
        let mut resolved = resolved(db)?;
        for (key, project) in resolve_all(db, &mut self.projects)? {
            resolved.entry(key).or_insert(project);
        }
        ledger::set_note(db, "resolved", &postcard::to_stdvec(&resolved).unwrap_or_default())?;
        Ok(numbers)
    }

    /// Writes one source and what it is a part of; none when what is there says as much.
    fn put(
        &mut self,
        db: &Transaction<'_>,
        incoming: Incoming,
        touched: &mut BTreeSet<String>,
        fresh: &mut HashMap<i64, Scanned>,
    ) -> Result<Option<i64>, ArchiveError> {
        let Incoming { machine, mut state, look, proof, kept, origin } = incoming;
        let Kept { mut scanned, stored, offset, known_keys } = kept;
        let mut number = None;
        if state == SourceState::Replaced {
            if sources::has_replaced(db, &machine, &scanned.source.path, look)? {
                return Ok(None);
            }
        } else if let Some(known) = sources::number_of(db, &machine, &scanned.source.path)? {
            let before =
                if origin == Origin::Continued { None } else { sources::scanned(db, known)? };
            let is_older = origin == Origin::Archive
                && before.as_ref().is_some_and(|before| {
                    (before.source.modified, before.source.size)
                        > (scanned.source.modified, scanned.source.size)
                });
            match before {
                Some(before) if is_older && !holds_more(&scanned, &before) => return Ok(None),
                Some(_) if is_older => state = SourceState::Replaced,
                Some(before) if holds_more(&before, &scanned) => {
                    sources::set_state(db, known, SourceState::Replaced)?;
                }
                _ => number = Some(known),
            }
            touched.extend(web::groups(db, known)?);
        }
        let source = &scanned.source;
        let named = |folder: &Path, short: &str| web::named(db, folder, short).ok().flatten();
        let members = memberships(&scanned, &mut self.projects, &named);
        let excluded = self.is_excluded(&scanned, &members);
        let kept = !excluded && !holds_forgotten(db, &scanned)?;
        let is_conversation = matches!(scanned.holds, Holds::Sessions(_) | Holds::History(_));
        let is_read = !matches!(scanned.holds, Holds::Attached | Holds::Prompts(_));
        let packed = (kept && is_read).then(|| sources::pack(db, stored));
        let new = New {
            source,
            machine: &machine,
            state,
            look,
            offset: offset.filter(|_| packed.is_some()),
            proof: proof.as_deref(),
            nameless: is_nameless(&scanned),
            about: &About::of(&scanned),
            problems: gemini::token_problems(&scanned),
            kept,
            scan: packed.as_deref(),
        };
        let number = sources::put(db, &new, number)?;
        if let Holds::Prompts(typed) = &scanned.holds {
            self.logs_changed = true;
            put_typed(db, number, if excluded { &[] } else { typed })?;
        }
        db.prepare_cached("DELETE FROM members WHERE source = ?1")?.execute([number])?;
        if !kept || !is_conversation {
            return Ok(Some(number));
        }
        for member in &members {
            db.prepare_cached("INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3)")?
                .execute(params![member.group, number, member.hash])?;
            self.logs_changed |= touched.insert(member.group.clone());
        }
        hold(db, number, &scanned, &known_keys)?;
        scanned.source.archived = Some(Archived { number, machine, state });
        fresh.insert(number, scanned);
        Ok(Some(number))
    }

    /// Whether its project must stay out.
    fn is_excluded(&mut self, scanned: &Scanned, members: &[Membership]) -> bool {
        let source = &scanned.source;
        let mut hashes: Vec<Option<&str>> = members.iter().map(|m| m.hash.as_deref()).collect();
        if hashes.is_empty() {
            hashes.push(None);
        }
        hashes.into_iter().any(|hash| {
            let project = self.projects.resolve(source.folder(), hash);
            self.setup.exclude.takes(&project)
        })
    }

    /// A log without a header belongs to the one session of its folder whose id begins like its name:
    /// a new session may be the one, or make it two.
    fn rename(
        &mut self,
        db: &Transaction<'_>,
        folder: &Path,
        touched: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let mut find =
            db.prepare_cached("SELECT number FROM sources WHERE folder = ?1 AND nameless")?;
        let numbers = find.query_map([folder.to_string_lossy()], |row| row.get::<_, i64>(0))?;
        for number in numbers.collect::<Result<Vec<i64>, _>>()? {
            self.reconsider(db, number, touched)?;
        }
        Ok(())
    }

    /// Looks again what a stored source is a part of.
    pub(super) fn reconsider(
        &mut self,
        db: &Connection,
        number: i64,
        touched: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let Some(scanned) = sources::scanned(db, number)? else { return Ok(()) };
        let named = |folder: &Path, short: &str| web::named(db, folder, short).ok().flatten();
        let members = memberships(&scanned, &mut self.projects, &named);
        let before: BTreeSet<String> = web::groups(db, number)?.into_iter().collect();
        let after: BTreeSet<String> = members.iter().map(|m| m.group.clone()).collect();
        if before != after {
            db.execute("DELETE FROM members WHERE source = ?1", [number])?;
            for member in &members {
                db.prepare_cached("INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3)")?
                    .execute(params![member.group, number, member.hash])?;
            }
            touched.extend(before);
            touched.extend(after);
        }
        Ok(())
    }

    /// Puts sessions together anew after something was taken out.
    pub(super) fn reweave(
        &mut self,
        db: &Transaction<'_>,
        touched: BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        self.logs_changed = true;
        self.weave(db, touched, HashMap::new())
    }

    /// Puts the sessions together that were touched.
    pub(super) fn weave(
        &mut self,
        db: &Transaction<'_>,
        touched: BTreeSet<String>,
        mut fresh: HashMap<i64, Scanned>,
    ) -> Result<(), ArchiveError> {
        let forgotten = forgotten(db)?;
        let mut touched = touched;
        loop {
            let web = Web::from(db, touched, &mut fresh)?;
            let groups = web.groups.clone();
            let assembled = web.assemble(db, &mut self.projects);
            let unwanted = assembled.iter().filter(|a| forgotten.contains(&a.session.id));
            let unwanted: BTreeSet<i64> = unwanted
                .flat_map(|assembled| &assembled.files)
                .filter_map(|source| Some(source.archived.as_ref()?.number))
                .collect();
            if unwanted.is_empty() {
                for group in &groups {
                    ledger::remove(db, group)?;
                }
                for assembled in assembled {
                    ledger::insert(db, assembled)?;
                }
                return Ok(());
            }
            // Without them, what is left may look different.
            for number in unwanted {
                forget_source(db, number)?;
            }
            touched = groups;
        }
    }
}

/// Whether a prompt log or a file beside sessions says something of one that was forgotten. Sessions
/// themselves are told when they are put together.
fn holds_forgotten(db: &Connection, scanned: &Scanned) -> Result<bool, ArchiveError> {
    Ok(match &scanned.holds {
        Holds::Prompts(typed) => {
            let forgotten = forgotten(db)?;
            typed.iter().any(|typed| forgotten.contains(&typed.session))
        }
        Holds::Attached => {
            let forgotten = forgotten(db)?;
            let mut parts = scanned.source.path.iter().map(|part| part.to_string_lossy());
            parts.any(|part| forgotten.contains(part.strip_prefix("session-").unwrap_or(&part)))
        }
        _ => false,
    })
}

/// Whether a source held a message that its newer version lacks.
fn holds_more(old: &Scanned, new: &Scanned) -> bool {
    let ids = |scanned: &Scanned| -> HashSet<String> { gemini::message_ids(scanned).collect() };
    let new = ids(new);
    gemini::message_ids(old).any(|id| !new.contains(&id))
}

/// Notes which calls a source holds, those left out that it is known to hold, and marks it and others
/// that hold one of them too.
fn hold(
    db: &Connection,
    number: i64,
    scanned: &Scanned,
    known: &FxHashSet<i64>,
) -> rusqlite::Result<()> {
    let mut keys = keys(scanned);
    keys.retain(|key| !known.contains(key));
    keys.sort_unstable();
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO held VALUES (?1, ?2)")?;
    let mut others =
        db.prepare_cached("SELECT source FROM held WHERE key = ?1 AND source != ?2")?;
    let mut mark = db.prepare_cached("UPDATE sources SET shares = 1 WHERE number = ?1")?;
    for key in keys {
        insert.execute([key, number])?;
        let others = others.query_map([key, number], |row| row.get::<_, i64>(0))?;
        for other in others.collect::<Result<Vec<i64>, _>>()? {
            mark.execute([other])?;
            mark.execute([number])?;
        }
    }
    Ok(())
}

fn put_typed(db: &Connection, source: i64, typed: &[Typed]) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM typed WHERE source = ?1")?.execute([source])?;
    let forgotten = forgotten(db)?;
    let mut insert = db.prepare_cached("INSERT INTO typed VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for typed in typed.iter().filter(|typed| !forgotten.contains(&typed.session)) {
        let at = typed.at.map(jiff::Timestamp::as_millisecond);
        insert.execute(params![
            source,
            typed.session,
            typed.number.cast_signed(),
            at,
            typed.text
        ])?;
    }
    Ok(())
}
