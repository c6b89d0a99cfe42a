//! Collects all sessions of an archive and the files found on disk, and resolves names to sessions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::archive::{Archive, ArchiveError};
use crate::discover::Discovery;
use crate::model::{Message, Session, SessionId, SessionKind, ToolCall};
use crate::read::json;

/// The maximum number of milliseconds between the end of a call and the end of the agent it ran.
const NEAR: i64 = 5000;

/// All sessions of an archive.
#[derive(Debug)]
pub struct Collection {
    /// The files found on disk.
    pub found: Discovery,
    /// Sorted by id. Of their prompts, they have only the beginning of the first one;
    /// [`Archive::add_prompts`] adds the rest.
    pub sessions: Vec<Session>,
    /// The session ids of agents by agent id, which is the stem of a subagent's file.
    agents: HashMap<String, SessionId>,
    /// The places of sessions by kind, each list in the order of ids.
    kinds: HashMap<SessionKind, Vec<usize>>,
    /// The path of the project that `latest` prefers.
    here: Option<String>,
}

/// The reason why a name does not resolve to a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No session has the name.
    #[error("no session is called `{0}`")]
    None(String),
    /// Several sessions match the name.
    #[error("`{wanted}` could be any of {} sessions", .candidates.len())]
    Several {
        /// The name that was asked for.
        wanted: String,
        /// The ids of the sessions that match.
        candidates: Vec<SessionId>,
    },
}

impl Collection {
    /// Loads all sessions of an archive.
    pub fn new(archive: &Archive, found: Discovery) -> Result<Self, ArchiveError> {
        Ok(Self::of(archive.session_list()?, found))
    }

    /// Loads only the newest sessions of the default list, for a screen that must appear at once.
    pub fn newest(archive: &Archive, count: usize) -> Result<Self, ArchiveError> {
        let mut sessions = archive.newest_sessions(count)?;
        sessions.sort_by_cached_key(|session| session.id.clone());
        Ok(Self::of(sessions, Discovery::default()))
    }

    /// Returns a collection without sessions, for callers that only need the files.
    pub fn only(found: Discovery) -> Self {
        Self::of(Vec::new(), found)
    }

    fn of(sessions: Vec<Session>, found: Discovery) -> Self {
        let agents = agents(&sessions);
        let mut kinds: HashMap<SessionKind, Vec<usize>> = HashMap::new();
        for (at, session) in sessions.iter().enumerate() {
            kinds.entry(session.kind).or_default().push(at);
        }
        Self { found, sessions, agents, kinds, here: None }
    }

    /// Makes `latest` prefer the project that a folder belongs to.
    #[must_use]
    pub fn at(mut self, folder: &Path) -> Self {
        self.here = self.project_of(folder).map(str::to_owned);
        self
    }

    /// Returns the path of the project that `latest` prefers.
    pub fn here(&self) -> Option<&str> {
        self.here.as_deref()
    }

    /// Returns the path of the project that a folder belongs to: the nearest folder around it that has
    /// sessions.
    pub fn project_of(&self, folder: &Path) -> Option<&str> {
        let paths = self.sessions.iter().filter_map(|session| session.project.path.as_deref());
        paths.filter(|path| folder.starts_with(path)).max_by_key(|path| path.len())
    }

    /// Returns the sessions of the default list, the newest first; `latest` and `@N` count in it. Agents, background
    /// sessions and saved chats are not in it, so sums need all of `sessions`.
    pub fn listed(&self) -> Vec<&Session> {
        let mut out: Vec<&Session> =
            self.sessions.iter().filter(|session| session.is_listed()).collect();
        newest_first(&mut out);
        out
    }

    /// Returns the session with an id.
    pub fn get(&self, id: &str) -> Option<&Session> {
        let at = self.sessions.binary_search_by(|session| session.id.as_str().cmp(id)).ok()?;
        Some(&self.sessions[at])
    }

    /// Returns the session that `wanted` names: by its id or a unique beginning of it, `latest` (in the project of
    /// this folder if there is one), `@N`, the name the user gave it, or the name or stem of one of its files.
    pub fn find(&self, wanted: &str) -> Result<&Session, LookupError> {
        if wanted == "latest"
            && let Some(here) = self.here.as_deref()
            && let Some(latest) = self
                .listed()
                .into_iter()
                .find(|session| session.project.path.as_deref() == Some(here))
        {
            return Ok(latest);
        }
        let number = match wanted.strip_prefix('@') {
            _ if wanted == "latest" => Some(1),
            Some(number) => number.parse::<usize>().ok(),
            None => None,
        };
        if let Some(number) = number {
            let place = number.checked_sub(1);
            let found = place.and_then(|place| self.listed().get(place).copied());
            return found.ok_or_else(|| LookupError::None(wanted.to_owned()));
        }
        if let Some(exact) = self.get(wanted) {
            return Ok(exact);
        }
        let named = |session: &&Session| session.name.as_deref() == Some(wanted);
        if let Some(one) = one_of(&self.all(named), wanted)? {
            return Ok(one);
        }
        let by_file = self.all(|session| has_file(session, wanted));
        if let Some(one) = one_of(&by_file, wanted)? {
            return Ok(one);
        }
        // Main sessions take precedence; subagents only match if no main session does.
        let starts = |s: &&Session| s.id.starts_with(wanted) && !wanted.is_empty();
        let by_prefix = self.all(starts);
        let mains: Vec<&Session> =
            by_prefix.iter().copied().filter(|s| s.kind == SessionKind::Main).collect();
        if let [one] = mains.as_slice() {
            return Ok(one);
        }
        one_of(&by_prefix, wanted)?.ok_or_else(|| LookupError::None(wanted.to_owned()))
    }

