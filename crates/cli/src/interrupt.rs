//! Ctrl-C and the like: what is half done is taken away, and the exit code says what happened.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::error::Exit;

/// Files and folders that must not outlive an interrupted run.
static HALF_DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What an interruption does instead of ending the run.
static INSTEAD: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Starts to listen for an interruption. Where that is impossible the system's own way of ending a
/// program remains.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        let instead = INSTEAD.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(instead) = instead {
            return instead();
        }
        // Held to the end, so that nothing new is begun meanwhile.
        let half_done = HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner);
        for path in half_done.iter() {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        exit();
    });
}

#[expect(clippy::exit, reason = "the handler runs on a thread of its own, which cannot return")]
fn exit() {
    std::process::exit(Exit::Interrupted as i32);
}

/// For runs that last until somebody ends them: the first interruption does this, a second one ends the
/// run as ever.
pub(crate) fn instead(work: impl FnOnce() + Send + 'static) {
    *INSTEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
}

/// Makes something that is taken away if the run is interrupted. An interruption waits until it is
/// made, or what is half made would stay behind: keep it short.
pub(crate) fn make<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> Option<&Path>,
) -> io::Result<T> {
    let mut half_done = HALF_DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let thing = make()?;
    half_done.extend(path(&thing).map(Path::to_owned));
    Ok(thing)
}
