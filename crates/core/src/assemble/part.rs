//! Describes what one source contains of one session, and how it relates to the session's other
//! sources.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashSet as HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::discover::Source;
use crate::facts::{Form, PartFacts};
use crate::fault::{FaultKind, Faults};
use crate::model::{MessageKind, Part as SessionPart, PartWhy, SessionId, SessionKind};
use crate::project::Project;

/// The part of a session that one source contains.
pub struct Part<'a> {
    /// The file.
    pub source: &'a Source,
    pub(super) faults: &'a Faults,
    /// The facts of this part.
    pub facts: PartFacts,
    /// Whether the source belongs to another session, whose messages this one repeats.
    pub(super) is_borrowed: bool,
    /// The id of the file whose history it continues, if that is missing.
    pub(super) missing: Option<String>,
    /// The id of its session.
    pub id: SessionId,
    pub(super) project: Arc<Project>,
}

impl<'a> Part<'a> {
    pub(super) fn new(
        source: &'a Source,
        faults: &'a Faults,
        facts: PartFacts,
        id: SessionId,
        project: Arc<Project>,
    ) -> Self {
        let mut part =
            Self { source, faults, facts, is_borrowed: false, missing: None, id, project };
        if part.is_history() && part.facts.kind == SessionKind::Main {
            part.make_up_times();
        }
        part
    }

    /// Makes it a session of its own that another session started.
    pub fn set_parent(&mut self, parent: &str) {
        self.id = format!("{parent}/{}", self.source.stem()).into();
        self.facts.kind = SessionKind::Subagent;
        self.facts.parent = Some(parent.into());
    }

    pub(super) fn path(&self) -> &Path {
        &self.source.path
    }

    /// Returns whether it is the model's own list, which has no ids, times or tokens.
    pub(super) fn is_history(&self) -> bool {
        self.facts.form == Form::History
    }

    /// Gives the messages of a history increasing times: that of the file, plus one millisecond per
    /// message.
    fn make_up_times(&mut self) {
        let mut at = self.started();
        for message in &mut self.facts.messages {
            at = at.and_then(|at| at.checked_add(SignedDuration::from_millis(1)).ok());
            message.at = at;
        }
    }

    /// Returns the time of its first message.
    pub fn first_at(&self) -> Option<Timestamp> {
        self.facts.messages.iter().filter_map(|message| message.at).min()
    }

    /// Returns the time of its last message.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.facts.messages.iter().filter_map(|message| message.at).max()
    }

    pub(super) fn started(&self) -> Option<Timestamp> {
        let recorded = self.facts.started.or_else(|| self.first_at());
        recorded.or(self.facts.named_at).or_else(|| self.modified())
    }

    pub(super) fn updated(&self) -> Option<Timestamp> {
        self.facts.updated.max(self.last_at()).or_else(|| self.modified())
    }

    fn modified(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.source.modified?).ok()
    }

    /// Returns whether the agent's own list names this file.
    pub(super) fn is_listed(&self) -> bool {
        self.facts.is_listed && !self.source.is_replaced() && !self.is_borrowed
    }

    fn is_stub(&self) -> bool {
        self.facts.messages.iter().all(|message| message.kind == MessageKind::Injected)
    }

    fn session_part(&self, why: PartWhy) -> SessionPart {
        let (started, updated) = (self.started(), self.updated());
        SessionPart { file: self.path().to_owned(), started, updated, why }
    }

    /// Returns the ids of its messages, except those of injected context, which can be the same
    /// everywhere and therefore prove nothing.
    pub fn ids(&self) -> HashSet<&str> {
        let messages = self.facts.messages.iter();
        let telling = messages.filter(|message| message.kind != MessageKind::Injected);
        telling.map(|message| message.id.as_str()).collect()
    }

    /// Returns the key by which the parts of a session are sorted.
    pub(super) fn order(&self) -> (Option<Timestamp>, bool, &Path) {
        (self.first_at().or_else(|| self.started()), self.facts.is_abandoned, self.path())
    }
}

/// Counts the faults of all files, except that the newest of them is still being written.
pub(super) fn count_faults(parts: &[Part<'_>]) -> usize {
    let newest = parts.iter().map(|part| (part.updated(), part.path())).max();
    let is_fault = |part: &Part<'_>, what: &FaultKind| {
        !(what.is_pending() && newest == Some((part.updated(), part.path())))
    };
    let of = |part: &Part<'_>| {
        part.faults.details.iter().filter(|fault| is_fault(part, &fault.what)).count()
    };
    parts.iter().map(of).sum()
}

