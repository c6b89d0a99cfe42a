//! What a fork or an old resume copied from another session.

use crate::assemble::SessionFacts;

/// Marks the messages that another session made: a copy is the beginning of a session, up to the last call
/// that is not its own.
pub(in crate::agent::claude) fn collapse(session: &mut SessionFacts) {
    let messages = &mut session.messages;
    let last = messages.iter().rposition(|entry| !entry.owned && entry.facts.call.is_some());
    let Some(last) = last else { return };
    for entry in &mut messages[..=last] {
        entry.facts.is_copy |= !entry.owned || !entry.facts.counts();
    }
}