    /// Returns the beginning of an id that no other session of its kind shares, at least 8
    /// characters. An id that is not random is returned completely, because its beginning is
    /// meaningless.
    pub fn short(&self, session: &Session) -> String {
        let id = session.id.as_str();
        if !session.id.is_uuid() {
            return id.to_owned();
        }
        let places = self.kinds.get(&session.kind).map_or(&[][..], Vec::as_slice);
        let id_at = |place: usize| self.sessions[place].id.as_str();
        // Ids that begin alike are next to each other.
        let from = places.partition_point(|place| id_at(*place) < id);
        let to = places.partition_point(|place| id_at(*place) <= id);
        let before = from.checked_sub(1).map(|at| id_at(places[at]));
        let after = places.get(to).map(|place| id_at(*place));
        let beginning = |length: usize| id.char_indices().nth(length).map(|(end, _)| &id[..end]);
        let is_shared = |start: &str| before.into_iter().chain(after).any(|o| o.starts_with(start));
        let free =
            [8, 13, 18, 23].into_iter().filter_map(beginning).find(|start| !is_shared(start));
        free.unwrap_or(id).to_owned()
    }

    fn all(&self, fits: impl Fn(&&Session) -> bool) -> Vec<&Session> {
        self.sessions.iter().filter(fits).collect()
    }

    /// Assigns subagents of a session that no call names to calls: to the one that gave the same task, else to one
    /// that ended at the same time.
    pub fn tie_agents(&self, session: &Session, messages: &mut [Message]) {
        for child in self.loose_agents(session, messages) {
            let calls = messages.iter_mut().flat_map(|message| &mut message.tool_calls);
            let mut calls = calls.filter(|call| call.agent_session.is_none());
            if let Some(call) = calls.find(|call| Some(&call.id) == child.spawned_by.as_ref()) {
                call.agent_session = Some(child.id.clone());
            }
        }
        let loose = self.loose_agents(session, messages);
        let calls = messages.iter_mut().flat_map(|message| &mut message.tool_calls);
        let mut calls: Vec<&mut ToolCall> = calls
            .filter(|call| call.name.label == "Agent" && call.agent_session.is_none())
            .collect();
        let mut near: Vec<(bool, i64, usize, usize)> = Vec::new();
        for (n, call) in calls.iter().enumerate() {
            let task = task(call);
            for (m, agent) in loose.iter().enumerate() {
                let is_other = !task.as_deref().is_some_and(|task| agent.begins_with(task));
                let apart = call.at.zip(agent.updated).map_or(i64::MAX, |(call, agent)| {
                    (call.as_millisecond() - agent.as_millisecond()).abs()
                });
                near.extend((!is_other || apart <= NEAR).then_some((is_other, apart, n, m)));
            }
        }
        near.sort_unstable();
        let mut tied: HashSet<usize> = HashSet::new();
        for (.., call, agent) in near {
            let call = &mut calls[call].agent_session;
            if call.is_none() && tied.insert(agent) {
                *call = Some(loose[agent].id.clone());
            }
        }
    }

    /// Returns the subagents of a session that no call in its messages refers to.
    pub fn loose_agents(&self, session: &Session, messages: &[Message]) -> Vec<&Session> {
        if session.subagents == 0 {
            return Vec::new();
        }
        let calls = messages.iter().flat_map(|message| &message.tool_calls);
        let tied: HashSet<&str> = calls.filter_map(|call| call.agent_session.as_deref()).collect();
        self.all(|child| {
            child.parent.as_ref() == Some(&session.id) && !tied.contains(child.id.as_str())
        })
    }

    /// Returns the main session that a session belongs to, directly or through other agents.
    pub fn main_of<'a>(&'a self, session: &'a Session) -> &'a str {
        let mut main = session;
        // Stored parents could form a cycle.
        for _ in 0..self.sessions.len() {
            let Some(parent) = main.parent.as_deref() else { break };
            let Some(next) = self.get(parent) else { return parent };
            main = next;
        }
        &main.id
    }

    /// Returns the session of the agent that a tool call names.
    pub fn agent_session(&self, agent_id: &str) -> Option<SessionId> {
        self.agents.get(agent_id).cloned()
    }
}

/// Returns the task that a call gave to an agent.
fn task(call: &ToolCall) -> Option<String> {
    let mut task = None;
    let _ = json::each_field(call.args.as_deref()?.get(), |key, value| {
        if &*key == b"prompt" {
            task = json::string(value).map(Cow::into_owned);
        }
    });
    task
}

/// Returns whether one of its files has this name, with or without its ending.
fn has_file(session: &Session, name: &str) -> bool {
    session.parts.iter().any(|part| {
        part.file.file_name().is_some_and(|known| known == name)
            || part.file.file_stem().is_some_and(|known| known == name)
    })
}

fn one_of<'a>(found: &[&'a Session], wanted: &str) -> Result<Option<&'a Session>, LookupError> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(LookupError::Several {
            wanted: wanted.to_owned(),
            candidates: several.iter().map(|session| session.id.clone()).collect(),
        }),
    }
}

/// Sorts the newest first; sessions without any time last, and equal times by id.
#[doc(hidden)]
pub fn newest_first(sessions: &mut [&Session]) {
    sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.id.cmp(&b.id)));
}

fn agents(sessions: &[Session]) -> HashMap<String, SessionId> {
    let mut out = HashMap::new();
    for session in sessions.iter().filter(|s| s.kind == SessionKind::Subagent) {
        for part in &session.parts {
            let stem = part.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            out.insert(stem, session.id.clone());
        }
        out.insert(session.id.to_string(), session.id.clone());
    }
    out
}
