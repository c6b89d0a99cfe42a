//! Brings the ledger up to date: only what changed is read, and only the sessions that it touches are
//! put together anew.
//!
//! A batch of files is one transaction, so that a killed run leaves whole batches behind. Every row
//! is a function of the sources, so the next run ends where one clean run would.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use rustc_hash::FxHashSet;

use super::fingerprint::{self, Look};
use super::sources::{self, Known, New};
use super::web::{self, Web};
use super::{Archive, ArchiveError, ledger};
use crate::agent::gemini::{
    self, About, Candidates, Holds, Kept, Membership, Projects, Scanned, Typed, is_nameless, keys,
    learn_projects, memberships,
};
use crate::discover::{Archived, Found, Source, SourceState};
use crate::project::Project;
use crate::read::bytes::Disk;

/// A batch is this many bytes of files at most, or one file: it bounds the memory of a sync.
const BATCH: u64 = 64 << 20;

/// Which projects stay out.
pub trait Exclude {
    fn takes(&self, project: &Project) -> bool;
}

/// None at all.
impl Exclude for () {
    fn takes(&self, _: &Project) -> bool {
        false
    }
}

/// What a sync goes by.
pub struct Setup<'a> {
    /// What the place is called where the files were found.
    pub machine: &'a str,
    pub candidates: &'a Candidates,
    /// Projects that must stay out.
    pub exclude: &'a dyn Exclude,
    /// What `exclude` goes by: when it changes, what was left out is looked at again.
    pub excluded: &'a str,
    /// How many bytes of files are read before what they come to is written; 0 for as many as is
    /// sensible.
    pub batch: u64,
}

/// What a sync found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Synced {
    pub new: u64,
    pub changed: u64,
    /// Files that are not there any more.
    pub gone: u64,
    pub unchanged: u64,
    /// Files among the new and changed ones that have faults.
    pub faulty: u64,
    /// How many bytes were read.
    pub bytes: u64,
}

/// A file that is not as it was.
struct Change {
    source: Source,
    /// What was stored of a log that may only have grown.
    stored: Option<(Vec<u8>, Known)>,
}

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

impl Archive {
    /// Reads what is new or has changed. `progress` is told of the bytes of each file that is done.
    pub fn sync(
        &mut self,
        found: &Found,
        setup: &Setup<'_>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Synced, ArchiveError> {
        let mut projects = self.projects(setup.candidates)?;
        let folders: BTreeSet<&Path> = found.sources.iter().filter_map(Source::folder).collect();
        for folder in folders {
            projects.learn_folder(folder);
        }
        if self.note("excluded")?.unwrap_or_default() != setup.excluded.as_bytes() {
            self.db.execute("DELETE FROM sources WHERE NOT kept", [])?;
            ledger::set_note(&self.db, "excluded", setup.excluded.as_bytes())?;
        }
        let mut synced = Synced::default();
        let known = sources::known(&self.db, setup.machine)?;
        let changes = self.changes(found, &known, &mut synced)?;
        let mut batch = Batch::new(setup, projects);
        let mut rest = changes.into_iter().peekable();
        let most = if setup.batch == 0 { BATCH } else { setup.batch };
        while rest.peek().is_some() {
            let mut size = 0;
            let mut files = Vec::new();
            while let Some(change) =
                rest.next_if(|next| size == 0 || size + next.source.size <= most)
            {
                size += change.source.size.max(1);
                files.push(change);
            }
            let machine: Arc<str> = setup.machine.into();
            let read: Vec<Incoming> = files
                .into_par_iter()
                .map(|change| {
                    let size = change.source.size;
                    let read = read(change, machine.clone());
                    progress(size);
                    read
                })
                .collect();
            synced.bytes += size;
            synced.faulty +=
                read.iter().filter(|r| !r.kept.scanned.faults.is_clean()).count() as u64;
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            batch.write(&transaction, read)?;
            transaction.commit()?;
        }
        synced.gone = self.mark_gone(found, &known)?;
        batch.settle(self)?;
        Ok(synced)
    }

