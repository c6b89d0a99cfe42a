//! Identifies messages, most of which have no id.

use crate::model::MessageId;
use rustc_hash::FxHashMap;

/// The ids of a file's messages. They are made of the time and the content of a message, so they remain the same
/// when the agent rewrites the file without some of its lines.
#[derive(Debug, Default)]
pub(crate) struct Ids(FxHashMap<u64, u32>);

impl Ids {
    /// Returns the id of the next message with a mark. The first one with that mark has no number.
    pub(crate) fn next(&mut self, prefix: &str, mark: u64) -> MessageId {
        match self.add(mark) {
            0 => format!("{prefix}-{mark:016x}").into(),
            others => format!("{prefix}-{mark:016x}.{others}").into(),
        }
    }

    /// Adds a message that has an id, and returns the number of earlier ones with the same mark.
    pub(crate) fn add(&mut self, mark: u64) -> u32 {
        let count = self.0.entry(mark).or_default();
        *count += 1;
        *count - 1
    }
}
