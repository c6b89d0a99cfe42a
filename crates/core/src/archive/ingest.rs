//! Writes sources into their rows and rebuilds the sessions they affect.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use rustc_hash::FxHashSet;

use super::affected::{self, Affected, Names};
use super::digest::Digest;
use super::fingerprint::Fingerprint;
use super::finish::{places, resolve, resolved};
use super::forget::{forget_source, forgotten};
use super::machine::MachineId;
use super::reading::Reading;
use super::slot::{Slot, slot};
use super::sources::{self, New};
use super::sync::SyncOptions;
use super::{ArchiveError, codec, limits, listed, notes, session_rows};
use crate::agent::{Agent, Agents};
use crate::assemble::{Membership, ScannedSource, SessionFacts, keys, memberships};
use crate::discover::{Archived, SourceState};
use crate::facts::{Contents, Form, PartFacts, PromptLine, TitleLine};
use crate::model::SessionId;
use crate::path_text::to_text;
use crate::project::Proof;
use crate::projects::{Projects, worktree_root};
use crate::read::bytes::Disk;

/// A source on its way into the archive.
pub(super) struct Incoming {
    pub(super) machine: MachineId,
    pub(super) state: SourceState,
    pub(super) fingerprint: Fingerprint,
    /// The content that was read; none when it could not be read.
    pub(super) digest: Option<Digest>,
    pub(super) reading: Reading,
    pub(super) origin: Origin,
    /// The offset of the first byte that no earlier sync has read.
    pub(super) new_from: u64,
}

/// The origin of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The file on the disk.
    Disk,
    /// The file on the disk, which only grew: everything read before is still at its beginning.
    Grown,
    /// Another archive.
    Archive {
        /// Whether it is a file of this machine; then the next sync checks whether it still exists.
        is_own: bool,
    },
}

impl Origin {
    /// Returns whether the file is one of this machine.
    fn is_here(self) -> bool {
        !matches!(self, Self::Archive { is_own: false })
    }
}

/// The key of the note that sessions known only from prompt logs must be rebuilt.
pub(super) const UNSETTLED: &str = "unsettled";

/// The key of the note that lists the hashes of unknown projects for which all text was searched.
pub(super) const SEARCHED: &str = "searched";

/// The one way into the archive: sources that were read, from the disk or from another archive, become
/// rows and sessions. It carries state from batch to batch.
pub(super) struct Ingest<'a> {
    pub(super) options: &'a SyncOptions<'a>,
    pub(super) agents: Agents,
    pub(super) projects: Projects,
    pub(super) names: Names,
    /// The sessions that must not come back, as they were when the batch began.
    forgotten: HashSet<SessionId>,
    /// Whether sessions known only from a prompt log may have changed.
    pub(super) logs_changed: bool,
    /// Sources with new text, each with the offset at which it begins.
    pub(super) new_text: Vec<(i64, u64)>,
    /// The hashes for which all text was searched before this batch.
    pub(super) searched: Option<Vec<u8>>,
    /// Whether any source was written.
    pub(super) has_written: bool,
}

impl<'a> Ingest<'a> {
    pub(super) fn new(options: &'a SyncOptions<'a>, agents: Agents, projects: Projects) -> Self {
        let (names, forgotten) = (Names::default(), HashSet::new());
        let (new_text, searched) = (Vec::new(), None);
        let (logs_changed, has_written) = (false, false);
        Self {
            options,
            agents,
            projects,
            names,
            forgotten,
            logs_changed,
            new_text,
            searched,
            has_written,
        }
    }

    /// Learns project paths from sources. It reads files, so it must not run inside a transaction.
    pub(super) fn learn(&mut self, incoming: &[Incoming]) {
        let parts = || {
            incoming
                .iter()
                .flat_map(|one| one.reading.scanned.facts.parts.iter().map(move |part| (one, part)))
        };
        for path in parts().flat_map(|(_, part)| &part.directories) {
            self.projects.record_path(path, Proof::Directories);
        }
        for (one, part) in parts() {
            self.learn_worktree(one, part);
        }
        // Searches the sessions of projects whose path is still unknown.
        let is_telling = |(one, part): &(&Incoming, &PartFacts)| {
            one.origin.is_here() && part.form != Form::History
        };
        for (one, part) in parts().filter(is_telling) {
            let source = &one.reading.scanned.source;
            let named = part.project.as_deref();
            let Some(hash) = self.projects.unresolved(source.folder(), named) else { continue };
            if let Some(agent) = self.agents.get(&source.agent)
                && self.projects.wants_hints(&hash)
            {
                self.projects.follow(&hash, &agent.hints(source, part, &Disk));
            }
        }
    }

