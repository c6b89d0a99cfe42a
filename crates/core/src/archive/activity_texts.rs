//! Reads the long texts of an activity, which are stored apart from what describes them.

use std::marker::PhantomData;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use super::activity::Activities;
use super::activity_parts::ActivityPart;
use crate::model::SessionId;

/// Defines the kinds of texts. Each is a part of its own: the texts of a session, in the order of what describes them.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default, Serialize, Deserialize)]
        pub(crate) struct $name(pub(crate) Vec<String>);

        impl From<$name> for Vec<String> {
            fn from(texts: $name) -> Self {
                texts.0
            }
        }
    )*};
}

kinds! {
    /// Everything that was typed.
    TypedTexts
    /// The command lines.
    LineTexts
    /// The simple command of the last run of each program.
    Examples
}

/// Reads single texts of a kind; those of a session are decoded once.
pub(crate) struct TextReader<'a, T> {
    activities: &'a Activities<'a>,
    sessions: FxHashMap<SessionId, Vec<String>>,
    kind: PhantomData<T>,
}

impl<'a, T> TextReader<'a, T>
where
    T: ActivityPart + Into<Vec<String>>,
{
    pub(crate) fn new(activities: &'a Activities<'a>) -> Self {
        Self { activities, sessions: FxHashMap::default(), kind: PhantomData }
    }

    /// Takes the text at a place of a session.
    pub(crate) fn take(
        &mut self,
        session: &SessionId,
        place: usize,
    ) -> Result<Option<String>, ArchiveError> {
        if !self.sessions.contains_key(session) {
            let texts: T = self.activities.part(session)?;
            self.sessions.insert(session.clone(), texts.into());
        }
        let texts = self.sessions.get_mut(session);
        Ok(texts.and_then(|texts| texts.get_mut(place)).map(std::mem::take))
    }
}
