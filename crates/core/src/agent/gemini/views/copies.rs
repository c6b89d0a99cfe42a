//! Finds messages of a file that only repeat others.
//!
//! After a cancel or a resume, Gemini CLI records its whole history again under new ids.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::full::{Draft, History};
use crate::agent::gemini::format::content::Key;
use crate::facts::ToolFacts;
use crate::model::MessageKind;

/// A part of an original. A copy of a call may have only the name instead of the id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartKey {
    key: Key,
    name: Option<Box<str>>,
}

/// The removed parts in order, with indexes of their places.
struct RemovedParts {
    parts: Vec<(usize, PartKey)>,
    by_key: HashMap<(Author, Key), Vec<usize>>,
    by_name: HashMap<(Author, Box<str>), Vec<usize>>,
}

impl RemovedParts {
    fn new(history: &History, parts: Vec<(usize, PartKey)>) -> Self {
        let mut out = Self { parts, by_key: HashMap::new(), by_name: HashMap::new() };
        for (place, (at, part)) in out.parts.iter().enumerate() {
            let author = history.drafts[*at].author();
            out.by_key.entry((author, part.key.clone())).or_default().push(place);
            if let Some(name) = part.name.clone() {
                out.by_name.entry((author, name)).or_default().push(place);
            }
        }
        out
    }

    /// Returns the first place from `from` on of a part that `key` repeats, in a message before
    /// `copy`.
    fn find(&self, author: Author, key: &Key, from: usize, copy: usize) -> Option<usize> {
        let first = |places: Option<&Vec<usize>>| {
            let places = places?;
            let later = &places[places.partition_point(|place| *place < from)..];
            later.iter().copied().find(|place| self.parts[*place].0 < copy)
        };
        let by_key = first(self.by_key.get(&(author, key.clone())));
        let by_name = match key {
            Key::Call(name) => first(self.by_name.get(&(author, name.clone()))),
            _ => None,
        };
        by_key.into_iter().chain(by_name).min()
    }
}

/// The author of a message; a message never repeats one of another author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Author {
    User,
    Model,
    Program,
}

impl History {
    /// Finds the messages of the new list that only repeat removed ones, part by part and in order.
    /// A compression keeps the end of the history, so there the last match is the original.
    pub(crate) fn match_copies(&mut self, removed: &[usize], first_new: usize, from_the_end: bool) {
        if removed.is_empty() {
            return;
        }
        let mut gone: Vec<(usize, PartKey)> = Vec::new();
        for at in removed {
            gone.extend(self.drafts[*at].parts().into_iter().map(|key| (*at, key)));
        }
        let mut candidates = self.candidates(first_new);
        if from_the_end {
            gone.reverse();
            candidates.reverse();
        }
        let gone = RemovedParts::new(self, gone);
        let mut from = 0;
        for copy in candidates {
            let own = self.drafts[copy].own_parts();
            let author = self.drafts[copy].author();
            let mut keys: Vec<&Key> = own.iter().map(|part| &part.key).collect();
            if from_the_end {
                keys.reverse();
            }
            let mut next = from;
            let mut found = Vec::new();
            let all = keys.into_iter().all(|key| {
                let place = gone.find(author, key, next, copy);
                next = place.map_or(next, |place| place + 1);
                found.extend(place);
                place.is_some()
            });
            if all {
                from = next;
                if from_the_end {
                    found.reverse();
                }
                for place in &found {
                    self.drafts[gone.parts[*place].0].copies.push(copy);
                }
                let draft = &mut self.drafts[copy];
                draft.said.is_copy = true;
                // For a copy of this copy, the parts of the original are more precise.
                draft.repeats = found.iter().map(|place| gone.parts[*place].1.clone()).collect();
            }
        }
        self.follow_moved(removed);
    }

    /// Links calls that were moved into the content of another message to that message.
    fn follow_moved(&mut self, removed: &[usize]) {
        let is_moved = |at: &usize| {
            let draft = &self.drafts[*at];
            !draft.said.tools.is_empty() && draft.keys.is_empty() && draft.copies.is_empty()
        };
        let moved: Vec<usize> = removed.iter().copied().filter(is_moved).collect();
        if moved.is_empty() {
            return;
        }
        let mut holders: HashMap<&Key, Vec<usize>> = HashMap::new();
        for at in &self.list {
            for key in &self.drafts[*at].keys {
                holders.entry(key).or_default().push(*at);
            }
        }
        let mut found = Vec::new();
        for at in moved {
            let calls = self.drafts[at].parts();
            let holds = |other: &&usize| {
                let keys = &self.drafts[**other].keys;
                calls.iter().all(|call| keys.contains(&call.key))
            };
            let first = calls.first().and_then(|call| holders.get(&call.key));
            let holder = first.into_iter().flatten().find(holds).copied();
            found.extend(holder.map(|holder| (at, holder)));
        }
        for (at, holder) in found {
            self.drafts[at].copies.push(holder);
        }
    }

