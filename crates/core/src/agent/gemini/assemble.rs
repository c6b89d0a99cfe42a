//! From piles of files to the sessions a person remembers.
//!
//! The result must not depend on the order of the files: everything is sorted before it is joined.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::clues;
use super::history::{Said, TASK};
use super::identity::{self, Identity};
use super::load::{Form, Loaded};
use super::log::Span;
use super::projects::{Candidates, Projects, is_hash};
use super::prompts::{self, Typed};
use super::retention::short_id;
use super::scan::{Holds, Scanned};
use super::segment::{Segment, is_uuid};
use crate::agent::AgentKind;
use crate::fault::What;
use crate::model::{Fate, MessageKind, Part, PartWhy, Session, SessionKind, State};
use crate::project::{Project, Proof};

/// A session and the messages of its full view, still without their text.
#[derive(Debug)]
pub struct Assembled {
    pub session: Session,
    pub messages: Vec<Placed>,
    /// The file Gemini CLI would load.
    pub true_file: Option<PathBuf>,
    /// The files that hold any of it, which [`Place::file`] counts.
    pub files: Vec<PathBuf>,
    /// Which of the files are whole documents: those can have lost calls.
    pub documents: Vec<bool>,
}

/// A message and where its records stand.
#[derive(Debug, Clone)]
pub struct Placed {
    pub said: Said,
    pub places: Vec<Place>,
    /// Its place in the list that Gemini CLI would load, if it is there.
    pub current: Option<usize>,
    /// Whether its tokens and tool calls count here; not so when they were imported.
    pub owned: bool,
}

#[derive(Debug, Clone)]
pub struct Place {
    pub file: usize,
    pub span: Span,
}

/// What one file holds of one session.
struct Piece<'a> {
    scanned: &'a Scanned,
    loaded: &'a Loaded,
    segment: Segment,
    identity: Identity,
    project: Arc<Project>,
    /// Only one session is in the file.
    alone: bool,
}

impl Piece<'_> {
    fn path(&self) -> &Path {
        &self.scanned.source.path
    }

    fn first_at(&self) -> Option<Timestamp> {
        self.segment.said.iter().filter_map(|said| said.at).min()
    }

    fn last_at(&self) -> Option<Timestamp> {
        self.segment.said.iter().filter_map(|said| said.at).max()
    }

    fn started(&self) -> Option<Timestamp> {
        self.segment.started.or_else(|| self.first_at()).or_else(|| self.modified())
    }

    fn updated(&self) -> Option<Timestamp> {
        self.segment.updated.max(self.last_at()).or_else(|| self.modified())
    }

    fn modified(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.scanned.source.modified?).ok()
    }

    fn is_stub(&self) -> bool {
        self.segment.said.iter().all(|said| said.kind == MessageKind::Injected)
    }

    fn is_import(&self) -> bool {
        self.segment.said.iter().any(|said| said.id.starts_with("import-"))
    }

    fn part(&self, why: PartWhy) -> Part {
        let (started, updated) = (self.started(), self.updated());
        Part { file: self.path().to_owned(), started, updated, why }
    }

    fn in_slug_folder(&self) -> bool {
        let name = self.scanned.source.folder.as_deref().and_then(Path::file_name);
        name.is_some_and(|name| !is_hash(&name.to_string_lossy()))
    }

    fn ids(&self) -> HashSet<&str> {
        // The injected context has one fixed id everywhere: it proves nothing.
        let telling = self.segment.said.iter().filter(|said| said.kind != MessageKind::Injected);
        telling.map(|said| said.id.as_str()).collect()
    }

    /// By which the files of a session are put in order.
    fn order(&self) -> (Option<Timestamp>, bool, &Path) {
        (self.first_at().or_else(|| self.started()), !self.in_slug_folder(), self.path())
    }
}

