//! Assembles sessions from the facts of their sources.
//!
//! The result must not depend on the order of the sources, so everything is sorted before it is
//! joined. Nothing here depends on an agent's format or on the archive.
//!
//! `partition` divides sources into lots that are independent of each other, `branches` adds the history
//! that a fork continues, and `join` joins the `part`s of a session. `ownership` decides which session
//! counts a call that several contain, `repeats` drops totals that repeat those of another file,
//! `nameless` identifies messages without an id, and `count` adds up the result. `prompts` makes
//! sessions of which only prompt logs are left.

mod branches;
mod count;
mod join;
mod nameless;
mod ownership;
mod part;
mod partition;
mod prompts;
mod repeats;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use ownership::keys;
pub use part::Part;
pub use partition::partition;
pub use prompts::from_prompts;

use crate::discover::Source;
use crate::facts::{MessageFacts, PartFacts, SessionRef, SourceFacts, Span};
use crate::model::{AgentId, MessageKind, Session, SessionId, Usage};
use crate::project::Project;
use crate::projects::{Projects, short_hash};

/// A source and the facts read from it.
#[derive(Debug, Clone)]
pub struct ScannedSource {
    /// The file.
    pub source: Source,
    /// Its facts.
    pub facts: SourceFacts,
}

/// A session and the messages of its full view, still without their text.
#[derive(Debug)]
pub struct SessionFacts {
    /// The session as lists show it.
    pub session: Session,
    /// The key that its sources have in common; unmarked subagents share their parent's.
    pub group: String,
    /// Its messages in order, including copies.
    pub messages: Vec<MessageEntry>,
    /// The tokens of the session and its agents in the agent's own count, unless it shares calls with
    /// another session, which that count includes as well.
    pub reported: Option<Box<Usage>>,
    /// The place in `files` of the file that the agent would load.
    pub resumable_file: Option<usize>,
    /// The files that contain any of it; [`Place::file`] is a place in this list.
    pub files: Vec<Source>,
    /// Whether each file is rewritten as a whole, so that it may have lost calls.
    pub documents: Vec<bool>,
    /// Whether each file belongs to another session, whose messages this one repeats.
    pub borrowed: Vec<bool>,
    /// The id of a file whose history it continues and that is missing, so that messages are missing too.
    pub missing: Option<String>,
    /// Whether all files are histories: their messages have no times, and calls and their outcomes are in
    /// different messages.
    pub is_history: bool,
}

/// A message in its session.
#[derive(Debug, Clone)]
pub struct MessageEntry {
    /// The facts of the message.
    pub facts: MessageFacts,
    /// The places of its records, the newest last; the newest one is shown.
    pub places: Vec<Place>,
    /// Its place in the list that the agent would load, if it is in it.
    pub current: Option<usize>,
    /// Whether its tokens and tool calls count here, which they do not if they were imported.
    pub owned: bool,
    /// Whether only rewritten documents contain it, which may have lost other calls.
    pub at_least: bool,
}

/// The place of a record among the files of a session.
#[derive(Debug, Clone)]
pub struct Place {
    /// The place of the file in [`SessionFacts::files`].
    pub file: usize,
    /// The place of the record in the file.
    pub span: Span,
}

/// Finds the only session id in a folder that begins with a text.
pub type FindByPrefix<'a> = dyn Fn(&Path, &str) -> Option<String> + 'a;