    /// Returns the messages of the list that may be copies: those that came with it, and those that
    /// were recorded again line by line before it. A text that was typed again is not a copy,
    /// because the answers around it have tokens.
    fn candidates(&self, first_new: usize) -> Vec<usize> {
        let is_made_up = |at: usize| {
            let said = &self.drafts[at].said;
            said.call.is_none() && said.model.is_none() && said.tools.is_empty()
        };
        // Whether the reply that follows each message, or else the last reply, is made up.
        let mut near = vec![false; self.list.len()];
        let is_reply = |at: &&usize| self.drafts[**at].said.kind == MessageKind::Reply;
        let mut reply = self.list.iter().rfind(is_reply);
        for (n, at) in self.list.iter().enumerate().rev() {
            reply = Some(at).filter(is_reply).or(reply);
            near[n] = reply.is_some_and(|at| is_made_up(*at));
        }
        let fits = |n: usize, at: usize| {
            let draft = &self.drafts[at];
            if draft.keys.is_empty() || draft.said.call.is_some() {
                return false;
            }
            if at >= first_new {
                // Each compression gets a new acknowledgement.
                let before = n.checked_sub(1).map(|before| &self.drafts[self.list[before]]);
                return !before.is_some_and(|before| draft.is_thanks_after(before));
            }
            match draft.said.kind {
                MessageKind::Reply => is_made_up(at),
                // An id answers one call.
                _ if draft.keys.iter().all(|key| matches!(key, Key::Response(_))) => true,
                _ => near[n],
            }
        };
        self.list.iter().enumerate().filter(|(n, at)| fits(*n, **at)).map(|(_, at)| *at).collect()
    }

    /// Marks results that are repeated: a resume adds `<id>_response` next to the existing tool
    /// result, which is a record of its own or part of the calls of `<id>`.
    pub(crate) fn mark_repeated_results(&mut self) {
        let mut answered: HashSet<Box<str>> = HashSet::new();
        for at in 0..self.drafts.len() {
            let Some((id, draft)) = self.drafts.get_index(at) else { continue };
            if draft.said.kind != MessageKind::ToolResult {
                continue;
            }
            let asked = id.strip_suffix(b"_response").and_then(|id| self.drafts.get(id));
            let in_call = |id: &str| {
                let mut calls = asked.iter().flat_map(|asked| &asked.said.tools);
                calls.any(|call| call.id.as_deref() == Some(id))
            };
            let mut fresh = false;
            for key in &draft.keys {
                fresh |= match key {
                    Key::Response(id) => answered.insert(id.clone()) && !in_call(id),
                    Key::ResponseOf(_) => true,
                    Key::Text(_) | Key::Call(_) => false,
                };
            }
            let repeats = !fresh && draft.said.call.is_none();
            self.drafts[at].said.is_copy |= repeats;
        }
    }
}

impl Draft {
    /// Returns whether a later record of a copy adds nothing to its originals.
    pub(crate) fn still_repeats(&self, facts: &Facts) -> bool {
        let known = |tool: &ToolFacts| {
            let id = tool.id.as_deref();
            self.repeats
                .iter()
                .any(|part| matches!(&part.key, Key::Call(call) if Some(&**call) == id))
        };
        facts.kind == self.said.kind
            && facts.keys == self.keys
            && facts.call.is_none()
            && facts.tools.iter().all(known)
    }

    fn author(&self) -> Author {
        match self.said.kind {
            MessageKind::Reply => Author::Model,
            kind if kind.is_notice() => Author::Program,
            _ => Author::User,
        }
    }

    /// Returns its text and calls, in the order in which a copy contains them.
    fn parts(&self) -> Vec<PartKey> {
        if self.repeats.is_empty() { self.own_parts() } else { self.repeats.clone() }
    }

    fn own_parts(&self) -> Vec<PartKey> {
        let mut parts: Vec<PartKey> =
            self.keys.iter().map(|key| PartKey { key: key.clone(), name: None }).collect();
        for tool in &self.said.tools {
            let key = Key::Call(tool.id.as_deref().unwrap_or(&tool.name).into());
            match parts.iter_mut().find(|part| part.key == key) {
                Some(part) => part.name = Some(tool.name.clone()),
                None => parts.push(PartKey { key, name: Some(tool.name.clone()) }),
            }
        }
        parts
    }
}