/// Joins what was read; the segments of the files move into the sessions.
pub fn assemble(scanned: &mut [Scanned], candidates: &Candidates) -> Vec<Assembled> {
    let mut projects = Projects::new(candidates);
    learn_projects(scanned, &mut projects);
    follow_clues(scanned, &mut projects);
    let segments: Vec<Vec<Segment>> = scanned.iter_mut().map(Scanned::take_segments).collect();
    let mut groups: BTreeMap<String, Vec<Piece<'_>>> = BTreeMap::new();
    for piece in pieces(scanned, segments, &mut projects) {
        groups.entry(piece.identity.id.clone()).or_default().push(piece);
    }
    split_unmarked_subagents(&mut groups);
    let mut sessions: Vec<Assembled> =
        groups.into_iter().map(|(id, pieces)| join(id, pieces)).collect();
    settle_owners(&mut sessions);
    sessions.extend(log_only(scanned, &sessions, &mut projects));
    link_subagents(&mut sessions);
    for assembled in &mut sessions {
        assembled.count();
    }
    sessions.sort_by(|a, b| a.session.id.cmp(&b.session.id));
    sessions
}

/// A path proved for one session of a folder is proved for all of them.
fn learn_projects(scanned: &[Scanned], projects: &mut Projects) {
    for scanned in scanned {
        if let Some(folder) = &scanned.source.folder {
            projects.learn_folder(folder);
        }
        if let Holds::Sessions(loaded) = &scanned.holds {
            for path in loaded.segments.iter().flat_map(|segment| &segment.directories) {
                projects.propose(path, Proof::Directories);
            }
        }
    }
}

/// Looks into the sessions of projects whose path nothing has told so far.
fn follow_clues(scanned: &[Scanned], projects: &mut Projects) {
    // A few files that tell anything tell as much as all of them.
    const FILES: usize = 5;
    let mut asked: HashMap<String, usize> = HashMap::new();
    for scanned in in_order(scanned) {
        let Holds::Sessions(loaded) = &scanned.holds else { continue };
        for segment in &loaded.segments {
            let folder = scanned.source.folder.as_deref();
            let Some(hash) = projects.unresolved(folder, segment.project_hash.as_deref()) else {
                continue;
            };
            let asked = asked.entry(hash.clone()).or_default();
            if *asked < FILES {
                let clues = clues::of(&scanned.source.path, &segment.said);
                *asked += usize::from(!clues.is_empty());
                projects.follow(&hash, &clues);
            }
        }
    }
}

/// By path, so that the order of reading tells nothing.
fn in_order(scanned: &[Scanned]) -> Vec<&Scanned> {
    let mut out: Vec<&Scanned> = scanned.iter().collect();
    out.sort_by(|a, b| a.source.path.cmp(&b.source.path));
    out
}

fn pieces<'a>(
    scanned: &'a [Scanned],
    segments: Vec<Vec<Segment>>,
    projects: &mut Projects,
) -> Vec<Piece<'a>> {
    let named = named_ids(scanned, &segments);
    let mut out = Vec::new();
    for (scanned, segments) in scanned.iter().zip(segments) {
        let (loaded, is_history) = match &scanned.holds {
            Holds::Sessions(loaded) => (loaded, false),
            Holds::History(loaded) => (loaded, true),
            _ => continue,
        };
        let count = segments.len();
        for (n, segment) in segments.into_iter().enumerate() {
            let folder = scanned.source.folder.as_deref();
            let given = segment.given.as_deref();
            let project = match given {
                Some(given) => given.project.clone(),
                None => projects.resolve(folder, segment.project_hash.as_deref()),
            };
            let several = (count > 1).then_some(n + 1);
            // A log that lost its header still has the beginning of the id in its name.
            let name = scanned.source.path.file_name().unwrap_or_default().to_string_lossy();
            let session = segment.session_id.as_deref().or_else(|| {
                let key = (folder?, short_id(&name)?.to_owned());
                named.get(&key).filter(|ids| ids.len() == 1)?.iter().next().map(String::as_str)
            });
            let identity = match given {
                Some(given) => given.identity.clone(),
                None => {
                    identity::of(&scanned.source, &segment, session, &project, is_history, several)
                }
            };
            let alone = several.is_none();
            out.push(Piece { scanned, loaded, segment, identity, project, alone });
        }
    }
    out.sort_by(|a, b| a.path().cmp(b.path()));
    out
}

