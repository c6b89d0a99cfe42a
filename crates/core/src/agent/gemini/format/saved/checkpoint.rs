//! Converts histories to messages.
//!
//! `/chat save`, `/chat share`, restore points and the oldest session files contain the model's own
//! `Content` list: entries of `{role, parts}` without ids, times or tokens.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::agent::gemini::text::prompt;
use crate::agent::gemini::text::tool_call;
use crate::model::{ToolCall, ToolStatus};
use crate::read::json::{self, Raw};

/// Returns the turns of a history as session messages, skipping everything that is not a turn.
pub(crate) fn as_messages(turns: &[Raw<'_>]) -> Vec<String> {
    let mut messages: Vec<Turn<'_>> = Vec::new();
    for turn in turns {
        let (mut role, mut parts) = (None, None);
        let _ = json::each_field(turn.get(), |key, value| match &*key {
            b"role" => role = json::string(value),
            b"parts" => parts = Some(value),
            _ => {}
        });
        let Some(role) = role else { continue };
        let is_user = role == "user";
        let list = parts.filter(|parts| parts.get().starts_with('['));
        let mut parts = list.map(|list| json::elements(list.get())).unwrap_or_default();
        // The history merges injected context with the prompt that follows it.
        if is_user && parts.len() > 1 && is_context(parts[0]) {
            let context = parts.remove(0);
            messages.push(Turn { is_user, parts: vec![context], functions: Vec::new() });
        }
        let read = if is_user { tool_call::answers } else { tool_call::requested };
        let functions = list.map(read).unwrap_or_default();
        messages.push(Turn { is_user, parts, functions });
    }
    finish_calls(&mut messages);
    messages.iter().enumerate().map(|(n, turn)| turn.message(n + 1)).collect()
}

struct Turn<'a> {
    is_user: bool,
    parts: Vec<Raw<'a>>,
    /// The tool calls that the model requests in it, or the answers to them.
    functions: Vec<ToolCall>,
}

impl Turn<'_> {
    fn message(&self, id: usize) -> String {
        let kind = if self.is_user { "user" } else { "gemini" };
        let calls = if self.is_user { &[][..] } else { &self.functions };
        let calls: Vec<Recorded<'_>> = calls.iter().map(Recorded::new).collect();
        let calls = match serde_json::to_string(&calls) {
            Ok(list) if !calls.is_empty() => format!(r#","toolCalls":{list}"#),
            _ => String::new(),
        };
        let parts: Vec<&str> = self.parts.iter().map(|part| part.get()).collect();
        let parts = parts.join(",");
        format!(r#"{{"id":"{id}","type":"{kind}","content":[{parts}]{calls}}}"#)
    }
}

/// Gives each call the status of its answer in a later turn.
fn finish_calls(turns: &mut [Turn<'_>]) {
    let mut open: HashMap<String, VecDeque<(usize, usize)>> = HashMap::new();
    for at in 0..turns.len() {
        let is_user = turns[at].is_user;
        for n in 0..turns[at].functions.len() {
            let function = &turns[at].functions[n];
            let (id, name, status) = (function.id.as_str(), &*function.name.name, function.status);
            let has_open = |key: &str| open.get(key).is_some_and(|calls| !calls.is_empty());
            let key = if id.is_empty() || (is_user && !has_open(id)) { name } else { id };
            let calls = open.entry(key.to_owned()).or_default();
            if !is_user {
                calls.push_back((at, n));
            } else if let Some((turn, call)) = calls.pop_front() {
                turns[turn].functions[call].status = status;
            }
        }
    }
}

/// A call as recorded in session files; its outcome is in a separate message.
#[derive(Serialize)]
struct Recorded<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a RawValue>,
}

impl<'a> Recorded<'a> {
    fn new(call: &'a ToolCall) -> Self {
        Self {
            name: &call.name.name,
            id: Some(call.id.as_str()).filter(|id| !id.is_empty()),
            status: (call.status != ToolStatus::Unfinished).then(|| call.status.name()),
            args: call.args.as_deref(),
        }
    }
}

fn is_context(part: Raw<'_>) -> bool {
    let text = prompt::text(part);
    text.starts_with("<session_context>")
        || text.starts_with("This is the Gemini CLI. We are setting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_status_of_their_answers() {
        let turns = r#"[
            {"role":"model","parts":[{"functionCall":{"name":"a","args":{"x":1}}},{"functionCall":{"name":"a"}},
                {"functionCall":{"name":"b","id":"i"}},{"functionCall":{"name":"c"}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"b","id":"i","response":{"error":"no"}}},
                {"functionResponse":{"name":"a","response":{"content":{"error":"no"}}}},
                {"functionResponse":{"name":"a","response":{"output":"yes"}}}]}]"#;
        let messages = as_messages(&json::elements(turns));
        let calls = messages[0].split_once(r#""toolCalls":"#).unwrap().1;
        assert_eq!(
            calls,
            r#"[{"name":"a","status":"error","args":{"x":1}},{"name":"a","status":"success"},{"name":"b","id":"i","status":"error"},{"name":"c"}]}"#
        );
        assert!(!messages[1].contains("toolCalls"));
    }
}
