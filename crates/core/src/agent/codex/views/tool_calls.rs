//! Finds the tool call that an output or an event belongs to.

use rustc_hash::FxHashMap;

/// Tool calls by id: the index of the message, and the index of the call in it.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls(FxHashMap<Box<str>, (usize, usize)>);

impl ToolCalls {
    /// Adds a call. Of several calls with one id the last one in the file is meant, whatever their order of
    /// arrival.
    pub(crate) fn insert(&mut self, id: &str, place: (usize, usize)) {
        match self.0.get_mut(id) {
            Some(known) => *known = place.max(*known),
            None => {
                self.0.insert(id.into(), place);
            }
        }
    }

    /// Returns the place of a call.
    pub(crate) fn get(&self, id: &str) -> Option<(usize, usize)> {
        self.0.get(id).copied()
    }
}
