//! Keeps the archive of a run open for the capture that follows its command.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use backstory_core::archive::Archive;

use crate::context::Context;

/// An archive that a command uses. When the command is done with it, it stays open in
/// [`Context::idle`].
pub(crate) struct Lease {
    /// None only while this is being dropped.
    archive: Option<Archive>,
    idle: Arc<Mutex<Option<Archive>>>,
}

impl Lease {
    pub(super) fn new(ctx: &Context, archive: Archive) -> Self {
        Self { archive: Some(archive), idle: Arc::clone(&ctx.idle) }
    }
}

impl Deref for Lease {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        self.archive.as_ref().unwrap_or_else(|| unreachable!("it is in use"))
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Archive {
        self.archive.as_mut().unwrap_or_else(|| unreachable!("it is in use"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = self.archive.take();
    }
}
