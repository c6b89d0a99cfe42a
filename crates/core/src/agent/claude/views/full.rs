//! Builds all messages of one session in a file, and determines the fate of each.

use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap, FxHashSet as HashSet};

use super::row::{LineContent, ReplyLine, Row, ToolOutcome};
use super::split::{Owner, Share};
use super::tree::{Checkpoint, Tree};
use crate::agent::Detail;
use crate::agent::claude::format::usage::Tokens;
use crate::facts::{CallFacts, CallKey, MessageFacts, ToolFacts};
use crate::model::{Fate, MessageId, MessageKind, ToolStatus};
use crate::time::earlier;
use crate::tools;

/// The maximum number of lines without a message between two messages.
const FAR: usize = 256;

/// The messages of a session in a file.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct View {
    /// All messages, in the order of the file.
    pub(in crate::agent::claude) messages: Vec<MessageFacts>,
    /// The ids of the messages that the program would load, in its order.
    pub(in crate::agent::claude) current: Vec<MessageId>,
}

/// A message that is being assembled from its lines.
struct Draft {
    facts: MessageFacts,
    tokens: Option<Tokens>,
    /// The earliest time of a line with tokens, which is the time of the call.
    billed_at: Option<Timestamp>,
    has_stopped: bool,
    is_aborted: bool,
    is_inherited: bool,
    /// Whether a line above each of its lines was written later.
    is_outdated: bool,
    request: Option<Box<str>>,
    /// The index of its first row.
    row: usize,
}

/// Returns the messages of a session. Where only calls are wanted, they have no fate, and no message is loaded.
pub(in crate::agent::claude) fn view(
    rows: &[Row],
    share: &Share,
    owner: &Owner,
    outcomes: &HashMap<&str, (usize, &ToolOutcome)>,
    checkpoint: Option<&Checkpoint>,
    detail: Detail,
) -> View {
    // The files of an agent are joined by the parents of its messages.
    let needs_tree = detail == Detail::Full
        || matches!(owner, Owner::Agent { .. })
        || share.rows.iter().any(|at| rows[*at].needs_tree());
    let tree = needs_tree.then(|| Tree::new(rows, &share.rows));
    let tree = tree.as_ref();
    let mut drafts: IndexMap<&str, Draft, FxBuildHasher> = IndexMap::default();
    for (n, at) in share.rows.iter().enumerate() {
        let row = &rows[*at];
        let Some(id) = row.message() else { continue };
        let is_inherited = n < share.own_from || owner.is_copying();
        let draft = drafts.entry(id).or_insert_with(|| Draft::new(id, row, *at));
        match &row.content {
            LineContent::Reply(reply) => {
                draft.add(reply, row, tree.is_none_or(|tree| tree.is_last_of_its_uuid(*at)));
            }
            _ if draft.row != *at => *draft = Draft::new(id, row, *at),
            _ => {}
        }
        draft.is_inherited |= is_inherited;
        draft.is_outdated &= row.is_outdated;
    }
    let mut current = Vec::new();
    if let Some(tree) = tree {
        if detail == Detail::Full {
            let loaded = tree.current(checkpoint.filter(|_| matches!(owner, Owner::Main(_))));
            settle_fates(rows, &share.rows, tree, &loaded.rows, &loaded.behind, &mut drafts);
            let mut ids: HashSet<&str> = HashSet::default();
            let loaded = loaded.rows.iter().filter_map(|at| rows[*at].message());
            current.extend(loaded.filter(|id| ids.insert(id)).map(MessageId::from));
        }
        settle_failures(rows, &share.rows, tree, &mut drafts);
    }
    let session = match owner {
        Owner::Main(session) | Owner::Sidechain { session, .. } | Owner::Agent { session, .. } => {
            session
        }
    };
    for draft in drafts.values_mut() {
        draft.settle(rows, outcomes, session);
        draft.facts.parent = tree.and_then(|tree| parent_message(rows, tree, draft.row));
    }
    View { messages: drafts.into_values().map(|draft| draft.facts).collect(), current }
}

impl Draft {
    fn new(id: &str, row: &Row, at: usize) -> Self {
        let kind = row.kind().unwrap_or(MessageKind::Injected);
        let mut facts = MessageFacts::new(id.into(), kind, row.at);
        if let Some(typed) = row.words().and_then(|words| words.typed.clone()) {
            facts.typed = Some(typed);
            facts.typed_is_sure = true;
        }
        if row.reply().is_none() {
            facts.spans.extend(row.span());
        }
        Self {
            facts,
            tokens: None,
            billed_at: None,
            has_stopped: false,
            is_aborted: false,
            is_inherited: false,
            is_outdated: true,
            request: None,
            row: at,
        }
    }

