//! Reads tool calls as the model requested them.

use serde_json::Value;
use serde_json::value::RawValue;

use super::patch;
use crate::agent::codex::format::Object;
use crate::facts::ToolFacts;
use crate::model::ToolStatus;
use crate::tools;

/// A requested call.
#[derive(Debug)]
pub(crate) struct Request {
    /// The facts of the call.
    pub(crate) facts: ToolFacts,
    /// Whether it runs a script, whose commands are recorded separately.
    pub(crate) is_script: bool,
}

/// Reads the item of a call.
pub(crate) fn requested(item: &Object<'_>) -> Request {
    let kind = item.text("type").unwrap_or_default();
    let mut name = name(item, &kind);
    let is_script = kind == "custom_tool_call" && name == "exec";
    let patch = if is_script { None } else { patch(item, &name) };
    if patch.is_some() {
        PATCH.clone_into(&mut name);
    }
    let lines = patch.map(|patch| patch::lines(&patch));
    // A search by the vendor has no separate output.
    let is_done = !item.has("call_id") && item.text("status").as_deref() == Some("completed");
    Request {
        facts: ToolFacts {
            id: id(item).map(Into::into),
            agent_id: None,
            status: if is_done { ToolStatus::Success } else { ToolStatus::Unfinished },
            server: tools::server(&name, None).map(Into::into),
            at: None,
            lines,
            name: name.into(),
        },
        is_script,
    }
}

/// The tool that applies a patch.
const PATCH: &str = "apply_patch";

/// Returns the patch that a call of a tool applies: a tool of its own, or a command that does nothing else.
fn patch(item: &Object<'_>, name: &str) -> Option<String> {
    if name == PATCH
        && let Some(input) = item.owned("input")
    {
        return Some(input);
    }
    let arguments = item.text("arguments");
    let written = arguments.as_deref().or_else(|| Some(item.get("action")?.get()));
    let object: Value = serde_json::from_str(written.filter(|text| patch::is_in(text))?).ok()?;
    if name == PATCH {
        return object.get("input").and_then(Value::as_str).map(str::to_owned);
    }
    let command = object.get("command").or_else(|| object.get("cmd"))?;
    let line = command_line(command).or_else(|| command.as_str().map(str::to_owned))?;
    patch::in_command(&line).map(str::to_owned)
}

/// Returns the id of a call.
pub(super) fn id(item: &Object<'_>) -> Option<String> {
    item.owned("call_id").or_else(|| item.owned("id"))
}

/// Returns the name of the tool that an item of the type `kind` calls.
fn name(item: &Object<'_>, kind: &str) -> String {
    let Some(name) = item.owned("name") else {
        return kind.strip_suffix("_call").unwrap_or(kind).to_owned();
    };
    match item.text("namespace") {
        Some(server) if server.starts_with("mcp__") => {
            format!("{}__{name}", server.trim_end_matches('_'))
        }
        _ => name,
    }
}

/// Returns the arguments of a call as an object. A command that is a list of words becomes one line.
pub(super) fn arguments(item: &Object<'_>) -> Option<Box<RawValue>> {
    let kind = item.text("type").unwrap_or_default();
    if kind != "custom_tool_call"
        && let Some(patch) = patch(item, &name(item, &kind))
    {
        return written(serde_json::json!({ "input": patch }));
    }
    let text = item.text("arguments").map(std::borrow::Cow::into_owned);
    let object = match (text, item.text("input"), item.get("action").or(item.get("arguments"))) {
        (Some(text), ..) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        (None, Some(input), _) => serde_json::json!({ "input": input }),
        (None, None, Some(action)) => serde_json::from_str(action.get()).ok()?,
        _ => return None,
    };
    written(object)
}

/// Returns the arguments as shown, with commands on one line and the files of a patch.
pub(super) fn written(mut object: Value) -> Option<Box<RawValue>> {
    let paths = object.get("input").and_then(Value::as_str).map(patch::paths).unwrap_or_default();
    if let Some(object) = object.as_object_mut().filter(|_| !paths.is_empty()) {
        object.insert("paths".to_owned(), paths.into());
    }
    if let Some(command) = object.get_mut("command")
        && let Some(line) = command_line(command)
    {
        *command = Value::String(line);
    }
    RawValue::from_string(object.to_string()).ok()
}

/// Joins a command that is a list of words: the script passed to a shell, otherwise all words.
fn command_line(command: &Value) -> Option<String> {
    let words: Vec<&str> = command.as_array()?.iter().filter_map(Value::as_str).collect();
    Some(match words.as_slice() {
        [_, "-lc" | "-c", script] => (*script).to_owned(),
        words => words.join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_however_it_is_applied() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n+c\n*** End Patch";
        let shell = |command: Value| serde_json::json!({ "command": command }).to_string();
        let here = format!("apply_patch <<'EOF'\n{patch}\nEOF\n");
        let calls = [
            serde_json::json!({ "type": "custom_tool_call", "name": "apply_patch", "input": patch }),
            serde_json::json!({ "type": "function_call", "name": "apply_patch",
                "arguments": serde_json::json!({ "input": patch }).to_string() }),
            serde_json::json!({ "type": "function_call", "name": "shell",
                "arguments": shell(serde_json::json!(["bash", "-lc", here])) }),
            serde_json::json!({ "type": "function_call", "name": "shell",
                "arguments": shell(serde_json::json!(["apply_patch", patch])) }),
            serde_json::json!({ "type": "function_call", "name": "shell_command",
                "arguments": shell(serde_json::json!(here)) }),
        ];
        for call in calls {
            let text = call.to_string();
            let item = Object::read(&text).unwrap();
            let facts = requested(&item).facts;
            assert_eq!((&*facts.name, facts.lines), ("apply_patch", Some((2, 1))), "{call}");
            let arguments: Value = serde_json::from_str(arguments(&item).unwrap().get()).unwrap();
            assert_eq!(arguments["paths"], serde_json::json!(["a.rs"]), "{call}");
        }
        let text = serde_json::json!({ "type": "function_call", "name": "shell",
            "arguments": shell(serde_json::json!(["cat", patch])) });
        let text = text.to_string();
        let facts = requested(&Object::read(&text).unwrap()).facts;
        assert_eq!((&*facts.name, facts.lines), ("shell", None));
    }
}
