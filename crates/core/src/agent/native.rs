//! Writes a session in its agent's own format, so that another installation of the agent can import
//! it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use crate::fault::Faults;
use crate::read::bytes::ReadSeek;
use crate::redact::Redactor;

/// An agent's own session format.
pub trait NativeFormat: Sync {
    /// Loads a session file as the agent does. `path` is its location.
    fn load<'a>(
        &self,
        path: &Path,
        input: Box<dyn ReadSeek + 'a>,
    ) -> Result<Box<dyn NativeSession + 'a>, NativeError>;
}

/// A session that can be written in its agent's own format.
pub trait NativeSession {
    /// Writes the session, without secrets if a redactor is given.
    fn write(&mut self, redactor: Option<&mut Redactor<'_>>, out: &mut dyn Write)
    -> io::Result<()>;

    /// Returns the problems of the file.
    fn faults(&self) -> &Faults;

    /// Returns the number of messages.
    fn message_count(&self) -> usize;
}

/// The reason why a file cannot be written in its agent's own format.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is a document of backstory.
    #[error("it is a document of backstory")]
    Ours,
    /// The file does not contain a conversation; a description of its content.
    #[error("the file is: {0}")]
    NoConversation(Cow<'static, str>),
}