/// Returns the number of messages that the agent would load.
pub(super) fn current_count(part: Option<&Part<'_>>) -> usize {
    let Some(part) = part else { return 0 };
    let stated = part.facts.stated.as_ref();
    stated.map_or(part.facts.current.len(), |stated| stated.messages_current)
}

/// Returns the part that the agent would load among files that share a history: the one in its list, else the one
/// with the newest time in its name, else the one with the greatest id.
pub(super) fn newest_file(parts: &[Part<'_>]) -> Option<usize> {
    let is_live = |part: &Part<'_>| !part.source.is_replaced() && !part.is_borrowed;
    let live = parts.iter().enumerate().filter(|(_, part)| is_live(part));
    let id = |part: &Part<'_>| part.facts.lineage.as_ref().map(|lineage| lineage.id.clone());
    let rank = |part: &Part<'_>| {
        (part.is_listed(), part.facts.named_at, id(part), Reverse(part.path().to_owned()))
    };
    live.max_by_key(|(_, part)| rank(part)).map(|(place, _)| place)
}

/// Returns the part that the agent would resume: the one in its list, else the newest one that it accepts.
pub(super) fn resumable_part(parts: &[Part<'_>]) -> Option<usize> {
    if parts.iter().any(|part| part.facts.lineage.is_some())
        && let Some(newest) = newest_file(parts)
    {
        return Some(newest);
    }
    let updated = |part: &Part<'_>| part.facts.updated.or_else(|| part.updated());
    let is_good = |part: &Part<'_>| !part.source.is_replaced() && part.facts.is_resumable;
    let is_any_listed = parts.iter().any(Part::is_listed);
    let best = |good: bool, in_use: bool| {
        let matching = parts.iter().enumerate().filter(|(_, part)| {
            (!good || is_good(part))
                && (!in_use || !part.facts.is_abandoned)
                && (!is_any_listed || part.is_listed())
        });
        let newest = matching.clone().map(|(_, part)| updated(part)).max()?;
        let mut newest: Vec<_> = matching.filter(|(_, part)| updated(part) == newest).collect();
        newest.sort_by(|(_, a), (_, b)| a.path().file_name().cmp(&b.path().file_name()));
        newest.first().map(|(at, _)| *at)
    };
    best(true, true).or_else(|| best(true, false)).or_else(|| best(false, false))
}

pub(super) fn newest<'a, T>(
    parts: &'a [Part<'_>],
    fact: impl Fn(&'a PartFacts) -> Option<&'a T>,
) -> Option<&'a T> {
    let with = parts.iter().filter_map(|part| Some((part, fact(&part.facts)?)));
    let age = |part: &Part<'_>| (part.updated(), Reverse(part.path().to_owned()));
    with.max_by_key(|(part, _)| age(part)).map(|(_, fact)| fact)
}

/// Returns the reason why each source belongs to the session, in the order of the sources.
pub(super) fn session_parts(parts: &[Part<'_>]) -> Vec<SessionPart> {
    let first =
        |part: &Part<'_>| if part.facts.is_import { PartWhy::Import } else { PartWhy::First };
    if let [part] = parts {
        return vec![part.session_part(first(part))];
    }
    let has_more = parts.iter().any(|part| !part.is_stub());
    let mut seen: HashSet<&str> = HashSet::default();
    let mut had_first = false;
    let mut last_form = Form::Log;
    let mut out = Vec::new();
    for part in parts {
        let ids = part.ids();
        let why = if part.is_stub() && (has_more || had_first) {
            PartWhy::Stub
        } else if !had_first {
            first(part)
        } else if ids.is_disjoint(&seen) {
            // Sessions that are documents only begin a new one after a compression. Histories that
            // have nothing in common are chats saved under one name.
            let documents = part.facts.form == Form::Document && last_form == Form::Document;
            if documents { PartWhy::Compress } else { PartWhy::Continuation }
        } else if ids.is_subset(&seen) {
            PartWhy::Copy
        } else {
            PartWhy::Resume
        };
        if why != PartWhy::Stub {
            had_first = true;
            last_form = part.facts.form;
            seen.extend(ids);
        }
        out.push(part.session_part(why));
    }
    out
}