/// The rules of agents that assembling must follow.
pub trait Rules {
    /// Names the sessions of the parts of a group, and completes them with what the other parts reveal.
    fn refine(&self, group: &str, parts: &mut [Part<'_>]);

    /// Marks what sessions of one agent only repeat, once it is settled which of them made each call.
    fn mark_copies(&self, sessions: &mut [SessionFacts]);

    /// Returns the kind of a line of an agent's prompt log.
    fn kind_of_typed(&self, agent: &AgentId, line: &str) -> MessageKind;
}

/// The group of sessions that a source belongs to, and the project it names there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The key of the group.
    pub group: String,
    /// The path of the project, or the agent's hash of it.
    pub project: Option<String>,
}

/// Returns the groups of sessions that a source belongs to. Sources of one group are assembled together.
pub fn memberships(
    scanned: &ScannedSource,
    projects: &mut Projects,
    find: &FindByPrefix<'_>,
) -> Vec<Membership> {
    let ScannedSource { source, facts } = scanned;
    let membership = |part: &PartFacts| {
        let project = project_of(source, part, projects);
        let group = session_id(source, part, &project, find).into();
        Membership { group, project: part.project.clone() }
    };
    facts.parts.iter().map(membership).collect()
}

/// Assembles sessions from sources, consuming their facts. All sources of a group must be included,
/// and all groups that share a call.
pub fn assemble(
    mut scanned: Vec<ScannedSource>,
    rules: &dyn Rules,
    projects: &mut Projects,
    find: &FindByPrefix<'_>,
) -> Vec<SessionFacts> {
    scanned.sort_by_cached_key(|scanned| scanned.source.order());
    let mut groups: BTreeMap<String, Vec<Part<'_>>> = BTreeMap::new();
    for ScannedSource { source, facts } in &mut scanned {
        for part in std::mem::take(&mut facts.parts) {
            let project = project_of(source, &part, projects);
            let id = session_id(source, &part, &project, find);
            let group = groups.entry(id.to_string()).or_default();
            group.push(Part::new(source, &facts.faults, part, id, project));
        }
    }
    branches::resolve(&mut groups);
    let mut sessions: Vec<SessionFacts> = Vec::new();
    for (group, parts) in groups {
        for (id, parts) in refined(rules, &group, parts) {
            sessions.push(join::join(id, group.clone(), parts));
        }
    }
    ownership::assign_owners(&mut sessions);
    sessions.sort_by(|a, b| a.session.agent.cmp(&b.session.agent));
    for own in sessions.chunk_by_mut(|a, b| a.session.agent == b.session.agent) {
        rules.mark_copies(own);
    }
    sessions.iter_mut().for_each(SessionFacts::count);
    sessions.sort_by(|a, b| a.session.id.cmp(&b.session.id));
    sessions
}

/// Splits a group into sessions by the rules of its agent.
fn refined<'a>(
    rules: &dyn Rules,
    group: &str,
    mut parts: Vec<Part<'a>>,
) -> BTreeMap<SessionId, Vec<Part<'a>>> {
    rules.refine(group, &mut parts);
    let mut out: BTreeMap<SessionId, Vec<Part<'a>>> = BTreeMap::new();
    for part in parts {
        out.entry(part.id.clone()).or_default().push(part);
    }
    out
}

fn project_of(source: &Source, part: &PartFacts, projects: &mut Projects) -> Arc<Project> {
    match &part.stated {
        Some(stated) => stated.project.clone(),
        None => projects.resolve(source.folder(), part.project.as_deref()),
    }
}

fn session_id(
    source: &Source,
    part: &PartFacts,
    project: &Project,
    find: &FindByPrefix<'_>,
) -> SessionId {
    match &part.session {
        SessionRef::Id(id) => id.clone(),
        SessionRef::InProject { scope, name } => {
            format!("{scope}/{}/{name}", short_hash(project)).into()
        }
        SessionRef::StartingWith { beginning, otherwise } => {
            let found = source.folder().and_then(|folder| find(folder, beginning));
            found.unwrap_or_else(|| otherwise.clone()).into()
        }
    }
}

impl SessionFacts {
    /// Iterates over the files that belong to the session itself.
    pub fn own_files(&self) -> impl Iterator<Item = &Source> {
        let files = self.files.iter().zip(&self.borrowed);
        files.filter(|(_, is_borrowed)| !**is_borrowed).map(|(file, _)| file)
    }

    /// Iterates over the messages of the full view: copies are not listed.
    pub fn listed(&self) -> impl Iterator<Item = &MessageEntry> {
        self.messages.iter().filter(|entry| !entry.facts.is_copy)
    }
}
