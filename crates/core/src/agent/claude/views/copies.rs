//! Marks messages that a fork or a resume of an old version copied from another session.

use crate::assemble::SessionFacts;

/// Marks the messages of another session as copies: they are the beginning of a session, up to the last call
/// that is not its own.
pub(in crate::agent::claude) fn collapse(session: &mut SessionFacts) {
    let messages = &mut session.messages;
    let last = messages.iter().rposition(|entry| !entry.owned && entry.facts.call.is_some());
    let Some(last) = last else { return };
    for entry in &mut messages[..=last] {
        entry.facts.is_copy |= !entry.owned || !entry.facts.counts();
    }
}
