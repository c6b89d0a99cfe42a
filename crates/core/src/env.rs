//! The surroundings of a run, as values: the library reads no environment of its own.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct Env {
    pub home: Option<PathBuf>,
    pub vars: HashMap<String, OsString>,
}

impl Env {
    /// A variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}
