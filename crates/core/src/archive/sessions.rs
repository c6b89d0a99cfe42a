//! Reads sessions and files from the archive.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Params};
use rustc_hash::FxHashMap;

use super::affected::Affected;
use super::capture::{UNCAPTURED, UNUSUAL};
use super::fingerprint;
use super::sources;
use super::{Archive, ArchiveError, codec};
use crate::assemble::{ScannedSource, SessionFacts, from_prompts};
use crate::discover::{Source, SourceKind};
use crate::facts::{Contents, SourceSummary};
use crate::model::{AgentId, Session, SessionId, SessionKind, State, ToolCallId};
use crate::projects::{ProjectHints, Projects};

/// A source and its stored summary.
#[derive(Debug, Clone)]
pub struct FileRow {
    /// The file.
    pub source: Source,
    /// The summary of its content.
    pub about: SourceSummary,
    /// The number of its bytes that are captured.
    pub captured: u64,
}

/// Sizes of files by path, of all versions together.
pub type Sizes = HashMap<PathBuf, u64>;

/// Session files, by the agent and its folder for their project.
pub type FolderSessions = BTreeMap<(AgentId, PathBuf), Vec<ExistingFile>>;

/// A session file that exists.
#[derive(Debug, Clone)]
pub struct ExistingFile {
    /// Its path.
    pub path: PathBuf,
    /// The type of its content.
    pub contents: Contents,
    /// The time of its last change.
    pub modified: Option<SystemTime>,
}

/// Counts of data that could not be read or cannot be right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCount {
    /// The files with faults.
    pub files: u64,
    /// The records that could not be read.
    pub records: u64,
    /// Token counts that cannot be right.
    pub numbers: u64,
}

impl FaultCount {
    /// Adds the faults of a source.
    pub(super) fn add(&mut self, scanned: &ScannedSource) {
        let records = scanned.facts.faults.count() as u64;
        let numbers = scanned.facts.problem_count() as u64;
        self.files += u64::from(records + numbers > 0);
        self.records += records;
        self.numbers += numbers;
    }
}

impl Archive {
    /// Returns all sessions, sorted by id.
    pub fn sessions(&self) -> Result<Vec<Session>, ArchiveError> {
        let sessions = self.read_sessions(
            "SELECT id, group_key, machine, sessions.body, prompts.body FROM sessions
             LEFT JOIN prompts ON session = number ORDER BY number",
            [],
        )?;
        self.compare(sessions)
    }

    /// Returns all sessions, sorted by id, as lists need them: of their prompts, they have only the beginning
    /// of the first one, as one line.
    pub fn session_list(&self) -> Result<Vec<Session>, ArchiveError> {
        // Ordered by id, SQLite would look up each row separately.
        let sql = "SELECT id, group_key, machine, body FROM sessions ORDER BY number";
        self.compare(self.read_sessions(sql, [])?)
    }

    /// Returns the newest sessions of the default list, as [`Self::session_list`] does, but without what depends
    /// on other sessions: the number of subagents, and tokens that no file records.
    pub fn newest_sessions(&self, count: usize) -> Result<Vec<Session>, ArchiveError> {
        self.read_sessions(
            "SELECT id, group_key, machine, body FROM sessions WHERE listed ORDER BY updated DESC, id LIMIT ?1",
            [i64::try_from(count).unwrap_or(i64::MAX)],
        )
    }

    /// Sorts all sessions by id, and adds what depends on others.
    fn compare(&self, mut sessions: Vec<Session>) -> Result<Vec<Session>, ArchiveError> {
        let mut unrecorded = self.unrecorded()?;
        for session in &mut sessions {
            session.unrecorded = unrecorded.remove(&session.id).map(|surplus| surplus.usage);
        }
        sessions.sort_by_cached_key(|session| session.id.clone());
        find_parents(&mut sessions);
        count_subagents(&mut sessions);
        Ok(sessions)
    }