    /// Learns which repository a session's folder is a worktree of: from the session, or from the folder.
    fn learn_worktree(&mut self, one: &Incoming, part: &PartFacts) {
        let source = &one.reading.scanned.source;
        let joins = self.agents.get(&source.agent).is_some_and(Agent::joins_worktrees);
        let Some(folder) = part.project.as_deref().filter(|_| joins) else { return };
        if let Some(repository) = &part.worktree_of {
            self.projects.set_worktree(folder, repository);
        } else if one.origin.is_here()
            && self.projects.visit(&Path::new(folder).join(".git"))
            && let Some((root, repository)) = worktree_root(Path::new(folder))
        {
            self.projects.set_worktree(&to_text(&root), &to_text(&repository));
        }
    }

    /// Writes sources and rebuilds the sessions they affect. Calls `written` with each source's
    /// place in the list and its row, before any session is rebuilt.
    pub(super) fn write(
        &mut self,
        db: &Transaction<'_>,
        incoming: Vec<Incoming>,
        mut written: impl FnMut(usize, i64) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.forgotten = forgotten(db)?;
        // The note is not true until this text has been searched as well.
        if let Some(searched) = notes::get(db, SEARCHED)? {
            self.searched = Some(searched);
            notes::remove(db, SEARCHED)?;
        }
        let mut touched: BTreeSet<String> = BTreeSet::new();
        let mut fresh: HashMap<i64, ScannedSource> = HashMap::new();
        // Named sources go first, because they may name the nameless ones.
        let (nameless, named): (Vec<_>, Vec<_>) = incoming
            .into_iter()
            .enumerate()
            .partition(|(_, one)| one.reading.scanned.facts.is_nameless());
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for (place, one) in named {
            folders.extend(one.reading.scanned.source.folder().map(Path::to_owned));
            written(place, self.put(db, one, &mut touched, &mut fresh)?)?;
        }
        self.names.clear();
        for (place, one) in nameless {
            written(place, self.put(db, one, &mut touched, &mut fresh)?)?;
        }
        for folder in folders {
            self.rename(db, &folder, &mut touched)?;
        }
        self.rebuild_groups(db, touched, fresh)?;
        let learned = codec::encode(self.projects.learned(), "projects")?;
        notes::set(db, "projects", &learned)?;
        if self.logs_changed {
            notes::set(db, UNSETTLED, &[])?;
        }
        // A later batch may resolve these differently; the sessions are then rebuilt.
        let mut resolved = resolved(db)?;
        self.has_written = true;
        for (key, project) in resolve(&places(db)?, &mut self.projects) {
            resolved.entry(key).or_insert(project);
        }
        notes::set(db, "resolved", &codec::encode(&resolved, "projects")?)?;
        Ok(())
    }