    /// Adds a line of the reply. Text and tool calls are only taken from a line that `is_new`, because a line
    /// may be written twice.
    fn add(&mut self, reply: &ReplyLine, row: &Row, is_new: bool) {
        let facts = &mut self.facts;
        facts.at = earlier(facts.at, row.at);
        if facts.model.is_none() {
            facts.model.clone_from(&reply.model);
        }
        if let Some(tokens) = reply.tokens {
            self.tokens = Some(self.tokens.map_or(tokens, |known| known.max(tokens)));
            self.billed_at = earlier(self.billed_at, row.at);
        }
        self.has_stopped |= reply.has_stopped;
        self.is_aborted |= reply.is_aborted;
        if self.request.is_none() {
            self.request.clone_from(&reply.request);
        }
        if reply.is_synthetic && reply.kind == MessageKind::Reply {
            facts.fate = Fate::Interrupted;
        }
        if reply.id.is_some() && !reply.is_synthetic {
            facts.key = CallKey::Message;
        }
        if !is_new {
            return;
        }
        facts.spans.extend(row.span());
        for (id, name) in &reply.tools {
            if facts.tools.iter().any(|tool| tool.id.as_ref() == Some(id)) {
                continue;
            }
            facts.tools.push(ToolFacts {
                id: Some(id.clone()).filter(|id| !id.is_empty()),
                name: name.clone(),
                agent_id: None,
                status: ToolStatus::Unfinished,
                server: tools::server(name, None).map(Box::from),
                at: None,
                lines: None,
            });
        }
    }

    /// Completes the message with facts that only the whole file reveals.
    fn settle(
        &mut self,
        rows: &[Row],
        outcomes: &HashMap<&str, (usize, &ToolOutcome)>,
        session: &Arc<str>,
    ) {
        if let Some(tokens) = self.tokens {
            let mut call = CallFacts::new(tokens.usage()).with_service(tokens.service());
            // A request is never empty: some versions lost the input count of a finished call.
            let is_lost = call.usage.prompt() == 0;
            call.at_least = !self.has_stopped || self.is_aborted || is_lost;
            call.is_inherited = self.is_inherited;
            call.is_outdated = self.is_outdated;
            self.facts.call = Some(call);
            self.facts.at = self.billed_at;
        }
        for tool in &mut self.facts.tools {
            let outcome = tool.id.as_deref().and_then(|id| outcomes.get(id));
            let Some((at, outcome)) = outcome else { continue };
            tool.status = outcome.status;
            tool.at = rows[*at].at;
            tool.lines = outcome.lines.filter(|_| tools::edits(&tool.name));
            tool.agent_id =
                outcome.agent.as_ref().map(|agent| format!("{session}/agent-{agent}").into());
        }
        self.facts.is_inherited = (self.is_inherited || self.is_outdated) && !self.facts.counts();
    }
}

/// Returns the id of the message that a row follows, or the uuid of a parent that the file does not contain.
fn parent_message(rows: &[Row], tree: &Tree<'_>, at: usize) -> Option<MessageId> {
    let own = rows[at].message();
    let mut above = tree.parent(at);
    if above.is_none() {
        return rows[at].parent.clone().map(MessageId::from);
    }
    for _ in 0..FAR {
        let Some(parent) = above.filter(|parent| *parent != at) else { break };
        match rows[parent].message() {
            Some(id) if Some(id) != own => return Some(id.into()),
            _ => above = tree.parent(parent),
        }
    }
    None
}

/// Marks messages that are no longer loaded: summarized by a compaction, or left behind by a rewind.
fn settle_fates(
    rows: &[Row],
    own: &[usize],
    tree: &Tree<'_>,
    current: &[usize],
    behind: &[usize],
    drafts: &mut IndexMap<&str, Draft, FxBuildHasher>,
) {
    let loaded: HashSet<usize> = current.iter().chain(behind).copied().collect();
    let compressed = tree.compressed(current);
    let mut fates: HashMap<&str, Fate> = HashMap::default();
    let branches =
        Branches::new(rows, own, tree, &|at| loaded.contains(&at) || compressed.contains(&at));
    for at in own {
        let Some(id) = rows[*at].message() else { continue };
        let fate = if loaded.contains(at) {
            Fate::Kept
        } else if compressed.contains(at) {
            Fate::Compressed
        } else if branches.has_turn(*at) {
            Fate::Rewound
        } else {
            Fate::Kept
        };
        // A message counts as loaded if any of its lines is loaded.
        let known = fates.entry(id).or_insert(fate);
        if fate == Fate::Kept {
            *known = fate;
        }
    }
    for (id, fate) in fates {
        if let Some(draft) = drafts.get_mut(id)
            && fate != Fate::Kept
        {
            draft.facts.fate = fate;
        }
    }
}

