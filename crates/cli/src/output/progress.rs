//! A counter on stderr for work that takes a while.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::number::count;

/// Work that ends within this time is not worth a word.
const PATIENCE: Duration = Duration::from_millis(400);
const EVERY: Duration = Duration::from_millis(100);

/// Shown only when it was asked for (a terminal, not `--quiet`); taken away again when dropped.
pub(crate) struct Progress {
    shown: bool,
    /// What is done to what: `reading`, `files`.
    words: (&'static str, &'static str),
    total: u64,
    done: AtomicU64,
    /// When to write next, and how long the last text was.
    state: Mutex<(Instant, usize)>,
}

impl Progress {
    pub(super) fn new(shown: bool, words: (&'static str, &'static str), total: usize) -> Self {
        let state = Mutex::new((Instant::now() + PATIENCE, 0));
        Self { shown, words, total: total as u64, done: AtomicU64::new(0), state }
    }

    /// One more is done; any thread may say so.
    pub(crate) fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.shown {
            return;
        }
        // A thread that finds another one writing goes on with its work.
        let Ok(mut state) = self.state.try_lock() else { return };
        let now = Instant::now();
        if now < state.0 {
            return;
        }
        let (doing, things) = self.words;
        let text = format!("{doing} {} of {} {things}", count(done), count(self.total));
        let _ = write!(io::stderr(), "\r{text}");
        *state = (now + EVERY, text.len());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let (_, length) = *self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if length > 0 {
            let _ = write!(io::stderr(), "\r{}\r", " ".repeat(length));
        }
    }
}