/// The ids that headers name, by folder and their first 8 characters.
fn named_ids<'a>(
    scanned: &'a [Scanned],
    segments: &[Vec<Segment>],
) -> HashMap<(&'a Path, String), HashSet<String>> {
    let mut out: HashMap<(&Path, String), HashSet<String>> = HashMap::new();
    for (scanned, segments) in scanned.iter().zip(segments) {
        let Some(folder) = &scanned.source.folder else { continue };
        for id in segments.iter().filter_map(|segment| segment.session_id.as_deref()) {
            if is_uuid(id) {
                out.entry((folder, id[..8].to_owned())).or_default().insert(id.to_owned());
            }
        }
    }
    out
}

/// A file with its parent's id, no message in common, its time inside the parent's, and a first
/// text that is a task: a subagent of versions that did not mark them.
fn split_unmarked_subagents(groups: &mut BTreeMap<String, Vec<Piece<'_>>>) {
    let mut found = Vec::new();
    for (id, pieces) in groups.iter_mut().filter(|(_, pieces)| pieces.len() > 1) {
        let is_child = |piece: &Piece<'_>, others: &[Piece<'_>]| {
            piece.identity.kind == SessionKind::Main
                && begins_with_task(&piece.segment)
                && others.iter().any(|other| {
                    other.path() != piece.path()
                        && !begins_with_task(&other.segment)
                        && other.first_at() <= piece.first_at()
                        && piece.last_at() <= other.last_at()
                        && piece.ids().is_disjoint(&other.ids())
                })
        };
        let children: Vec<bool> = pieces.iter().map(|piece| is_child(piece, pieces)).collect();
        let mut children = children.into_iter();
        let (apart, rest) =
            pieces.drain(..).partition::<Vec<_>, _>(|_| children.next() == Some(true));
        *pieces = rest;
        for mut piece in apart {
            piece.identity = Identity::child_of(id, &piece.scanned.source.stem());
            found.push(piece);
        }
    }
    for piece in found {
        groups.entry(piece.identity.id.clone()).or_default().push(piece);
    }
}

fn begins_with_task(segment: &Segment) -> bool {
    let mut texts = segment.said.iter().filter(|said| said.kind.role() == crate::model::Role::User);
    texts.next().is_some_and(|said| said.lead.starts_with(TASK))
}

/// Joins the files of one session.
fn join(id: String, mut pieces: Vec<Piece<'_>>) -> Assembled {
    pieces.sort_by(|a, b| a.order().cmp(&b.order()));
    let true_piece = true_piece(&pieces);
    let parts = parts(&pieces);
    let files: Vec<PathBuf> = pieces.iter().map(|piece| piece.path().to_owned()).collect();
    let documents = pieces.iter().map(|piece| piece.loaded.form == Form::Document).collect();
    let ids = true_piece.map_or(&[][..], |at| &pieces[at].loaded.ids);
    let current: HashMap<&str, usize> =
        ids.iter().enumerate().map(|(n, id)| (id.as_str(), n)).collect();
    let most = pieces.iter().map(|piece| piece.segment.said.len()).max().unwrap_or(0);
    let mut messages: Vec<Placed> = Vec::with_capacity(most);
    let mut known: HashMap<String, (usize, Option<Timestamp>)> = HashMap::new();
    let session = session(id, &pieces, true_piece, parts.clone());
    let true_file = true_piece.map(|at| pieces[at].path().to_owned());
    let several = pieces.len() > 1;
    let all_stubs = parts.iter().all(|part| part.why == PartWhy::Stub);
    for (file, piece) in pieces.into_iter().enumerate() {
        if parts[file].why == PartWhy::Stub && !all_stubs && file != first_of(&parts) {
            continue;
        }
        // The earlier part of a split is what the compression summed up.
        let split = parts[file + 1..].iter().find(|part| part.why != PartWhy::Copy);
        let was_split = split.is_some_and(|part| part.why == PartWhy::Compress);
        let updated = piece.updated();
        for mut heard in piece.segment.said {
            let spans = std::mem::take(&mut heard.spans).into_iter();
            let places = spans.map(|span| Place { file, span });
            if let Some((at, newest)) = known.get_mut(heard.id.as_str()) {
                let placed = &mut messages[*at];
                placed.places.extend(places);
                placed.said.join(&heard, updated > *newest);
                *newest = (*newest).max(updated);
                continue;
            }
            if several {
                known.insert(heard.id.clone(), (messages.len(), updated));
            }
            let current = current.get(heard.id.as_str()).copied();
            let mut said = heard;
            if was_split && said.fate == Fate::Kept && current.is_none() {
                said.fate = Fate::Compressed;
            }
            // Nobody types into a subagent: its prompts are tasks. A saved chat keeps them.
            let typed = matches!(piece.identity.kind, SessionKind::Main | SessionKind::Checkpoint);
            if !typed && said.kind == MessageKind::Prompt {
                said.kind = MessageKind::Injected;
            }
            messages.push(Placed { said, places: places.collect(), current, owned: true });
        }
    }
    Assembled { session, messages, true_file, files, documents }
}

