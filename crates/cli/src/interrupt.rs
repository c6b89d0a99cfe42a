//! Handles Ctrl-C and similar signals: removes partial files and exits with the conventional code.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::error::Exit;

/// Files and folders that must not remain after an interrupted run.
static HALF_DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A handler that runs instead of ending the process.
static INSTEAD: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Installs the signal handler. If that fails, the system's default remains.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(end);
}

/// Ends the run as a signal does.
pub(crate) fn end() {
    let instead = INSTEAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(instead) = instead {
        return instead();
    }
    // The lock is held until the exit, so that no new partial file is created in the meantime.
    let half_done = HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in half_done.iter() {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    exit();
}

#[expect(clippy::exit, reason = "the handler runs on a thread of its own, which cannot return")]
fn exit() {
    std::process::exit(Exit::Interrupted as i32);
}

/// Sets a handler for the first interruption, for commands that run until they are stopped. A second
/// interruption ends the process.
pub(crate) fn instead(work: impl FnOnce() + Send + 'static) {
    *INSTEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
}

/// Creates something that is removed if the run is interrupted. A signal waits until `make` returns, so
/// that nothing partial remains; keep `make` short.
pub(crate) fn make<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> Option<&Path>,
) -> io::Result<T> {
    let mut half_done = HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let thing = make()?;
    half_done.extend(path(&thing).map(Path::to_owned));
    Ok(thing)
}