/// The branches of a tree that are not on its chain, and whether each contains a prompt or a reply: commands
/// of the program by themselves leave branches without any rewind.
struct Branches {
    /// The first row of the branch of each row.
    roots: HashMap<usize, usize>,
    with_turns: HashSet<usize>,
}

impl Branches {
    fn new(rows: &[Row], own: &[usize], tree: &Tree<'_>, is_on: &dyn Fn(usize) -> bool) -> Self {
        let mut roots: HashMap<usize, usize> = HashMap::default();
        let mut with_turns = HashSet::default();
        for at in own {
            if is_on(*at) {
                continue;
            }
            let (mut path, mut root) = (Vec::new(), *at);
            let mut seen = HashSet::default();
            while seen.insert(root) {
                if let Some(known) = roots.get(&root) {
                    root = *known;
                    break;
                }
                path.push(root);
                match tree.parent(root).filter(|parent| !is_on(*parent)) {
                    Some(parent) => root = parent,
                    None => break,
                }
            }
            for row in path {
                roots.insert(row, root);
            }
            if matches!(rows[*at].kind(), Some(MessageKind::Prompt | MessageKind::Reply)) {
                with_turns.insert(root);
            }
        }
        Self { roots, with_turns }
    }

    fn has_turn(&self, at: usize) -> bool {
        self.roots.get(&at).is_some_and(|root| self.with_turns.contains(root))
    }
}

/// Marks replies that were cut off, and prompts that were answered by an error.
fn settle_failures(
    rows: &[Row],
    own: &[usize],
    tree: &Tree<'_>,
    drafts: &mut IndexMap<&str, Draft, FxBuildHasher>,
) {
    for at in own {
        let row = &rows[*at];
        let is_error = row.kind() == Some(MessageKind::Error);
        let words = row.words();
        let is_interruption = words.is_some_and(|words| words.is_interruption);
        let is_cut_off = words.is_some_and(|words| words.is_cut_off);
        if is_error && let Some(draft) = row.message().and_then(|id| drafts.get_mut(id)) {
            draft.facts.fate = Fate::Failed;
        }
        if !is_error && !is_interruption && !is_cut_off {
            continue;
        }
        let Some(before) = said_before(rows, tree, *at) else { continue };
        let Some(draft) = rows[before].message().and_then(|id| drafts.get_mut(id)) else {
            continue;
        };
        let is_prompt = draft.facts.kind == MessageKind::Prompt;
        let is_partial = draft.facts.kind == MessageKind::Reply && !draft.has_stopped;
        if is_cut_off {
            draft.is_aborted = true;
        }
        if is_prompt || is_partial || is_cut_off {
            draft.facts.fate = if is_interruption { Fate::Interrupted } else { Fate::Failed };
        }
    }
    for draft in drafts.values_mut() {
        if draft.is_aborted && draft.facts.fate == Fate::Kept {
            draft.facts.fate = Fate::Interrupted;
        }
    }
    settle_superseded(drafts);
}

/// Marks partially streamed replies whose request was answered by a later reply.
fn settle_superseded(drafts: &mut IndexMap<&str, Draft, FxBuildHasher>) {
    let mut whole: HashSet<Box<str>> = HashSet::default();
    for draft in drafts.values_mut().rev() {
        let Some(request) = &draft.request else { continue };
        if draft.has_stopped {
            whole.insert(request.clone());
        } else if whole.contains(request) {
            draft.facts.fate = Fate::Superseded;
        }
    }
}

/// Returns the prompt or reply that a row follows, skipping context.
fn said_before(rows: &[Row], tree: &Tree<'_>, at: usize) -> Option<usize> {
    let mut above = tree.parent(at);
    for _ in 0..FAR {
        let row = above?;
        match rows[row].kind() {
            Some(MessageKind::Prompt | MessageKind::Reply) => return above,
            None | Some(MessageKind::Injected) => above = tree.parent(row),
            _ => return None,
        }
    }
    None
}
