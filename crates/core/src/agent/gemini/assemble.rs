//! From piles of files to the sessions a person remembers.
//!
//! The result must not depend on the order of the files: everything is sorted before it is joined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use jiff::Timestamp;

use super::clues;
use super::identity::{self, Identity};
use super::load::Form;
use super::log::Span;
use super::nameless;
use super::owners;
use super::piece::{Piece, current_count, faults, newest_summary, parts, true_piece};
use super::projects::{Projects, is_hash};
use super::prompts::Typed;
use super::retention::short_id;
use super::said::Said;
use super::scan::{Holds, Scanned};
use super::segment::Segment;
use crate::agent::AgentKind;
use crate::discover::Source;
use crate::model::{Fate, MessageKind, Part, PartWhy, Session, SessionKind, State};
use crate::project::{Project, Proof};

/// A session and the messages of its full view, still without their text.
#[derive(Debug)]
pub struct Assembled {
    pub session: Session,
    /// What its sources have in common; unmarked subagents share their parent's.
    pub group: String,
    pub messages: Vec<Placed>,
    /// Which of the files Gemini CLI would load.
    pub true_file: Option<usize>,
    /// The files that hold any of it, which [`Place::file`] counts.
    pub files: Vec<Source>,
    /// Which of the files are whole documents: those can have lost calls.
    pub documents: Vec<bool>,
    /// Whether all files are histories: their messages have no times, and calls and their outcomes are in
    /// different messages.
    pub is_history: bool,
}

/// A message and where its records stand.
#[derive(Debug, Clone)]
pub struct Placed {
    pub said: Said,
    /// The newest last: what it says of the message is shown.
    pub places: Vec<Place>,
    /// Its place in the list that Gemini CLI would load, if it is there.
    pub current: Option<usize>,
    /// Whether its tokens and tool calls count here; not so when they were imported.
    pub owned: bool,
    /// Whether no log holds it, only whole documents: those can have lost calls.
    pub at_least: bool,
}

#[derive(Debug, Clone)]
pub struct Place {
    pub file: usize,
    pub span: Span,
}

/// The id that a log without a header belongs to, by its folder and the beginning of the id.
pub type Named<'a> = dyn Fn(&Path, &str) -> Option<String> + 'a;

/// What a source is a part of: the id its sessions go by before subagents are told apart, and the
/// hash of the project it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub group: String,
    pub hash: Option<String>,
}

/// The groups of sessions that a source belongs to. Sources of one group are put together.
pub fn memberships(
    scanned: &Scanned,
    projects: &mut Projects,
    named: &Named<'_>,
) -> Vec<Membership> {
    let segments = scanned.segments();
    let mut out = Vec::new();
    for (n, segment) in segments.iter().enumerate() {
        let project = project_of(scanned, segment, projects);
        let several = (segments.len() > 1).then_some(n + 1);
        let identity = identity_of(scanned, segment, &project, several, named);
        let hash = segment.project_hash.clone();
        out.push(Membership { group: identity.id, hash });
    }
    out
}

/// Returns whether only its name and its neighbours can tell which session a source belongs to.
pub fn is_nameless(scanned: &Scanned) -> bool {
    matches!(scanned.holds, Holds::Sessions(_))
        && scanned.segments().iter().any(|segment| segment.session_id.is_none())
}

/// Joins what was read; the segments of the files move into the sessions. All sources of a group
/// must be there, and all groups that share a call.
pub fn assemble(
    mut scanned: Vec<Scanned>,
    projects: &mut Projects,
    named: &Named<'_>,
) -> Vec<Assembled> {
    scanned.sort_by_cached_key(|scanned| scanned.source.order());
    let segments: Vec<Vec<Segment>> = scanned.iter_mut().map(Scanned::take_segments).collect();
    let mut groups: BTreeMap<String, Vec<Piece<'_>>> = BTreeMap::new();
    for piece in pieces(&scanned, segments, projects, named) {
        groups.entry(piece.identity.id.clone()).or_default().push(piece);
    }
    let mut sessions: Vec<Assembled> = Vec::new();
    for (group, pieces) in groups {
        for (id, pieces) in tell_subagents_apart(&group, pieces) {
            sessions.push(join(id, group.clone(), pieces));
        }
    }
    owners::settle(&mut sessions);
    for assembled in &mut sessions {
        assembled.count();
    }
    sessions.sort_by(|a, b| a.session.id.cmp(&b.session.id));
    sessions
}

