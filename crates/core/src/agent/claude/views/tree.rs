//! Builds the tree of a session's lines, and finds the chain that Claude Code loads.

use std::cell::OnceCell;

use jiff::SignedDuration;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde::{Deserialize, Serialize};

use super::row::{LineContent, Row};
use crate::agent::claude::format::line::Preserved;
use crate::model::MessageKind;

/// The maximum age difference of a line that replaces a missing parent.
const NEAR: SignedDuration = SignedDuration::from_secs(5);

/// The leaf that the program recorded last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::agent::claude) struct Checkpoint {
    /// The uuid of the leaf; empty for a rewind to the beginning.
    pub(in crate::agent::claude) leaf: Box<str>,
    /// Whether the user went back to it.
    pub(in crate::agent::claude) is_explicit: bool,
    /// The number of rows before the checkpoint.
    pub(in crate::agent::claude) rows: usize,
}

/// The rows of one session in a file.
pub(super) struct Tree<'a> {
    rows: &'a [Row],
    /// The indices of the session's rows, in the order of the file.
    own: &'a [usize],
    /// The rows by uuid. Of rows with the same uuid, the last one counts.
    known: HashMap<&'a str, usize>,
    /// The parent of each row, skipping progress.
    above: HashMap<usize, Parent>,
    /// The parents before a compaction moved the rows that it kept.
    written: Option<HashMap<usize, Parent>>,
    /// The rows that can replace a missing parent, sorted by time.
    by_time: OnceCell<Vec<usize>>,
    relatives: OnceCell<Relatives<'a>>,
}

/// The rows that belong together although they are on different branches.
#[derive(Default)]
struct Relatives<'a> {
    /// The rows of each reply.
    replies: HashMap<&'a str, Vec<usize>>,
    /// The tool results that follow each row.
    results: HashMap<&'a str, Vec<usize>>,
}

/// The parent of a row.
#[derive(Debug, Clone, Copy)]
enum Parent {
    Root,
    Row(usize),
    Missing,
}

impl<'a> Tree<'a> {
    /// Builds the tree of the rows at the indices `own`.
    pub(super) fn new(rows: &'a [Row], own: &'a [usize]) -> Self {
        let known: HashMap<&str, usize> = own.iter().map(|at| (&*rows[*at].uuid, *at)).collect();
        let boundary = own.iter().rev().find_map(|at| match &rows[*at].content {
            LineContent::Boundary(kept) => Some(kept.as_deref()),
            _ => None,
        });
        let has_both =
            |kept: &&Preserved| known.contains_key(&*kept.head) && known.contains_key(&*kept.tail);
        let preserved = boundary.flatten().filter(has_both);
        let links = |preserved| Links { rows, known: &known, preserved }.all(own);
        let written = preserved.map(|_| links(None));
        let above = links(preserved);
        let (by_time, relatives) = (OnceCell::new(), OnceCell::new());
        Self { rows, own, known, above, written, by_time, relatives }
    }

    fn by_time(&self) -> &[usize] {
        self.by_time.get_or_init(|| {
            let is_row = |at: &usize| !is_progress(&self.rows[*at]);
            let mut by_time: Vec<usize> = self.own.iter().copied().filter(is_row).collect();
            by_time.sort_by_key(|at| (self.rows[*at].at, *at));
            by_time
        })
    }

