//! A session in its agent's own form, such as another installation of the agent can import.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use crate::fault::Faults;
use crate::read::bytes::ReadSeek;
use crate::redact::Redactor;

/// An agent's own form of a session.
pub trait NativeFormat: Sync {
    /// Loads a session file as the agent does; `path` is where it is.
    fn load<'a>(
        &self,
        path: &Path,
        input: Box<dyn ReadSeek + 'a>,
    ) -> Result<Box<dyn NativeSession + 'a>, NativeError>;
}

/// A session that can be written in its agent's own form.
pub trait NativeSession {
    /// Writes it, without secrets if there is a redactor.
    fn write(&mut self, redactor: Option<&mut Redactor<'_>>, out: &mut dyn Write)
    -> io::Result<()>;

    /// Returns what was wrong with the file.
    fn faults(&self) -> &Faults;

    /// Returns how many messages there are.
    fn message_count(&self) -> usize;
}

/// Why a file has no form of its agent's own.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is a document of backstory")]
    Ours,
    #[error("the file is: {0}")]
    NoConversation(Cow<'static, str>),
}
