//! Determines which lines of a file come from another thread.

use jiff::{SignedDuration, Timestamp};

use super::thread::Thread;
use crate::model::SessionKind;

impl Thread {
    /// Returns whether an id is that of another thread.
    pub(super) fn is_other(&self, thread: &str) -> bool {
        self.id() != thread
    }

    /// Returns the oldest thread that the lines come from, which all copies of a call share.
    pub(super) fn root(&self) -> &str {
        self.copied_threads().last().unwrap_or_else(|| self.id())
    }

    /// Returns the oldest thread that a copied line comes from, even if no header names it.
    pub(super) fn origin(&self) -> &str {
        let copied = self.copied_threads().last();
        copied.or_else(|| self.spawner()).unwrap_or_else(|| self.id())
    }

    /// Returns the thread that started this one as a subagent, which may begin with a selection of its lines.
    pub(super) fn spawner(&self) -> Option<&str> {
        let meta = self.meta.as_ref().filter(|meta| meta.base.is_none());
        meta.filter(|meta| meta.kind == SessionKind::Subagent)?.parent.as_deref()
    }

    /// Returns whether the line is copied from the thread that started this one.
    pub(super) fn is_spawned_copy(&self) -> bool {
        self.spawner().is_some() && self.is_inherited()
    }

    /// Returns the threads that the file copies, the nearest first.
    pub(super) fn copied_threads(&self) -> impl Iterator<Item = &str> {
        let meta = self.meta.as_ref().filter(|_| self.ancestors.is_empty() && self.is_copying());
        let forked = meta.and_then(|meta| meta.forked_from.as_deref());
        self.ancestors.iter().map(|one| one.id.as_str()).chain(forked)
    }

    /// Returns whether the file begins with lines of another thread.
    fn is_copying(&self) -> bool {
        let meta = self.meta.as_ref();
        let is_fork = meta.is_some_and(|meta| meta.forked_from.is_some() && meta.base.is_none());
        is_fork || !self.ancestors.is_empty()
    }

    /// Returns whether the file continues the history of another file.
    pub(super) fn has_base(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.base.is_some())
    }

    /// Returns whether the line is copied from another thread.
    pub(super) fn is_inherited(&self) -> bool {
        let is_copying = self.is_copying();
        if !is_copying && self.spawner().is_none() {
            return false;
        }
        let meta = self.meta.as_ref();
        if let Some(own_from) = meta.and_then(|meta| meta.own_from) {
            return self.here.position < own_from;
        }
        match (self.turn.as_ref().and_then(|turn| turn.began), meta.and_then(|meta| meta.at)) {
            // A line is never older than its turn, unless a copy got a new date.
            (Some(began), Some(born)) => {
                is_older(began, born) || self.here.at.is_some_and(|at| is_older(at, began))
            }
            (None, Some(born)) if self.here.at.is_some_and(|at| is_older(at, born)) => true,
            // Most subagents copy nothing, and their own lines may follow their header at once.
            _ => is_copying && self.here.in_burst,
        }
    }
}

/// Returns whether a time precedes another by more than the rounding of ids and times.
fn is_older(time: Timestamp, than: Timestamp) -> bool {
    than.duration_since(time) > SignedDuration::from_millis(1)
}