    /// Writes one source and its memberships, and returns its row.
    fn put(
        &mut self,
        db: &Transaction<'_>,
        incoming: Incoming,
        touched: &mut BTreeSet<String>,
        fresh: &mut HashMap<i64, ScannedSource>,
    ) -> Result<i64, ArchiveError> {
        let (number, state) = match slot(db, self.agents, &incoming)? {
            Slot::Same(number) => return Ok(number),
            Slot::Known(number) => (Some(number), incoming.state),
            Slot::New(state) => (None, state),
        };
        let Incoming { machine, fingerprint, digest, reading, new_from, .. } = incoming;
        let Reading { mut scanned, resume, known_keys, extract } = reading;
        if let Some(number) = number {
            touched.extend(affected::groups(db, number)?);
        }
        let source = &scanned.source;
        let names = &self.names;
        let named = |folder: &Path, short: &str| names.find(db, folder, short);
        let members = memberships(&scanned, &mut self.projects, &named);
        let excluded = self.is_excluded(&scanned, &members);
        let kept = !excluded && !self.holds_forgotten(&scanned, &members);
        let facts = &scanned.facts;
        let is_read = !matches!(
            facts.contents,
            Contents::Attachment | Contents::Prompts | Contents::Titles | Contents::List
        );
        let offset = resume.as_ref().map(|resume| resume.offset);
        let packed =
            if kept && is_read { Some(sources::pack(db, facts, resume, source)?) } else { None };
        let new = New {
            source,
            machine: &machine,
            state,
            fingerprint,
            offset: offset.filter(|_| packed.is_some()),
            digest: digest.as_ref(),
            nameless: facts.is_nameless(),
            about: &facts.summary(),
            problems: facts.problem_count(),
            kept,
            scan: packed.as_deref(),
        };
        let number = sources::put(db, &new, number)?;
        if kept && source.kind.is_text() {
            self.new_text.push((number, new_from));
        }
        if facts.contents == Contents::Prompts {
            self.logs_changed = true;
            put_typed(db, number, if excluded { &[] } else { &facts.prompts }, &self.forgotten)?;
        }
        if facts.contents == Contents::Titles || facts.is_conversation() {
            put_titles(db, number, if excluded { &[] } else { &facts.titles }, &self.forgotten)?;
        }
        if facts.contents == Contents::List {
            let listed = if excluded { &[][..] } else { &facts.listed };
            touched.extend(listed::put(db, number, listed, &self.forgotten)?);
        }
        if let Some(extract) = extract.filter(|_| kept) {
            listed::capture(db, number, &extract)?;
        }
        limits::put(db, number, if kept { &facts.limits } else { &[] })?;
        db.prepare_cached("DELETE FROM members WHERE source = ?1")?.execute([number])?;
        if !kept || !facts.is_conversation() {
            return Ok(number);
        }
        for member in &members {
            db.prepare_cached("INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3)")?
                .execute(params![member.group, number, member.project])?;
            self.logs_changed |= touched.insert(member.group.clone());
        }
        hold(db, number, &scanned, &known_keys)?;
        scanned.source.archived = Some(Archived { number, machine, state });
        fresh.insert(number, scanned);
        Ok(number)
    }

    /// Returns whether the source's project is excluded.
    fn is_excluded(&mut self, scanned: &ScannedSource, members: &[Membership]) -> bool {
        let source = &scanned.source;
        let mut named: Vec<Option<&str>> = members.iter().map(|m| m.project.as_deref()).collect();
        if named.is_empty() {
            named.push(None);
        }
        named.into_iter().any(|named| {
            let project = self.projects.resolve(source.folder(), named);
            self.options.exclude.takes(&project)
        })
    }

    /// Returns whether a source contains any part of a forgotten session. Subagents that are not
    /// marked as such are only recognized when sessions are assembled.
    fn holds_forgotten(&self, scanned: &ScannedSource, members: &[Membership]) -> bool {
        let forgotten = &self.forgotten;
        let ScannedSource { source, facts } = scanned;
        match &facts.contents {
            Contents::Prompts => facts.prompts.iter().any(|line| forgotten.contains(&line.session)),
            Contents::Titles
                if facts.titles.iter().any(|line| forgotten.contains(line.session.as_str())) =>
            {
                true
            }
            Contents::List => facts.listed.iter().any(|line| forgotten.contains(&line.session)),
            Contents::Attachment | Contents::Titles => {
                let agent = self.agents.get(&source.agent);
                let owner = agent.and_then(|agent| agent.owner(source));
                owner.is_some_and(|owner| forgotten.contains(owner))
            }
            _ => members.iter().zip(&facts.parts).any(|(member, part)| {
                let as_child = |parent: &SessionId| format!("{parent}/{}", member.group);
                let is_child = part.parent.as_ref().map(as_child);
                forgotten.contains(member.group.as_str())
                    || is_child.is_some_and(|id| forgotten.contains(id.as_str()))
            }),
        }
    }

    /// Re-evaluates the logs without a header in a folder. Such a log belongs to the one session of
    /// its folder whose id begins like its file name; a new session may be that one, or make the
    /// match ambiguous.
    fn rename(
        &mut self,
        db: &Transaction<'_>,
        folder: &Path,
        touched: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let mut find =
            db.prepare_cached("SELECT number FROM sources WHERE folder = ?1 AND nameless")?;
        let numbers = find.query_map([to_text(folder)], |row| row.get::<_, i64>(0))?;
        for number in numbers.collect::<Result<Vec<i64>, _>>()? {
            self.reconsider(db, number, touched)?;
        }
        Ok(())
    }