    /// Files that are neither found nor there.
    fn mark_gone(
        &self,
        found: &Found,
        known: &HashMap<String, Known>,
    ) -> Result<u64, ArchiveError> {
        let there: HashSet<Cow<'_, str>> =
            found.sources.iter().map(|source| source.path.to_string_lossy()).collect();
        let mut gone = 0;
        for (path, known) in known {
            let is_there = there.contains(path.as_str());
            if known.state == SourceState::Live
                && !is_there
                && Path::new(path).symlink_metadata().is_err()
            {
                sources::set_state(&self.db, known.number, SourceState::Gone)?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// What is known of projects.
    pub fn projects(&self, candidates: &Candidates) -> Result<Projects, ArchiveError> {
        let mut projects = Projects::new(candidates);
        if let Some(learned) = self.note("projects")? {
            projects.recall(&learned);
        }
        Ok(projects)
    }

    fn changes(
        &self,
        found: &Found,
        known: &HashMap<String, Known>,
        synced: &mut Synced,
    ) -> Result<Vec<Change>, ArchiveError> {
        let mut out = Vec::new();
        for source in &found.sources {
            let before = known.get(&*source.path.to_string_lossy());
            match before {
                Some(before) if before.look == Look::of(source) => {
                    synced.unchanged += 1;
                    if before.state == SourceState::Gone {
                        sources::set_state(&self.db, before.number, SourceState::Live)?;
                    }
                    continue;
                }
                Some(_) => synced.changed += 1,
                None => synced.new += 1,
            }
            let grown = before.filter(|before| {
                before.offset.is_some_and(|offset| source.size >= offset)
                    && before.look.inode == Look::of(source).inode
            });
            let stored = match grown {
                Some(before) => {
                    sources::scan(&self.db, before.number)?.map(|s| (s, before.clone()))
                }
                None => None,
            };
            out.push(Change { source: source.clone(), stored });
        }
        Ok(out)
    }
}

fn read(change: Change, machine: Arc<str>) -> Incoming {
    let Change { source, stored } = change;
    // What was seen before reading: if the file changes meanwhile, the next sync will notice.
    let look = Look::of(&source);
    let path = source.path.clone();
    let go_on = |(stored, before): (Vec<u8>, Known)| {
        let proof = fingerprint::proof(&path, before.offset?).ok()?;
        if before.proof.as_ref() != Some(&proof) {
            return None;
        }
        gemini::scan_on(&source, &stored)
    };
    let on = stored.and_then(go_on);
    let origin = if on.is_some() { Origin::Continued } else { Origin::Disk };
    let kept = on.unwrap_or_else(|| gemini::scan_and_store(source, &Disk));
    let proof = kept.offset.and_then(|offset| fingerprint::proof(&path, offset).ok());
    Incoming { machine, state: SourceState::Live, look, proof, kept, origin }
}

/// What is carried from batch to batch.
pub(super) struct Batch<'a> {
    setup: &'a Setup<'a>,
    projects: Projects,
    /// Whether sessions that only a prompt log knows may have changed.
    logs_changed: bool,
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
        let kept = !self.is_unwanted(db, &scanned, &members)?;
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
            put_typed(db, number, typed)?;
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

    /// Whether nothing of a source may be kept: its project is excluded, or what it holds was
    /// forgotten. Sessions that were forgotten are told when they are put together.
    fn is_unwanted(
        &mut self,
        db: &Connection,
        scanned: &Scanned,
        members: &[Membership],
    ) -> Result<bool, ArchiveError> {
        let source = &scanned.source;
        let mut hashes: Vec<Option<&str>> = members.iter().map(|m| m.hash.as_deref()).collect();
        if hashes.is_empty() {
            hashes.push(None);
        }
        let is_out = |hash: Option<&str>| {
            let project = self.projects.resolve(source.folder(), hash);
            self.setup.exclude.takes(&project)
        };
        if hashes.into_iter().any(is_out) {
            return Ok(true);
        }
        Ok(match &scanned.holds {
            Holds::Prompts(typed) => {
                let forgotten = forgotten(db)?;
                typed.iter().any(|typed| forgotten.contains(&typed.session))
            }
            Holds::Attached => {
                let forgotten = forgotten(db)?;
                let mut parts = source.path.iter().map(|part| part.to_string_lossy());
                parts.any(|part| forgotten.contains(part.strip_prefix("session-").unwrap_or(&part)))
            }
            _ => false,
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
    fn reconsider(
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
    fn weave(
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
                for assembled in &assembled {
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

    /// What can only be told when all is in: projects that other sessions proved, and sessions that
    /// no file holds any more.
    pub(super) fn settle(mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let resolved_now = resolve_all(&archive.db, &mut self.projects)?;
        let before = resolved(&archive.db)?;
        if !self.logs_changed && resolved_now == before {
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
            let stored = postcard::to_stdvec(&resolved_now).unwrap_or_default();
            ledger::set_note(&db, "resolved", &stored)?;
            ledger::set_note(&db, "projects", &self.projects.store())?;
        }
        self.log_only(&db)?;
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
        let mut find = db.prepare(&format!(
            "SELECT {}, session, typed.number, at, text FROM typed JOIN sources ON sources.number = source
             WHERE session NOT IN (SELECT grp FROM members) ORDER BY session",
            sources::COLUMNS.replace("number", "sources.number")
        ))?;
        let mut sessions: BTreeMap<String, (Vec<Typed>, Vec<Source>)> = BTreeMap::new();
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let session: String = row.get(9)?;
            if forgotten.contains(&session) {
                continue;
            }
            let (typed, files) = sessions.entry(session.clone()).or_default();
            let at: Option<i64> = row.get(11)?;
            typed.push(Typed {
                session,
                number: row.get::<_, i64>(10)?.cast_unsigned(),
                at: at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()),
                text: row.get(12)?,
            });
            let source = sources::source(row)?;
            if !files.contains(&source) {
                files.push(source);
            }
        }
        for (id, (typed, files)) in sessions {
            ledger::insert(db, &gemini::of_prompts(&id, typed, files, &mut self.projects))?;
        }
        Ok(())
    }
}

/// How each folder and hash resolves.
type Resolved = BTreeMap<(Option<String>, Option<String>), Project>;

/// How they resolved when their sessions were put together.
fn resolved(db: &Connection) -> Result<Resolved, ArchiveError> {
    let stored = ledger::note(db, "resolved")?.unwrap_or_default();
    Ok(postcard::from_bytes(&stored).unwrap_or_default())
}

fn resolve_all(db: &Connection, projects: &mut Projects) -> Result<Resolved, ArchiveError> {
    let mut find =
        db.prepare("SELECT DISTINCT folder, hash FROM members JOIN sources ON number = source")?;
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut out = Resolved::new();
    for row in rows {
        let (folder, hash): (Option<String>, Option<String>) = row?;
        let project = projects.resolve(folder.as_deref().map(Path::new), hash.as_deref());
        out.insert((folder, hash), (*project).clone());
    }
    Ok(out)
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

pub(super) fn forgotten(db: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut find = db.prepare_cached("SELECT session FROM forgotten")?;
    find.query_map([], |row| row.get(0))?.collect()
}

/// Leaves nothing of a source but that it was seen.
pub(super) fn forget_source(db: &Connection, number: i64) -> rusqlite::Result<()> {
    for sql in [
        "UPDATE sources SET scan = NULL, offset = NULL, proof = NULL, captured = 0, kept = 0
         WHERE number = ?1",
        "DELETE FROM members WHERE source = ?1",
        "DELETE FROM held WHERE source = ?1",
        "DELETE FROM typed WHERE source = ?1",
        "DELETE FROM captures WHERE source = ?1",
    ] {
        db.execute(sql, [number])?;
    }
    Ok(())
}
