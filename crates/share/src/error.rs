//! Errors: what failed, why, and what to do about it.

use std::error::Error;
use std::io::Write;

use backstory_core::archive::ArchiveError;
use backstory_core::clean;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), cause: None, hints: Vec::new() }
    }

    pub(crate) fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints the failure. Names of files and machines may contain anything, so they are cleaned.
    pub(crate) fn print(&self) {
        let mut err = anstream::stderr().lock();
        // If printing fails, there is nobody left to report it to.
        let _ = writeln!(err, "error: {}", clean::line(&self.what));
        let mut next = self.cause.as_ref().map(|cause| &**cause as &dyn Error);
        while let Some(cause) = next {
            let _ = writeln!(err, "  caused by: {}", clean::line(&cause.to_string()));
            next = cause.source();
        }
        for hint in &self.hints {
            let _ = writeln!(err, "  hint: {}", clean::line(hint));
        }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let hint = match &error {
            ArchiveError::Newer(_) | ArchiveError::Outdated(_) => {
                "`backstory` and `backstory-share` must have the same version; install both again"
            }
            _ => "`backstory archive check` looks for damage",
        };
        Self::new("the archive cannot be used").because(error).hint(hint)
    }
}
