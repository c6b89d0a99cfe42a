//! Reads the text of tool calls for the reports that need it, and only of sessions with a wanted
//! call.

use std::collections::HashSet;
use std::io;

use jiff::Timestamp;

use crate::assemble::{MessageEntry, SessionFacts};
use crate::content::Reader;
use crate::facts::ToolFacts;
use crate::model::{MessageKind, ToolCall};
use crate::time::Period;

/// Passes each wanted call of a session to `sink`, once, however often it was recorded.
pub(super) fn tool_calls(
    assembled: &SessionFacts,
    reader: Reader<'_>,
    period: &Period,
    is_wanted: impl Fn(&ToolFacts) -> bool,
    mut sink: impl FnMut(&ToolCall, Option<Timestamp>),
) -> io::Result<()> {
    let has_one =
        |placed: &&MessageEntry| placed.owned && placed.facts.tools.iter().any(&is_wanted);
    let wanted: Vec<&MessageEntry> = assembled.listed().filter(has_one).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let is_result = |placed: &MessageEntry| placed.facts.kind == MessageKind::ToolResult;
    // The results may be in other messages.
    let is_apart = assembled.is_history || assembled.listed().any(is_result);
    let messages = if is_apart {
        reader.excerpt(assembled, &wanted)?
    } else {
        reader.messages(assembled, &wanted, &|_| None)?
    };
    let mut seen: HashSet<String> = HashSet::new();
    for (placed, message) in wanted.iter().zip(&messages) {
        for (n, call) in message.tool_calls.iter().enumerate() {
            let key =
                if call.id.is_empty() { format!("{}#{n}", message.id) } else { call.id.clone() };
            let at = call.at.or(message.at);
            let is_inside = at.map_or(period.is_everything(), |at| period.contains(at));
            // The facts describe the same list, unless the file has changed in the meantime.
            let is_wanted = placed.facts.tools.get(n).is_some_and(&is_wanted);
            if is_wanted && is_inside && seen.insert(key) {
                sink(call, at);
            }
        }
    }
    Ok(())
}