/// Takes over what sources say of where their projects are.
pub fn learn_projects<'a>(
    scanned: impl Iterator<Item = &'a Scanned> + Clone,
    projects: &mut Projects,
) {
    for scanned in scanned.clone() {
        if let Holds::Sessions(loaded) = &scanned.holds {
            for path in loaded.segments.iter().flat_map(|segment| &segment.directories) {
                projects.propose(path, Proof::Directories);
            }
        }
    }
    // Looks into the sessions of projects whose path nothing has told so far.
    for scanned in scanned {
        let Holds::Sessions(loaded) = &scanned.holds else { continue };
        for segment in &loaded.segments {
            let hash = segment.project_hash.as_deref();
            let Some(hash) = projects.unresolved(scanned.source.folder(), hash) else { continue };
            if projects.wants_clues(&hash) {
                projects.follow(&hash, &clues::of(&scanned.source.path, &segment.said));
            }
        }
    }
}

fn pieces<'a>(
    scanned: &'a [Scanned],
    segments: Vec<Vec<Segment>>,
    projects: &mut Projects,
    named: &Named<'_>,
) -> Vec<Piece<'a>> {
    let mut out = Vec::new();
    for (scanned, segments) in scanned.iter().zip(segments) {
        let (Holds::Sessions(loaded) | Holds::History(loaded)) = &scanned.holds else { continue };
        let count = segments.len();
        for (n, segment) in segments.into_iter().enumerate() {
            let project = project_of(scanned, &segment, projects);
            let several = (count > 1).then_some(n + 1);
            let identity = identity_of(scanned, &segment, &project, several, named);
            let alone = several.is_none();
            let mut piece = Piece { scanned, loaded, segment, identity, project, alone };
            if piece.is_history() && piece.identity.kind == SessionKind::Main {
                piece.make_up_times();
            }
            out.push(piece);
        }
    }
    out
}

fn project_of(scanned: &Scanned, segment: &Segment, projects: &mut Projects) -> Arc<Project> {
    match &segment.given {
        Some(given) => given.project.clone(),
        None => projects.resolve(scanned.source.folder(), segment.project_hash.as_deref()),
    }
}

fn identity_of(
    scanned: &Scanned,
    segment: &Segment,
    project: &Project,
    several: Option<usize>,
    named: &Named<'_>,
) -> Identity {
    if let Some(given) = &segment.given {
        return given.identity.clone();
    }
    let source = &scanned.source;
    if matches!(scanned.holds, Holds::History(_)) {
        return identity::of_history(source, project);
    }
    // A log that lost its header still has the beginning of the id in its name.
    let by_name = || {
        let name = source.path.file_name().unwrap_or_default().to_string_lossy();
        named(source.folder()?, short_id(&name)?)
    };
    let session = segment.session_id.clone().or_else(by_name);
    identity::of(source, segment, session.as_deref(), project, several)
}

/// A file with its parent's id, no message in common, its time inside the parent's, and a first
/// text that is a task: a subagent of versions that did not mark them.
fn tell_subagents_apart<'a>(
    id: &str,
    mut pieces: Vec<Piece<'a>>,
) -> BTreeMap<String, Vec<Piece<'a>>> {
    let mut out: BTreeMap<String, Vec<Piece<'a>>> = BTreeMap::new();
    if pieces.len() > 1 {
        for child in children(&pieces) {
            let piece = &mut pieces[child];
            piece.identity = Identity::child_of(id, &piece.scanned.source.stem());
        }
    }
    for piece in pieces {
        out.entry(piece.identity.id.clone()).or_default().push(piece);
    }
    out
}