    /// Re-evaluates which sessions a stored source belongs to.
    pub(super) fn reconsider(
        &mut self,
        db: &Connection,
        number: i64,
        touched: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let Some(scanned) = sources::scanned(db, self.agents, number)? else { return Ok(()) };
        let names = &self.names;
        let named = |folder: &Path, short: &str| names.find(db, folder, short);
        let members = memberships(&scanned, &mut self.projects, &named);
        let before: BTreeSet<String> = affected::groups(db, number)?.into_iter().collect();
        let after: BTreeSet<String> = members.iter().map(|m| m.group.clone()).collect();
        if before != after {
            db.execute("DELETE FROM members WHERE source = ?1", [number])?;
            for member in &members {
                db.prepare_cached("INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3)")?
                    .execute(params![member.group, number, member.project])?;
            }
            touched.extend(before);
            touched.extend(after);
        }
        Ok(())
    }

    /// Rebuilds sessions after something was removed.
    pub(super) fn rebuild_after_removal(
        &mut self,
        db: &Transaction<'_>,
        touched: BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        self.logs_changed = true;
        self.rebuild_groups(db, touched, HashMap::new())
    }

    /// Rebuilds the sessions that were touched.
    pub(super) fn rebuild_groups(
        &mut self,
        db: &Transaction<'_>,
        touched: BTreeSet<String>,
        mut fresh: HashMap<i64, ScannedSource>,
    ) -> Result<(), ArchiveError> {
        let forgotten = forgotten(db)?;
        let mut touched = touched;
        loop {
            let affected = Affected::from(db, self.agents, touched, &mut fresh)?;
            let groups = affected.groups.clone();
            let assembled = affected.assemble(db, self.agents, &mut self.projects)?;
            let unwanted = assembled.iter().filter(|a| forgotten.contains(&a.session.id));
            let unwanted: BTreeSet<i64> = unwanted
                .flat_map(SessionFacts::own_files)
                .filter_map(|source| Some(source.archived.as_ref()?.number))
                .collect();
            if unwanted.is_empty() {
                for group in &groups {
                    session_rows::remove(db, group)?;
                }
                for assembled in assembled {
                    session_rows::insert(db, assembled)?;
                }
                return Ok(());
            }
            // Removing them may change how the remaining sources are grouped, so these are rebuilt
            // again.
            for number in unwanted {
                forget_source(db, number)?;
            }
            touched = groups;
        }
    }
}

/// Records which calls a source contains, except those it is already known to contain, and marks it
/// and every other source that contains one of them. If several sources share a call already, they
/// are all marked, so checking one of them is enough.
fn hold(
    db: &Connection,
    number: i64,
    scanned: &ScannedSource,
    known: &FxHashSet<i64>,
) -> rusqlite::Result<()> {
    let mut keys = keys(scanned);
    keys.retain(|key| !known.contains(key));
    keys.sort_unstable();
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO call_sources VALUES (?1, ?2)")?;
    let mut others = db.prepare_cached(
        "SELECT source FROM call_sources WHERE key = ?1 AND source != ?2 LIMIT 1",
    )?;
    let mut mark = db.prepare_cached("UPDATE sources SET shares = 1 WHERE number = ?1")?;
    for key in keys {
        insert.execute([key, number])?;
        let other = others.query_row([key, number], |row| row.get::<_, i64>(0)).optional()?;
        if let Some(other) = other {
            mark.execute([other])?;
            mark.execute([number])?;
        }
    }
    Ok(())
}

fn put_typed(
    db: &Connection,
    source: i64,
    typed: &[PromptLine],
    forgotten: &HashSet<SessionId>,
) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM prompt_lines WHERE source = ?1")?.execute([source])?;
    let mut insert =
        db.prepare_cached("INSERT INTO prompt_lines VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for typed in typed.iter().filter(|typed| !forgotten.contains(&typed.session)) {
        let at = typed.at.map(jiff::Timestamp::as_millisecond);
        insert.execute(params![
            source,
            typed.session,
            typed.number.cast_signed(),
            at,
            typed.text,
            typed.project
        ])?;
    }
    Ok(())
}

fn put_titles(
    db: &Connection,
    source: i64,
    titles: &[TitleLine],
    forgotten: &HashSet<SessionId>,
) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM titles WHERE source = ?1")?.execute([source])?;
    let mut insert = db.prepare_cached("INSERT INTO titles VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for line in titles.iter().filter(|line| !forgotten.contains(line.session.as_str())) {
        let at = line.at.map(jiff::Timestamp::as_millisecond);
        insert.execute(params![source, line.session, at, line.title, line.spawned_by])?;
    }
    Ok(())
}
