//! Exit codes, and errors: what failed, why, and what to do about it.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::process::ExitCode;

/// The exit codes, which scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// Nothing matched, or there were faults under `--strict`.
    NoMatch = 1,
    /// A usage error or a failure.
    Failed = 2,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    /// A text of the user, and where in it the mistake is.
    pub(crate) place: Option<(String, Range<usize>)>,
    pub(crate) hints: Vec<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        let hints = Vec::new();
        Self { what: what.into(), cause: None, place: None, hints, exit: Exit::Failed }
    }

    /// Creates the failure for a request that nothing matches, which exits with 1 instead of 2.
    pub(crate) fn nothing(what: impl Into<String>) -> Self {
        Self { exit: Exit::NoMatch, ..Self::new(what) }
    }

    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Quotes a text of the user, with a marker below the mistake.
    pub(crate) fn at(self, text: &str, place: Range<usize>) -> Self {
        Self { place: Some((text.to_owned(), place)), ..self }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Creates the failure for a question that the user left unanswered.
    pub(crate) fn interrupted(what: impl Into<String>) -> Self {
        Self { exit: Exit::Interrupted, ..Self::new(what) }
    }

    /// Returns the failure and its causes on one line.
    pub(crate) fn line(&self) -> String {
        let what = std::iter::once(self.what.clone()).chain(self.causes());
        what.collect::<Vec<_>>().join(": ")
    }

    /// Returns the cause, the cause of the cause, and so on.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut next = self.cause.as_ref().map(|cause| &**cause as &dyn Error);
        let mut causes = Vec::new();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }

    /// Returns whether the reader of our output has gone away, as in `backstory … | head`, which is not an
    /// error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let cause = self.cause.as_ref().and_then(|cause| cause.downcast_ref::<io::Error>());
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Only printing returns bare I/O errors; all others carry a description.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new("cannot write to standard output").because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_told_apart() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(Failure::from(broken).is_closed_pipe());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!Failure::from(full).is_closed_pipe());
        assert!(!Failure::new("x").is_closed_pipe());
    }
}