/// The pieces that another one started. They are gone through by their start, with those that may have
/// started them by their end, so that few are compared however many there are.
fn children(pieces: &[Piece<'_>]) -> Vec<usize> {
    let is_task: Vec<bool> = pieces.iter().map(|piece| begins_with_task(&piece.segment)).collect();
    let starts: Vec<Option<Timestamp>> = pieces.iter().map(Piece::first_at).collect();
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|at| (starts[*at], is_task[*at]));
    let mut open: BTreeSet<(Option<Timestamp>, usize)> = BTreeSet::new();
    let mut ids: HashMap<usize, HashSet<&str>> = HashMap::default();
    let mut out = Vec::new();
    for at in order {
        let piece = &pieces[at];
        let end = piece.last_at();
        if !is_task[at] {
            open.insert((end, at));
        } else if piece.identity.kind == SessionKind::Main {
            let own = piece.ids();
            let is_parent = |other: &(Option<Timestamp>, usize)| {
                let parent = &pieces[other.1];
                parent.path() != piece.path()
                    && ids.entry(other.1).or_insert_with(|| parent.ids()).is_disjoint(&own)
            };
            if open.range((end, 0)..).rev().any(is_parent) {
                out.push(at);
            }
        }
    }
    out
}

fn begins_with_task(segment: &Segment) -> bool {
    let mut texts = segment.said.iter().filter(|said| said.kind.role() == crate::model::Role::User);
    texts.next().is_some_and(|said| said.is_task)
}

/// Joins the files of one session.
fn join(id: String, group: String, mut pieces: Vec<Piece<'_>>) -> Assembled {
    pieces.sort_by(|a, b| a.order().cmp(&b.order()));
    let true_piece = true_piece(&pieces);
    tell_histories_apart(&mut pieces, true_piece);
    nameless::name(&mut pieces, true_piece);
    let parts = parts(&pieces);
    let files = pieces.iter().map(|piece| piece.scanned.source.clone()).collect();
    let documents: Vec<bool> =
        pieces.iter().map(|piece| piece.loaded.form == Form::Document).collect();
    let ids = true_piece.map_or(&[][..], |at| &pieces[at].loaded.ids);
    let current: HashMap<&str, usize> =
        ids.iter().enumerate().map(|(n, id)| (id.as_str(), n)).collect();
    let most = pieces.iter().map(|piece| piece.segment.said.len()).max().unwrap_or(0);
    let mut messages: Vec<Placed> = Vec::with_capacity(most);
    let mut known: HashMap<String, (usize, usize)> = HashMap::default();
    let session = session(id, &pieces, true_piece, parts.clone());
    let true_file = true_piece;
    let several = pieces.len() > 1;
    let is_history = pieces.iter().all(Piece::is_history);
    let all_stubs = parts.iter().all(|part| part.why == PartWhy::Stub);
    let first = parts.iter().position(|part| part.why == PartWhy::First).unwrap_or(0);
    let split = before_compression(&parts);
    let age = |piece: &Piece<'_>| (piece.updated(), !piece.scanned.source.is_replaced());
    let ages: Vec<_> = pieces.iter().map(age).collect();
    for (file, piece) in pieces.into_iter().enumerate() {
        if parts[file].why == PartWhy::Stub && !all_stubs && file != first {
            continue;
        }
        let was_split = split[file];
        // Nobody types into a subagent: its prompts are tasks. A saved chat keeps them.
        let is_typed = matches!(piece.identity.kind, SessionKind::Main | SessionKind::Checkpoint);
        for mut heard in piece.segment.said {
            if !is_typed && heard.kind == MessageKind::Prompt {
                heard.kind = MessageKind::Injected;
            }
            let spans = std::mem::take(&mut heard.spans).into_iter();
            let places = spans.map(|span| Place { file, span });
            if let Some((at, newest)) = known.get_mut(heard.id.as_str()) {
                let placed = &mut messages[*at];
                placed.places.extend(places);
                placed.at_least &= documents[file];
                placed.said.join(&heard, ages[file] > ages[*newest]);
                if ages[file] > ages[*newest] {
                    *newest = file;
                }
                continue;
            }
            if several {
                known.insert(heard.id.clone(), (messages.len(), file));
            }
            let current = current.get(heard.id.as_str()).copied();
            let mut said = heard;
            if was_split && said.fate == Fate::Kept && current.is_none() {
                said.fate = Fate::Compressed;
            }
            messages.push(Placed {
                said,
                places: places.collect(),
                current,
                owned: true,
                at_least: documents[file],
            });
        }
    }
    for placed in &mut messages {
        placed.places.sort_by_key(|place| ages[place.file]);
    }
    nameless::count_once(&mut messages);
    Assembled { session, group, messages, true_file, files, documents, is_history }
}

