//! What one file holds of one session, and what it is to the session's other files.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashSet as HashSet;

use jiff::{SignedDuration, Timestamp};

use super::identity::{self, Identity};
use super::load::{Form, Loaded};
use super::projects::is_hash;
use super::scan::{Holds, Scanned};
use super::segment::Segment;
use crate::fault::What;
use crate::model::{MessageKind, Part, PartWhy, SessionKind};
use crate::project::Project;

/// What one file holds of one session.
pub(super) struct Piece<'a> {
    pub(super) scanned: &'a Scanned,
    pub(super) loaded: &'a Loaded,
    pub(super) segment: Segment,
    pub(super) identity: Identity,
    pub(super) project: Arc<Project>,
    /// Only one session is in the file.
    pub(super) alone: bool,
}

impl Piece<'_> {
    pub(super) fn path(&self) -> &Path {
        &self.scanned.source.path
    }

    /// Returns whether it is the model's own list, which has no ids, times or tokens.
    pub(super) fn is_history(&self) -> bool {
        matches!(self.scanned.holds, Holds::History(_))
    }

    /// Gives the messages of a history times in their order: that of the file, and a millisecond each.
    pub(super) fn make_up_times(&mut self) {
        let mut at = self.started();
        for said in &mut self.segment.said {
            at = at.and_then(|at| at.checked_add(SignedDuration::from_millis(1)).ok());
            said.at = at;
        }
    }

    pub(super) fn first_at(&self) -> Option<Timestamp> {
        self.segment.said.iter().filter_map(|said| said.at).min()
    }

    pub(super) fn last_at(&self) -> Option<Timestamp> {
        self.segment.said.iter().filter_map(|said| said.at).max()
    }

    pub(super) fn started(&self) -> Option<Timestamp> {
        let named = || identity::time_in_name(&self.scanned.source.stem());
        if self.is_history() {
            return named().or_else(|| self.first_at()).or_else(|| self.modified());
        }
        self.segment.started.or_else(|| self.first_at()).or_else(named).or_else(|| self.modified())
    }

    pub(super) fn updated(&self) -> Option<Timestamp> {
        self.segment.updated.max(self.last_at()).or_else(|| self.modified())
    }

    pub(super) fn modified(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.scanned.source.modified?).ok()
    }

    pub(super) fn is_stub(&self) -> bool {
        self.segment.said.iter().all(|said| said.kind == MessageKind::Injected)
    }

    pub(super) fn is_import(&self) -> bool {
        self.segment.said.iter().any(|said| said.id.starts_with("import-"))
    }

    pub(super) fn part(&self, why: PartWhy) -> Part {
        let (started, updated) = (self.started(), self.updated());
        Part { file: self.path().to_owned(), started, updated, why }
    }

    pub(super) fn in_slug_folder(&self) -> bool {
        let name = self.scanned.source.folder.as_deref().and_then(Path::file_name);
        name.is_some_and(|name| !is_hash(&name.to_string_lossy()))
    }

    pub(super) fn ids(&self) -> HashSet<&str> {
        // The injected context has one fixed id everywhere: it proves nothing.
        let telling = self.segment.said.iter().filter(|said| said.kind != MessageKind::Injected);
        telling.map(|said| said.id.as_str()).collect()
    }

    /// By which the files of a session are put in order.
    pub(super) fn order(&self) -> (Option<Timestamp>, bool, &Path) {
        (self.first_at().or_else(|| self.started()), !self.in_slug_folder(), self.path())
    }
}

/// What was wrong in the files; not that the newest of them is being written.
pub(super) fn faults(pieces: &[Piece<'_>]) -> usize {
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

/// How many messages Gemini CLI would load; of a file with several sessions, those of this one.
pub(super) fn current_count(piece: Option<&Piece<'_>>) -> usize {
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
pub(super) fn true_piece(pieces: &[Piece<'_>]) -> Option<usize> {
    let updated = |piece: &Piece<'_>| piece.segment.updated.or_else(|| piece.updated());
    let is_good = |piece: &Piece<'_>| {
        let kind_fits = piece.identity.kind == SessionKind::Subagent
            || piece.segment.kind.as_deref() != Some("subagent");
        let is_there = !piece.scanned.source.is_replaced();
        is_there && piece.loaded.accepted && piece.loaded.resumable && kind_fits
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

pub(super) fn newest_summary(pieces: &[Piece<'_>]) -> Option<String> {
    let with = pieces.iter().filter(|piece| piece.segment.summary.is_some());
    with.max_by_key(|piece| (piece.updated(), std::cmp::Reverse(piece.path().to_owned())))?
        .segment
        .summary
        .clone()
}

/// Why each file belongs to the session, in the order of the files.
pub(super) fn parts(pieces: &[Piece<'_>]) -> Vec<Part> {
    if let [piece] = pieces {
        return vec![piece.part(if piece.is_import() { PartWhy::Import } else { PartWhy::First })];
    }
    let has_more = pieces.iter().any(|piece| !piece.is_stub());
    let mut seen: HashSet<&str> = HashSet::default();
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
            // While sessions were documents only a compression began a new one. Histories that have
            // nothing in common are chats that were saved under one name.
            let documents = piece.loaded.form == Form::Document
                && last_form == Form::Document
                && !piece.is_history();
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