    /// Adds the first and the last prompt to each session of a list.
    pub fn add_all_prompts(&self, sessions: &mut [Session]) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare(
            "SELECT id, prompts.body FROM sessions JOIN prompts ON session = number ORDER BY number",
        )?;
        let places = sessions.iter().enumerate().map(|(at, session)| (session.id.clone(), at));
        let places: FxHashMap<SessionId, usize> = places.collect();
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let id = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            if let Some(at) = places.get(id) {
                let session = &mut sessions[*at];
                (session.first_prompt, session.last_prompt) = prompts(row.get_ref(1)?, id)?;
            }
        }
        Ok(())
    }

    /// Adds the first and the last prompt to a session of a list.
    pub fn add_prompts(&self, session: &mut Session) -> Result<(), ArchiveError> {
        let mut find = self.db.prepare_cached(
            "SELECT prompts.body FROM prompts JOIN sessions ON session = number WHERE id = ?1",
        )?;
        let mut rows = find.query([&session.id])?;
        if let Some(row) = rows.next()? {
            (session.first_prompt, session.last_prompt) = prompts(row.get_ref(0)?, &session.id)?;
        }
        Ok(())
    }

    /// Reads sessions with a query that returns the id, the group, the machine and the body of each, and its
    /// prompts if they are needed.
    fn read_sessions(&self, sql: &str, values: impl Params) -> Result<Vec<Session>, ArchiveError> {
        let states = self.unusual_groups()?;
        let labels = self.machine_labels()?;
        let mut names = self.names()?;
        let mut tags = self.tags()?;
        let mut titles = self.titles()?;
        let mut listed_names = self.listed_names()?;
        let mut statement = self.db.prepare(sql)?;
        let has_prompts = statement.column_count() > 4;
        let mut rows = statement.query(values)?;
        let mut out: Vec<Session> = Vec::new();
        while let Some(row) = rows.next()? {
            let id: SessionId = row.get(0)?;
            let body = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
            let mut session: Session = codec::decode(body, &id)?;
            let machine = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
            let label = labels.get(machine).map_or(machine, String::as_str);
            label.clone_into(&mut session.machine);
            session.subagents = 0;
            if has_prompts {
                (session.first_prompt, session.last_prompt) =
                    prompts(row.get_ref(4)?, &session.id)?;
            }
            let group = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            if !group.starts_with(LOG_GROUP) {
                let state = states.get(group).unwrap_or(&USUAL);
                session.captured = state.captured;
                if !state.live {
                    session.state = State::Gone;
                }
            }
            if let Some(before) = out.last().filter(|before| before.project == session.project) {
                session.project = before.project.clone();
            }
            if let Some((title, spawned_by)) = titles.remove(id.as_str()) {
                session.summary = Some(title).filter(|title| !title.is_empty()).or(session.summary);
                session.spawned_by = spawned_by.or(session.spawned_by);
            }
            let listed = listed_names.remove(&id);
            if session.summary.is_none() {
                let named = session.ends.iter().rev().find_map(|end| titles.get(&**end));
                session.summary = named.map(|(title, _)| title.clone()).or(listed);
            }
            session.name = names.remove(&id);
            session.tags = tags.remove(&id).unwrap_or_default();
            out.push(session);
        }
        Ok(out)
    }

    /// Returns the faults of all files that exist or existed.
    pub fn faults(&self) -> Result<FaultCount, ArchiveError> {
        let sql = "SELECT count(*), sum(faults), sum(problems) FROM sources
             WHERE state != 'replaced' AND faults + problems > 0";
        Ok(self.db.query_row(sql, [], |row| {
            let number = |n: usize| {
                Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(n)?.unwrap_or(0).cast_unsigned())
            };
            Ok(FaultCount { files: number(0)?, records: number(1)?, numbers: number(2)? })
        })?)
    }

    /// Returns all sources with their summaries, including older versions.
    pub fn files(&self) -> Result<Vec<FileRow>, ArchiveError> {
        self.files_where("TRUE")
    }

    /// Returns the sources of a kind with their summaries, including older versions.
    pub(crate) fn files_of(&self, kind: SourceKind) -> Result<Vec<FileRow>, ArchiveError> {
        self.files_where(&format!("kind = '{}'", kind.key()))
    }

    fn files_where(&self, condition: &str) -> Result<Vec<FileRow>, ArchiveError> {
        let sql = format!(
            "SELECT {}, about, captured - lost FROM sources WHERE {condition} ORDER BY path, modified",
            sources::COLUMNS
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let source = sources::source(row)?;
            let about = row.get_ref(9)?.as_blob().map_err(rusqlite::Error::from)?;
            let about = postcard::from_bytes(about)
                .map_err(|_| ArchiveError::Stored(source.path.display().to_string()))?;
            out.push(FileRow { source, about, captured: row.get::<_, i64>(10)?.cast_unsigned() });
        }
        Ok(out)
    }

    /// Returns the sizes of all files.
    pub fn file_sizes(&self) -> Result<Sizes, ArchiveError> {
        let mut statement = self.db.prepare("SELECT path, size FROM sources")?;
        let mut rows = statement.query([])?;
        let mut out = Sizes::new();
        while let Some(row) = rows.next()? {
            let path = PathBuf::from(row.get::<_, String>(0)?);
            *out.entry(path).or_default() += row.get::<_, i64>(1)?.cast_unsigned();
        }
        Ok(out)
    }

    /// Returns the existing session files of every folder in which a file is not captured
    /// completely.
    pub fn uncaptured_sessions(&self) -> Result<FolderSessions, ArchiveError> {
        let mut statement = self.db.prepare(&format!(
            "SELECT folder, path, about, agent, modified FROM sources WHERE state = 'live' AND kind = ?1
             AND folder IN (SELECT folder FROM sources WHERE {UNCAPTURED})"
        ))?;
        let mut rows = statement.query([SourceKind::Conversation.key()])?;
        let mut out = FolderSessions::new();
        while let Some(row) = rows.next()? {
            let (folder, path): (String, String) = (row.get(0)?, row.get(1)?);
            let about = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            let about: SourceSummary =
                postcard::from_bytes(about).map_err(|_| ArchiveError::Stored(path.clone()))?;
            let agent = AgentId::new(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?);
            let modified: Option<i64> = row.get(4)?;
            out.entry((agent, folder.into())).or_default().push(ExistingFile {
                path: path.into(),
                contents: about.contents,
                modified: modified.map(fingerprint::time),
            });
        }
        Ok(out)
    }

    /// Assembles sessions with all their messages, one at a time and in the order of `ids`. The
    /// user's annotations and the state of the files are only in [`Self::sessions`].
    pub fn each_assembled(
        &self,
        ids: &[SessionId],
        mut each: impl FnMut(SessionFacts) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut projects = self.projects(&ProjectHints::default())?;
        let mut wanted: HashSet<&str> = ids.iter().map(SessionId::as_str).collect();
        // Sessions that were assembled together with an earlier one, until it is their turn.
        let mut ready: HashMap<SessionId, SessionFacts> = HashMap::new();
        for id in ids {
            if !wanted.remove(id.as_str()) {
                continue;
            }
            if let Some(assembled) = ready.remove(id) {
                each(assembled)?;
                continue;
            }
            for assembled in self.assembled_with(id, &mut projects)? {
                if assembled.session.id == *id {
                    each(assembled)?;
                } else if wanted.contains(assembled.session.id.as_str()) {
                    ready.insert(assembled.session.id.clone(), assembled);
                }
            }
        }
        Ok(())
    }

    /// Assembles a session together with all others that must agree with it on who made their
    /// calls.
    pub(super) fn assembled_with(
        &self,
        id: &str,
        projects: &mut Projects,
    ) -> Result<Vec<SessionFacts>, ArchiveError> {
        let group: Option<String> = self
            .db
            .prepare_cached("SELECT group_key FROM sessions WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        Ok(match group {
            None => Vec::new(),
            Some(group) if group.starts_with(LOG_GROUP) => {
                let (typed, files) = sources::typed(&self.db, id)?;
                from_prompts(id, typed, files, &self.agents, projects).into_iter().collect()
            }
            Some(group) => {
                let affected = Affected::from(&self.db, self.agents, [group], &mut HashMap::new())?;
                affected.assemble(&self.db, self.agents, projects)?
            }
        })
    }

    /// Returns one session with all its messages.
    pub fn assembled(&self, id: &str) -> Result<Option<SessionFacts>, ArchiveError> {
        let mut found = None;
        self.each_assembled(&[id.into()], |assembled| {
            found = Some(assembled);
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the names that agents give to sessions, and the tool calls that started them.
    fn titles(&self) -> Result<HashMap<String, (String, Option<ToolCallId>)>, ArchiveError> {
        let mut find =
            self.db.prepare("SELECT session, title, spawned_by FROM titles ORDER BY at, rowid")?;
        let rows = find.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the state of each group with a source that no longer exists or is not captured
    /// completely.
    fn unusual_groups(&self) -> Result<HashMap<String, GroupState>, ArchiveError> {
        let mut statement = self.db.prepare(&format!(
            "SELECT group_key, max(state = 'live'), min(captured - lost >= size) FROM members
             JOIN sources ON number = source
             WHERE group_key IN (SELECT group_key FROM sources CROSS JOIN members ON source = number WHERE {UNUSUAL})
             GROUP BY group_key",
        ))?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, GroupState { live: row.get(1)?, captured: row.get(2)? }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Decodes the first and the last prompt of a session, if they are stored.
fn prompts(body: ValueRef<'_>, id: &str) -> Result<(Option<String>, Option<String>), ArchiveError> {
    let body = body.as_blob_or_null().map_err(rusqlite::Error::from)?;
    let Some(body) = body else { return Ok((None, None)) };
    codec::decode(&codec::expand(body, codec::MOST_BYTES, id)?, id)
}

/// The prefix of groups without sources of their own, only lines of prompt logs.
const LOG_GROUP: &str = "log:";

/// The state of all sources of a group together.
struct GroupState {
    /// Whether any of them exists.
    live: bool,
    /// Whether all of them are captured.
    captured: bool,
}

const USUAL: GroupState = GroupState { live: true, captured: true };

/// Finds the parents of agents that other agents started: their own files name the main session of both.
fn find_parents(sessions: &mut [Session]) {
    let mut starters: HashMap<(SessionId, Box<str>), usize> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        for key in &session.agents {
            let main = session.parent.clone().unwrap_or_default();
            starters.entry((main, key.clone())).or_insert(at);
        }
    }
    if starters.is_empty() {
        return;
    }
    let starter = |child: &Session| {
        let main = child.parent.as_ref().filter(|_| child.kind == SessionKind::Subagent)?;
        let keys = child.spawned_by.as_deref().into_iter().chain([&*child.id]);
        let mut found = keys.filter_map(|key| starters.get(&(main.clone(), key.into())));
        let starter = &sessions[*found.next()?];
        // Nothing is started by what began later, so there are no cycles.
        let is_before = (starter.started, &starter.id) < (child.started, &child.id);
        is_before.then(|| starter.id.clone())
    };
    let parents: Vec<Option<SessionId>> = sessions.iter().map(starter).collect();
    for (session, parent) in sessions.iter_mut().zip(parents) {
        session.parent = parent.or(session.parent.take());
    }
}

/// Counts the subagents of each session; the sessions are sorted by id.
fn count_subagents(sessions: &mut [Session]) {
    let mut children: HashMap<SessionId, usize> = HashMap::new();
    for parent in sessions.iter().filter_map(|session| session.parent.as_ref()) {
        *children.entry(parent.clone()).or_default() += 1;
    }
    for (parent, count) in children {
        let from = sessions.partition_point(|session| session.id < parent);
        sessions[from..]
            .iter_mut()
            .take_while(|s| s.id == parent)
            .for_each(|s| s.subagents = count);
    }
}
