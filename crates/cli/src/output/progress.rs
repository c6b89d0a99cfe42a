//! A counter on stderr for work that takes a while.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::number::count;

/// Work that finishes within this time shows no counter.
const PATIENCE: Duration = Duration::from_millis(400);
const EVERY: Duration = Duration::from_millis(100);

/// A counter that is shown only on a terminal without `--quiet`, and erased when dropped.
pub(crate) struct Progress {
    shown: bool,
    /// A verb and a noun, such as `reading` and `files`.
    words: (&'static str, &'static str),
    total: u64,
    done: AtomicU64,
    /// The time of the next update, and the length of the last text.
    state: Mutex<(Instant, usize)>,
}

impl Progress {
    pub(super) fn new(shown: bool, words: (&'static str, &'static str), total: usize) -> Self {
        let state = Mutex::new((Instant::now() + PATIENCE, 0));
        Self { shown, words, total: total as u64, done: AtomicU64::new(0), state }
    }

    /// Counts one more item; can be called from any thread.
    pub(crate) fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.shown {
            return;
        }
        // If another thread is writing, skip this update instead of waiting.
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