/// Gives the messages of saved histories that are not versions of one another ids of their own. A saved
/// history has no message ids, only places in a list, and a tag can be saved again for something else.
fn tell_histories_apart(pieces: &mut [Piece<'_>], true_piece: Option<usize>) {
    if pieces.len() < 2 || !pieces.iter().all(Piece::is_history) {
        return;
    }
    // Without their text, messages are the same if they are of the same kind and length.
    let looks = |piece: &Piece<'_>| -> Vec<_> {
        let said = piece.segment.said.iter();
        said.map(|said| (said.kind, said.typed.clone(), said.length())).collect()
    };
    let main = true_piece.unwrap_or(0);
    let known = looks(&pieces[main]);
    for (n, piece) in pieces.iter_mut().enumerate() {
        let own = looks(piece);
        if n != main && own.iter().zip(&known).any(|(own, known)| own != known) {
            for said in &mut piece.segment.said {
                said.id = format!("{}~{}", said.id, n + 1);
            }
        }
    }
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

/// Which parts are what a compression summed up: copies aside, the next one is what it left.
fn before_compression(parts: &[Part]) -> Vec<bool> {
    let mut out = vec![false; parts.len()];
    let mut is_split = false;
    for (file, part) in parts.iter().enumerate().rev() {
        out[file] = is_split;
        if part.why != PartWhy::Copy {
            is_split = part.why == PartWhy::Compress;
        }
    }
    out
}

/// A session of which only what was typed is left, and the prompt logs that hold it.
pub fn of_prompts(
    id: &str,
    mut typed: Vec<Typed>,
    mut files: Vec<Source>,
    projects: &mut Projects,
) -> Assembled {
    // A backup repeats what the log has.
    typed.sort_by(|a, b| (a.at, a.number, &a.text).cmp(&(b.at, b.number, &b.text)));
    typed.dedup();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // Of a hash folder and its copy, the copy is the one in use.
    let in_hash =
        |folder: &Path| is_hash(&folder.file_name().unwrap_or_default().to_string_lossy());
    let folders = files.iter().filter_map(Source::folder);
    let folder = folders.min_by_key(|folder| (in_hash(folder), folder.to_owned()));
    let project = projects.resolve(folder, None);
    let mut assembled = Assembled::of_log(id, &typed, project, files);
    assembled.count();
    assembled
}

impl Assembled {
    fn of_log(id: &str, typed: &[Typed], project: Arc<Project>, files: Vec<Source>) -> Self {
        let at = |typed: Option<&Typed>| typed.and_then(|typed| typed.at);
        let (started, updated) = (at(typed.first()), at(typed.last()));
        let part =
            |file: &Source| Part { file: file.path.clone(), started, updated, why: PartWhy::First };
        let session = Session {
            started,
            updated,
            parts: files.iter().map(part).collect(),
            state: State::LogOnly,
            ..Session::new(id.to_owned(), AgentKind::Gemini, project)
        };
        let messages = typed.iter().enumerate().map(|(n, typed)| {
            let mut said = Said::typed(n, typed.at, &typed.text);
            let spans = std::mem::take(&mut said.spans).into_iter();
            let places = spans.map(|span| Place { file: 0, span }).collect();
            Placed { said, places, current: None, owned: true, at_least: false }
        });
        let documents = vec![false; files.len()];
        let messages = messages.collect();
        let group = format!("log:{id}");
        let is_history = false;
        Self { session, group, messages, true_file: None, files, documents, is_history }
    }

    /// The messages of the full view: copies are not listed.
    pub fn listed(&self) -> impl Iterator<Item = &Placed> {
        self.messages.iter().filter(|placed| !placed.said.is_copy)
    }

    /// Fills in what is counted from the messages.
    fn count(&mut self) {
        let mut session = self.session.clone();
        let mut tools: HashSet<(&str, usize)> = HashSet::default();
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
