//! Restores a thread whose file has grown, so that only the new lines are read.
//!
//! A thread is stored without the facts of its messages, which are stored among those of the source. There they
//! are complete, so those that only hold for the end of the file have to be stored as they were before.

use super::steps::is_recorded;
use super::thread::{TOOL_KEY, Thread};
use crate::facts::{CallKey, LimitFacts, MessageFacts};

impl Thread {
    /// Returns the messages that [`finish`](Self::finish) will change as if nothing followed, with their indices.
    pub(crate) fn provisional(&self) -> Vec<(usize, &MessageFacts)> {
        let drafts = self.drafts.iter().enumerate();
        let changed = drafts.filter(|(_, draft)| {
            is_recorded(&self.recorded, draft) || draft.is_lost() || draft.has_vain_lines()
        });
        changed.map(|(at, draft)| (at, &draft.facts)).collect()
    }

    /// Restores the messages and limits from the facts of the source, and the messages that were provisional.
    /// Returns false if they do not match.
    pub(crate) fn restore(
        &mut self,
        messages: Vec<MessageFacts>,
        limits: Vec<LimitFacts>,
        provisional: Vec<(usize, MessageFacts)>,
    ) -> bool {
        // A last call without a reply has a message only as long as nothing follows.
        if messages.len() < self.drafts.len() {
            return false;
        }
        self.limits = limits;
        for (draft, facts) in self.drafts.iter_mut().zip(messages) {
            draft.facts = facts;
            let key = &mut draft.facts.key;
            if matches!(key, CallKey::Id(id) if id.starts_with(TOOL_KEY)) {
                *key = CallKey::Local;
            }
        }
        for (at, facts) in provisional {
            let Some(draft) = self.drafts.get_mut(at) else { return false };
            draft.facts = facts;
        }
        for (at, draft) in self.drafts.iter().enumerate() {
            self.ids.add(draft.mark);
            for (n, tool) in draft.facts.tools.iter().enumerate() {
                if let Some(id) = &tool.id {
                    self.calls.insert(id, (at, n));
                }
            }
        }
        true
    }
}