    fn relatives(&self) -> &Relatives<'a> {
        self.relatives.get_or_init(|| {
            let mut relatives = Relatives::default();
            for at in self.own {
                let row = &self.rows[*at];
                match &row.content {
                    LineContent::Reply(reply) => {
                        if let Some(id) = &reply.id {
                            relatives.replies.entry(id).or_default().push(*at);
                        }
                    }
                    LineContent::Results(_) => {
                        let parent = self.parent(*at).map(|parent| &self.rows[parent].uuid);
                        if let Some(parent) = parent.or(row.parent.as_ref()) {
                            relatives.results.entry(parent).or_default().push(*at);
                        }
                    }
                    _ => {}
                }
            }
            relatives
        })
    }

    /// Returns whether a row is the last one with its uuid.
    pub(super) fn is_last_of_its_uuid(&self, at: usize) -> bool {
        self.known.get(&*self.rows[at].uuid) == Some(&at)
    }

    /// Returns the parent of a row, skipping progress.
    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        match self.above.get(&at) {
            Some(Parent::Row(parent)) => Some(*parent),
            _ => None,
        }
    }

    /// Returns the rows from a root to a leaf.
    fn chain(&self, leaf: usize) -> Vec<usize> {
        self.chain_by(&self.above, leaf)
    }

    fn chain_by(&self, above: &HashMap<usize, Parent>, leaf: usize) -> Vec<usize> {
        let mut out = vec![leaf];
        let mut seen: HashSet<usize> = HashSet::default();
        seen.insert(leaf);
        let mut at = leaf;
        loop {
            let parent = match above.get(&at) {
                Some(Parent::Row(parent)) => Some(*parent),
                Some(Parent::Missing) => self.stand_in(at),
                Some(Parent::Root) | None => None,
            };
            let Some(parent) = parent.filter(|parent| seen.insert(*parent)) else { break };
            out.push(parent);
            at = parent;
        }
        out.reverse();
        out
    }

    /// Returns the newest row that is slightly older than a row whose parent is missing.
    fn stand_in(&self, at: usize) -> Option<usize> {
        let row = &self.rows[at];
        let when = row.at?;
        let by_time = self.by_time();
        let end = by_time.partition_point(|other| self.rows[*other].at < Some(when));
        let is_near = |other: &&usize| {
            self.rows[**other].at.is_some_and(|then| when.duration_since(then) <= NEAR)
        };
        let mut near = by_time[..end].iter().rev().take_while(is_near);
        near.find(|other| self.rows[**other].is_sidechain == row.is_sidechain).copied()
    }

    /// Returns a chain with the rows that parallel tool calls leave off it: the other lines of its replies,
    /// and the results that follow them.
    fn with_siblings(&self, chain: &[usize]) -> Vec<usize> {
        let relatives = self.relatives();
        let mut seen: HashSet<usize> = chain.iter().copied().collect();
        let last: HashMap<&str, usize> = chain
            .iter()
            .filter_map(|at| Some((self.rows[*at].reply()?.id.as_deref()?, *at)))
            .collect();
        let mut out = Vec::with_capacity(chain.len());
        for at in chain {
            out.push(*at);
            let id = self.rows[*at].reply().and_then(|reply| reply.id.as_deref());
            let Some(id) = id.filter(|id| last.get(id) == Some(at)) else { continue };
            let lines = &relatives.replies[id];
            out.extend(lines.iter().copied().filter(|line| seen.insert(*line)));
            let uuids: HashSet<&str> = lines.iter().map(|line| &*self.rows[*line].uuid).collect();
            let hanging = uuids.iter().filter_map(|uuid| relatives.results.get(uuid)).flatten();
            let mut hanging: Vec<usize> =
                hanging.copied().filter(|row| seen.insert(*row)).collect();
            hanging.sort_by_key(|row| (self.rows[*row].at, *row));
            out.extend(hanging);
        }
        out
    }

    /// Returns the chain that the program would load.
    pub(super) fn current(&self, checkpoint: Option<&Checkpoint>) -> Current {
        let is_row = |at: &&usize| !is_progress(&self.rows[**at]);
        let Some(newest) = self.own.iter().rfind(is_row).copied() else {
            return Current::default();
        };
        if let Some(noted) = checkpoint {
            let is_newer = newest >= noted.rows;
            if noted.leaf.is_empty() && noted.is_explicit && !is_newer {
                return Current::default();
            }
            if let Some(leaf) = self.known.get(&*noted.leaf).copied() {
                let chain = self.chain(newest);
                let descends = chain.contains(&leaf) || self.compressed(&chain).contains(&leaf);
                if !descends || (noted.is_explicit && !is_newer) {
                    return self.loaded_for(leaf);
                }
            }
        }
        self.loaded_for(newest)
    }

    /// Returns the rows loaded for a leaf: the chain up to the nearest message at or above it.
    fn loaded_for(&self, leaf: usize) -> Current {
        let mut chain = self.chain(leaf);
        let is_message = |at: &usize| match &self.rows[*at].content {
            LineContent::Words(words) => words.is_user,
            content => matches!(content, LineContent::Reply(_) | LineContent::Results(_)),
        };
        let end = chain.iter().rposition(is_message).map_or(0, |last| last + 1);
        let behind = chain.split_off(end);
        let rows = self.with_siblings(&chain);
        Current { rows, behind }
    }

    /// Returns the rows that a compaction above the current chain summarized.
    pub(super) fn compressed(&self, current: &[usize]) -> HashSet<usize> {
        let mut out = HashSet::default();
        let mut roots: HashSet<usize> = HashSet::default();
        let mut first = current.first().copied();
        while let Some(root) = first.filter(|root| self.is_compaction(*root) && roots.insert(*root))
        {
            let row = &self.rows[root];
            let named = row.logical_parent.as_deref().and_then(|parent| self.known.get(parent));
            let before = || {
                let place = self.own.binary_search(&root).ok()?;
                let is_row = |at: &&usize| !is_progress(&self.rows[**at]);
                self.own[..place].iter().rfind(is_row)
            };
            let Some(leaf) = named.or_else(before) else { break };
            let chain = self.chain_by(self.written.as_ref().unwrap_or(&self.above), *leaf);
            first = chain.first().copied();
            out.extend(self.with_siblings(&chain));
        }
        out
    }

    fn is_compaction(&self, at: usize) -> bool {
        matches!(self.rows[at].kind(), Some(MessageKind::Compress | MessageKind::CompressSummary))
    }
}

