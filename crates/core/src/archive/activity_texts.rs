//! Reads the long texts of an activity, which are stored apart from what describes them.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use super::activity::Activities;
use super::activity_parts::ActivityPart;
use crate::model::SessionId;

/// The texts of a session, in the order of what describes them. Each kind is a part of its own.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TextList<const KIND: u8>(pub(crate) Vec<String>);

/// Everything that was typed.
pub(crate) type TypedTexts = TextList<0>;

/// The command lines.
pub(crate) type LineTexts = TextList<1>;

/// The simple command of the last run of each program.
pub(crate) type Examples = TextList<2>;

pub(crate) type TypedReader<'a> = TextReader<'a, 0>;
pub(crate) type LineReader<'a> = TextReader<'a, 1>;
pub(crate) type ExampleReader<'a> = TextReader<'a, 2>;

/// Reads single texts; those of a session are decoded once.
pub(crate) struct TextReader<'a, const KIND: u8> {
    activities: &'a Activities<'a>,
    sessions: FxHashMap<SessionId, TextList<KIND>>,
}

impl<'a, const KIND: u8> TextReader<'a, KIND>
where
    TextList<KIND>: ActivityPart,
{
    pub(crate) fn new(activities: &'a Activities<'a>) -> Self {
        Self { activities, sessions: FxHashMap::default() }
    }

    /// Takes the text at a place of a session.
    pub(crate) fn take(
        &mut self,
        session: &SessionId,
        place: usize,
    ) -> Result<Option<String>, ArchiveError> {
        if !self.sessions.contains_key(session) {
            self.sessions.insert(session.clone(), self.activities.part(session)?);
        }
        let texts = self.sessions.get_mut(session);
        Ok(texts.and_then(|texts| texts.0.get_mut(place)).map(std::mem::take))
    }
}