/// What the files say of the session as a whole; the rest is counted later.
fn session(
    id: String,
    pieces: &[Piece<'_>],
    true_piece: Option<usize>,
    parts: Vec<Part>,
) -> Session {
    let identity = &pieces[0].identity;
    let given = pieces[0].segment.given.as_deref();
    let in_slug = pieces.iter().find(|piece| piece.in_slug_folder()).unwrap_or(&pieces[0]);
    Session {
        kind: identity.kind,
        parent: identity.parent.clone(),
        started: pieces.iter().filter_map(Piece::started).min(),
        updated: pieces.iter().filter_map(Piece::updated).max(),
        summary: newest_summary(pieces),
        messages_current: current_count(true_piece.map(|at| &pieces[at])),
        parts,
        state: given.map_or(State::Live, |given| given.state),
        first_prompt: given.and_then(|given| given.task.clone()),
        faults: faults(pieces),
        ..Session::new(id, AgentKind::Gemini, in_slug.project.clone())
    }
}

/// What was wrong in the files; not that the newest of them is being written.
fn faults(pieces: &[Piece<'_>]) -> usize {
    let newest = pieces.iter().map(|piece| (piece.updated(), piece.path())).max();
    let is_fault = |piece: &Piece<'_>, what: &What| {
        !(what.is_pending() && newest == Some((piece.updated(), piece.path())))
    };
    let of = |piece: &Piece<'_>| {
        let details = &piece.scanned.faults.details;
        details.iter().filter(|fault| is_fault(piece, &fault.what)).count()
    };
    pieces.iter().map(of).sum()
}

fn first_of(parts: &[Part]) -> usize {
    parts.iter().position(|part| part.why == PartWhy::First).unwrap_or(0)
}

/// How many messages Gemini CLI would load; of a file with several sessions, those of this one.
fn current_count(piece: Option<&Piece<'_>>) -> usize {
    let Some(piece) = piece else { return 0 };
    if let Some(given) = &piece.segment.given {
        return given.messages_current;
    }
    if piece.alone {
        return piece.loaded.ids.len();
    }
    let live: HashSet<&str> = piece.loaded.ids.iter().map(String::as_str).collect();
    piece.segment.said.iter().filter(|said| live.contains(said.id.as_str())).count()
}

/// The file Gemini CLI would resume: one it accepts, with something to resume, updated last.
fn true_piece(pieces: &[Piece<'_>]) -> Option<usize> {
    let updated = |piece: &Piece<'_>| piece.segment.updated.or_else(|| piece.updated());
    let is_good = |piece: &Piece<'_>| {
        let kind_fits = piece.identity.kind == SessionKind::Subagent
            || piece.segment.kind.as_deref() != Some("subagent");
        piece.loaded.accepted && piece.loaded.resumable && kind_fits
    };
    let best = |good: bool, slug: bool| {
        let fitting = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| (!good || is_good(piece)) && (!slug || piece.in_slug_folder()));
        let newest = fitting.clone().map(|(_, piece)| updated(piece)).max()?;
        let mut newest: Vec<_> = fitting.filter(|(_, piece)| updated(piece) == newest).collect();
        newest.sort_by(|(_, a), (_, b)| a.path().file_name().cmp(&b.path().file_name()));
        newest.first().map(|(at, _)| *at)
    };
    best(true, true).or_else(|| best(true, false)).or_else(|| best(false, false))
}

