//! Finds and starts other programs.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// Returns the file of a program in one of the folders of a `PATH`.
pub(crate) fn on_path(path: &OsStr, program: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    std::env::split_paths(path)
        .flat_map(|folder| endings.iter().map(move |end| folder.join(format!("{program}{end}"))))
        .find(|file| file.is_file())
}

/// Replaces this process by the command, which takes over the terminal and receives its signals.
#[cfg(unix)]
pub(crate) fn replace(command: &mut Command) -> io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
pub(crate) fn replace(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}
