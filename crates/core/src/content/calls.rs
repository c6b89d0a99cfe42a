//! Joins tool calls whose request and outcome are in different messages, or in several.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::assemble::MessageEntry;
use crate::model::{Message, MessageKind, ToolCall, ToolCallId, ToolStatus};

/// Removes calls that one message records and the content of another only requests again. After a
/// cancel, the model's history contains both.
pub(super) fn drop_repeated(
    wanted: &[&MessageEntry],
    among: &[&MessageEntry],
    messages: &mut [Message],
) {
    let recorded: HashSet<&ToolCallId> = among
        .iter()
        .flat_map(|entry| &entry.facts.tools)
        .filter_map(|tool| tool.id.as_ref())
        .collect();
    for (entry, message) in wanted.iter().zip(messages) {
        if entry.facts.tools.is_empty() {
            message.tool_calls.retain(|call| !recorded.contains(&call.id));
        }
    }
}

/// Gives calls that were recorded without a result (in histories) the answers that follow them.
pub(super) fn answer(messages: &mut [Message]) {
    let mut open = OpenCalls::default();
    for at in 0..messages.len() {
        if messages[at].kind == MessageKind::ToolResult {
            for answer in std::mem::take(&mut messages[at].tool_calls) {
                if let Some((message, call)) = open.take(&answer) {
                    fill(&mut messages[message].tool_calls[call], answer);
                }
            }
            continue;
        }
        for (n, call) in messages[at].tool_calls.iter().enumerate() {
            if call.output.is_none() && call.error.is_none() {
                open.push(call, (at, n));
            }
        }
    }
}

/// Calls that wait for their answers, as the message and the place in it.
#[derive(Default)]
struct OpenCalls {
    by_id: HashMap<ToolCallId, VecDeque<(usize, usize)>>,
    /// Calls without an id.
    by_name: HashMap<String, VecDeque<(usize, usize)>>,
}

impl OpenCalls {
    fn push(&mut self, call: &ToolCall, place: (usize, usize)) {
        let calls = match call.id.as_str() {
            "" => self.by_name.entry(call.name.name.clone()).or_default(),
            _ => self.by_id.entry(call.id.clone()).or_default(),
        };
        calls.push_back(place);
    }

    /// Takes the first call that an answer may belong to.
    fn take(&mut self, answer: &ToolCall) -> Option<(usize, usize)> {
        let by_id = self.by_id.get_mut(&answer.id);
        let by_name = self.by_name.get_mut(&answer.name.name);
        let first = |calls: &Option<&mut VecDeque<_>>| calls.as_ref()?.front().copied();
        match (first(&by_id), first(&by_name)) {
            (Some(id), Some(name)) if name < id => by_name?.pop_front(),
            (Some(_), _) => by_id?.pop_front(),
            (None, _) => by_name?.pop_front(),
        }
    }
}

fn fill(call: &mut ToolCall, answer: ToolCall) {
    if call.status == ToolStatus::Unfinished {
        call.status = answer.status;
    }
    call.output = answer.output;
    call.error = answer.error;
    call.exit_code = answer.exit_code;
    call.result_display = answer.result_display.or(call.result_display.take());
}
