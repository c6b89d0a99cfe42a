//! The reasons why a command fails, as people read them.

use std::fmt::Display;
use std::path::PathBuf;

use backstory_core::ArchiveError;

/// A failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("`{path}`: {why}")]
    File { path: PathBuf, why: String },
    #[error("{0}")]
    Policy(String),
    #[error("{0}")]
    Target(String),
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// Creates the failure of a file.
    pub(crate) fn file(path: impl Into<PathBuf>, why: impl Display) -> Self {
        Self::File { path: path.into(), why: why.to_string() }
    }

    /// Creates the failure of a target: a database, or a store of objects.
    pub(crate) fn target(why: impl Display) -> Self {
        Self::Target(why.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
