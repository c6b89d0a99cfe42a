//! Joins the parts of one session.

use rustc_hash::FxHashMap as HashMap;

use super::part::{Part, count_faults, current_count, newest, resumable_part, session_parts};
use super::{MessageEntry, Place, SessionFacts, nameless};
use crate::facts::{Form, ToolFacts};
use crate::model::{
    Fate, MessageId, MessageKind, Part as SessionPart, PartWhy, Session, SessionId, SessionKind,
    State,
};
use crate::projects::is_absolute;
use crate::tools::is_agent as is_agent_tool;

/// Joins the parts of one session.
pub(super) fn join(id: SessionId, group: String, mut parts: Vec<Part<'_>>) -> SessionFacts {
    parts.sort_by(|a, b| a.order().cmp(&b.order()));
    let resumable_file = resumable_part(&parts);
    separate_histories(&mut parts, resumable_file);
    nameless::name(&mut parts, resumable_file);
    let session_parts = session_parts(&parts);
    let session = session(id, &parts, resumable_file, session_parts.clone());
    let files = parts.iter().map(|part| part.source.clone()).collect();
    let documents = parts.iter().map(|part| part.facts.form != Form::Log).collect();
    let borrowed = parts.iter().map(|part| part.is_borrowed).collect();
    let is_history = parts.iter().all(Part::is_history);
    let missing = parts.iter().find_map(|part| part.missing.clone());
    let reported = newest(&parts, |facts| facts.reported.as_ref()).cloned();
    let mut messages = Messages::new(&mut parts, session_parts, resumable_file);
    for (file, part) in parts.into_iter().enumerate() {
        messages.add(file, part);
    }
    let mut messages = messages.finish();
    nameless::count_once(&mut messages);
    SessionFacts {
        session,
        group,
        messages,
        reported,
        resumable_file,
        files,
        documents,
        borrowed,
        missing,
        is_history,
    }
}

/// The messages of a session while its parts are joined.
struct Messages {
    entries: Vec<MessageEntry>,
    /// The place of each message and the newest part that contains it; empty if there is only one
    /// part.
    known: HashMap<MessageId, (usize, usize)>,
    /// The places of messages in the agent's own list.
    current: HashMap<MessageId, usize>,
    session_parts: Vec<SessionPart>,
    /// Whether a compression summarized each part.
    compressed: Vec<bool>,
    /// The time each part was updated, and whether its file still exists.
    ages: Vec<(Option<jiff::Timestamp>, bool)>,
    all_stubs: bool,
    first: usize,
}

