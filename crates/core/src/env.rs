//! Passes the environment of a run as values; the library never reads the environment itself.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The environment of a run.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The environment variables.
    pub vars: HashMap<String, OsString>,
}

impl Env {
    /// Returns a variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}
