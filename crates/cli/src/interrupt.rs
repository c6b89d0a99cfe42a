//! Ctrl-C: what is half done is taken away, and the exit code says what happened.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::Exit;

/// Files and folders that must not outlive an interrupted run.
static HALF_DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Starts to listen for an interruption. Where that is impossible the system's own way of ending a
/// program remains.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        for path in HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        exit();
    });
}

#[expect(clippy::exit, reason = "the handler runs on a thread of its own, which cannot return")]
fn exit() {
    std::process::exit(Exit::Interrupted as i32);
}

/// Takes this away if the run is interrupted.
pub(crate) fn clean_up(path: &Path) {
    HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}