impl Messages {
    fn new(
        parts: &mut [Part<'_>],
        session_parts: Vec<SessionPart>,
        resumable_file: Option<usize>,
    ) -> Self {
        let current = resumable_file.map(|at| std::mem::take(&mut parts[at].facts.current));
        let most = parts.iter().map(|part| part.facts.messages.len()).max().unwrap_or(0);
        let is_first = |part: &SessionPart| part.why == PartWhy::First;
        Self {
            entries: Vec::with_capacity(most),
            known: HashMap::default(),
            current: current.into_iter().flatten().enumerate().map(|(n, id)| (id, n)).collect(),
            compressed: before_compression(&session_parts),
            ages: parts.iter().map(|part| (part.updated(), !part.source.is_replaced())).collect(),
            all_stubs: session_parts.iter().all(|part| part.why == PartWhy::Stub),
            first: session_parts.iter().position(is_first).unwrap_or(0),
            session_parts,
        }
    }

    fn add(&mut self, file: usize, part: Part<'_>) {
        let is_stub = self.session_parts[file].why == PartWhy::Stub;
        if is_stub && !self.all_stubs && file != self.first {
            return;
        }
        let is_document = part.facts.form != Form::Log;
        // Nobody types into a subagent, so its prompts are tasks. A saved chat keeps them.
        let is_typed = matches!(part.facts.kind, SessionKind::Main | SessionKind::Checkpoint);
        for mut facts in part.facts.messages {
            if !is_typed && facts.kind == MessageKind::Prompt {
                facts.kind = MessageKind::Injected;
            }
            let spans = std::mem::take(&mut facts.spans).into_iter();
            let places = spans.map(|span| Place { file, span });
            if let Some((at, newest)) = self.known.get_mut(facts.id.as_str()) {
                let entry = &mut self.entries[*at];
                entry.places.extend(places);
                entry.at_least &= is_document;
                let is_newer = self.ages[file] > self.ages[*newest];
                entry.facts.join(&facts, is_newer);
                if is_newer {
                    *newest = file;
                }
                continue;
            }
            if self.session_parts.len() > 1 {
                self.known.insert(facts.id.clone(), (self.entries.len(), file));
            }
            let current = self.current.get(facts.id.as_str()).copied();
            if self.compressed[file] && facts.fate == Fate::Kept && current.is_none() {
                facts.fate = Fate::Compressed;
            }
            self.entries.push(MessageEntry {
                facts,
                places: places.collect(),
                current,
                owned: true,
                at_least: is_document,
            });
        }
    }

    fn finish(mut self) -> Vec<MessageEntry> {
        for entry in &mut self.entries {
            entry.places.sort_by_key(|place| self.ages[place.file]);
            // Another session made the tool calls of a message that all files repeat.
            entry.owned = !entry.facts.is_inherited || entry.facts.call.is_some();
        }
        self.entries
    }
}

/// Gives messages of saved histories that are not versions of one another distinct ids. A saved
/// history has no message ids, only places in a list, and a tag can be saved again for something
/// else.
fn separate_histories(parts: &mut [Part<'_>], resumable_file: Option<usize>) {
    if parts.len() < 2 || !parts.iter().all(Part::is_history) {
        return;
    }
    // Without their text, messages are considered equal if their kind and length are.
    let looks = |part: &Part<'_>| -> Vec<_> {
        let messages = part.facts.messages.iter();
        messages.map(|message| (message.kind, message.typed.clone(), message.length())).collect()
    };
    let main = resumable_file.unwrap_or(0);
    let known = looks(&parts[main]);
    for (n, part) in parts.iter_mut().enumerate() {
        let own = looks(part);
        if n != main && own.iter().zip(&known).any(|(own, known)| own != known) {
            for message in &mut part.facts.messages {
                message.id = format!("{}~{}", message.id, n + 1).into();
            }
        }
    }
}

/// Returns the session with the data that its sources record as a whole; counts are added later.
fn session(
    id: SessionId,
    parts: &[Part<'_>],
    resumable_file: Option<usize>,
    session_parts: Vec<SessionPart>,
) -> Session {
    let first = &parts[0];
    let stated = first.facts.stated.as_deref();
    let agent = stated.map_or(&first.source.agent, |stated| &stated.agent).clone();
    let in_use = parts.iter().find(|part| !part.facts.is_abandoned).unwrap_or(first);
    let ran_in = in_use.facts.project.as_ref().filter(|path| is_absolute(path));
    let is_elsewhere = |path: &&String| in_use.project.is_worktree(path);
    Session {
        kind: first.facts.kind,
        parent: first.facts.parent.clone(),
        spawned_by: parts.iter().find_map(|part| part.facts.spawned_by.clone()),
        forked_from: parts.iter().find_map(|part| part.facts.forked_from.clone()),
        started: parts.iter().filter_map(Part::started).min(),
        updated: parts.iter().filter_map(Part::updated).max(),
        summary: newest(parts, |facts| facts.summary.as_ref()).cloned(),
        ends: parts.iter().flat_map(|part| part.facts.ends.iter().cloned()).collect(),
        agents: agents(parts),
        branch: newest(parts, |facts| facts.branch.as_ref()).cloned(),
        worktree: ran_in.filter(is_elsewhere).cloned(),
        messages_current: current_count(resumable_file.map(|at| &parts[at])),
        parts: session_parts,
        state: stated.map_or(State::Live, |stated| stated.state),
        first_prompt: stated.and_then(|stated| stated.task.clone()),
        faults: count_faults(parts),
        ..Session::new(id, agent, in_use.project.clone())
    }
}

/// Returns the agents that a subagent started, and the tool calls that did. The files of those agents name the
/// main session only.
fn agents(parts: &[Part<'_>]) -> Vec<Box<str>> {
    let is_agent = |part: &&Part<'_>| part.facts.kind == SessionKind::Subagent;
    let messages = parts.iter().filter(is_agent).flat_map(|part| &part.facts.messages);
    let tools = messages.flat_map(|message| &message.tools);
    let starts = tools.filter(|tool| tool.agent_id.is_some() || is_agent_tool(&tool.name));
    let keys = |tool: &ToolFacts| [tool.id.as_deref().map(Box::from), tool.agent_id.clone()];
    let mut out: Vec<Box<str>> = starts.flat_map(keys).flatten().collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Returns whether a compression summarized each part. Copies aside, the next part is its result.
fn before_compression(parts: &[SessionPart]) -> Vec<bool> {
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
