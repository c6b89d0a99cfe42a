//! Recognizes messages that only repeat a call.

use super::lost;
use crate::assemble::SessionFacts;

/// Marks the messages that consist of nothing but a call whose reply is elsewhere: in another session, or in an
/// earlier version of the file.
pub(crate) fn mark_copies(session: &mut SessionFacts) {
    lost::hide(session);
    for entry in &mut session.messages {
        let is_bare = entry.places.is_empty() && entry.facts.tools.is_empty();
        entry.facts.is_copy |= is_bare && !entry.owned && entry.facts.call.is_some();
    }
}