fn newest_summary(pieces: &[Piece<'_>]) -> Option<String> {
    let with = pieces.iter().filter(|piece| piece.segment.summary.is_some());
    with.max_by_key(|piece| (piece.updated(), std::cmp::Reverse(piece.path().to_owned())))?
        .segment
        .summary
        .clone()
}

/// Why each file belongs to the session, in the order of the files.
fn parts(pieces: &[Piece<'_>]) -> Vec<Part> {
    if let [piece] = pieces {
        return vec![piece.part(if piece.is_import() { PartWhy::Import } else { PartWhy::First })];
    }
    let has_more = pieces.iter().any(|piece| !piece.is_stub());
    let mut seen: HashSet<&str> = HashSet::new();
    let mut had_first = false;
    let mut last_form = Form::Log;
    let mut out = Vec::new();
    for piece in pieces {
        let ids = piece.ids();
        let why = if piece.is_stub() && (has_more || had_first) {
            PartWhy::Stub
        } else if !had_first {
            if piece.is_import() { PartWhy::Import } else { PartWhy::First }
        } else if ids.is_disjoint(&seen) {
            // While sessions were documents only a compression began a new one.
            let documents = piece.loaded.form == Form::Document && last_form == Form::Document;
            if documents { PartWhy::Compress } else { PartWhy::Continuation }
        } else if ids.is_subset(&seen) {
            PartWhy::Copy
        } else {
            PartWhy::Resume
        };
        if why != PartWhy::Stub {
            had_first = true;
            last_form = piece.loaded.form;
            seen.extend(ids);
        }
        out.push(piece.part(why));
    }
    out
}

/// A call that several sessions hold was made in the one that started first; the others imported it.
fn settle_owners(sessions: &mut [Assembled]) {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by(|a, b| {
        let key = |at: usize| {
            let session = &sessions[at].session;
            (session.kind == SessionKind::Checkpoint, session.started, session.id.clone())
        };
        key(*a).cmp(&key(*b))
    });
    let mut taken: HashSet<&str> = HashSet::new();
    let mut imported = Vec::new();
    for at in order {
        for (n, placed) in sessions[at].messages.iter().enumerate() {
            let said = &placed.said;
            let counts = said.tokens.is_some() || !said.tools.is_empty();
            if counts && is_uuid(&said.id) && !taken.insert(&said.id) {
                imported.push((at, n));
            }
        }
    }
    for (at, n) in imported {
        sessions[at].messages[n].owned = false;
    }
}

/// Sessions of which only what was typed is left.
fn log_only(
    scanned: &[Scanned],
    sessions: &[Assembled],
    projects: &mut Projects,
) -> Vec<Assembled> {
    let known: HashSet<&str> = sessions.iter().map(|known| known.session.id.as_str()).collect();
    let mut typed: Vec<Typed> = Vec::new();
    let mut folders: HashMap<String, Arc<Path>> = HashMap::new();
    let mut files: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for scanned in in_order(scanned) {
        let Holds::Prompts(entries) = &scanned.holds else { continue };
        for entry in entries.iter().filter(|entry| !known.contains(entry.session.as_str())) {
            if let Some(folder) = &scanned.source.folder {
                // Of a hash folder and its copy, the copy is the one in use.
                let slot = folders.entry(entry.session.clone()).or_insert_with(|| folder.clone());
                if slot.file_name().is_some_and(|name| is_hash(&name.to_string_lossy())) {
                    *slot = folder.clone();
                }
            }
            let files = files.entry(entry.session.clone()).or_default();
            if !files.contains(&scanned.source.path) {
                files.push(scanned.source.path.clone());
            }
            typed.push(entry.clone());
        }
    }
    let mut out = Vec::new();
    for (id, entries) in prompts::by_session(typed) {
        let folder = folders.get(&id).map(|folder| &**folder);
        let project = projects.resolve(folder, None);
        let files = files.remove(&id).unwrap_or_default();
        out.push(Assembled::of_log(id, &entries, project, files));
    }
    out
}

/// Counts each session's subagents.
fn link_subagents(sessions: &mut [Assembled]) {
    let mut children: HashMap<String, usize> = HashMap::new();
    for assembled in sessions.iter() {
        if let Some(parent) = &assembled.session.parent {
            *children.entry(parent.clone()).or_default() += 1;
        }
    }
    for assembled in sessions {
        assembled.session.subagents = children.get(&assembled.session.id).copied().unwrap_or(0);
    }
}

impl Assembled {
    fn of_log(id: String, typed: &[Typed], project: Arc<Project>, files: Vec<PathBuf>) -> Self {
        let at = |typed: Option<&Typed>| typed.and_then(|typed| typed.at);
        let (started, updated) = (at(typed.first()), at(typed.last()));
        let part =
            |file: &PathBuf| Part { file: file.clone(), started, updated, why: PartWhy::First };
        let session = Session {
            started,
            updated,
            parts: files.iter().map(part).collect(),
            state: State::LogOnly,
            ..Session::new(id, AgentKind::Gemini, project)
        };
        let messages = typed.iter().enumerate().map(|(n, typed)| {
            let mut said = Said::typed(n, typed.at, &typed.text);
            let spans = std::mem::take(&mut said.spans).into_iter();
            let places = spans.map(|span| Place { file: 0, span }).collect();
            Placed { said, places, current: None, owned: true }
        });
        let documents = vec![false; files.len()];
        Self { session, messages: messages.collect(), true_file: None, files, documents }
    }

    /// The messages of the full view: copies are not listed.
    pub fn listed(&self) -> impl Iterator<Item = &Placed> {
        self.messages.iter().filter(|placed| !placed.said.is_copy)
    }

    /// Whether one of its files has this name, with or without its ending.
    pub fn has_file(&self, name: &str) -> bool {
        self.files.iter().any(|file| {
            file.file_name().is_some_and(|known| known == name)
                || file.file_stem().is_some_and(|known| known == name)
        })
    }

    /// Fills in what is counted from the messages.
    fn count(&mut self) {
        let mut session = self.session.clone();
        let mut tools: HashSet<(&str, usize)> = HashSet::new();
        for placed in self.listed() {
            let said = &placed.said;
            session.messages_full += 1;
            session.turns += usize::from(said.kind.is_turn());
            if matches!(said.kind, MessageKind::Prompt | MessageKind::Slash) {
                session.prompts += 1;
                let typed = said.typed.clone().filter(|typed| !typed.is_empty());
                if said.kind == MessageKind::Prompt || session.first_prompt.is_none() {
                    session.last_prompt = typed.clone().or(session.last_prompt);
                }
                if said.kind == MessageKind::Prompt {
                    session.first_prompt = session.first_prompt.or(typed);
                }
            }
            if !placed.owned {
                continue;
            }
            for (n, tool) in said.tools.iter().enumerate() {
                match &tool.id {
                    Some(id) => tools.insert((id, usize::MAX)),
                    None => tools.insert((&said.id, n)),
                };
            }
            if let Some(tokens) = &said.tokens {
                session.calls += 1;
                session.usage += tokens.usage();
                if let Some(model) = said.model.as_deref() {
                    session.models.push(model.to_owned());
                }
            }
        }
        session.tool_calls = tools.len();
        session.models.sort();
        session.models.dedup();
        // A session of commands only is called by the first of them.
        if session.first_prompt.is_none() {
            let slash = self.listed().find_map(|placed| placed.said.typed.clone());
            session.first_prompt = slash.filter(|typed| !typed.is_empty());
        }
        self.session = session;
    }
}