/// Finds the parents of rows.
struct Links<'t, 'a> {
    rows: &'a [Row],
    known: &'t HashMap<&'a str, usize>,
    preserved: Option<&'a Preserved>,
}

impl Links<'_, '_> {
    /// Returns the parent of each row, skipping progress.
    fn all(&self, own: &[usize]) -> HashMap<usize, Parent> {
        let mut out: HashMap<usize, Parent> = HashMap::default();
        for at in own {
            let (mut path, mut here) = (Vec::new(), *at);
            let end = loop {
                if let Some(known) = out.get(&here) {
                    break *known;
                }
                path.push(here);
                match self.step(here) {
                    // A path longer than the number of rows contains a cycle.
                    Parent::Row(_) if path.len() > own.len() => break Parent::Root,
                    Parent::Row(parent) if is_progress(&self.rows[parent]) => here = parent,
                    above => break above,
                }
            };
            out.extend(path.into_iter().map(|row| (row, end)));
        }
        out
    }

    /// Returns the direct parent of a row. The rows that a compaction kept follow its anchor, and the rows
    /// that followed the anchor follow them.
    fn step(&self, at: usize) -> Parent {
        let row = &self.rows[at];
        let Some(mut parent) = row.parent.as_deref() else { return Parent::Root };
        if let Some(kept) = self.preserved {
            if row.uuid == kept.head {
                parent = &kept.anchor;
            } else if *parent == *kept.anchor {
                parent = &kept.tail;
            }
        }
        self.known.get(parent).map_or(Parent::Missing, |found| Parent::Row(*found))
    }
}

fn is_progress(row: &Row) -> bool {
    matches!(row.content, LineContent::Progress)
}

/// The chain that the program would load.
#[derive(Debug, Default)]
pub(super) struct Current {
    /// The rows that are loaded.
    pub(super) rows: Vec<usize>,
    /// Rows at the end of the chain that are not loaded.
    pub(super) behind: Vec<usize>,
}
