//! Reads events about tools: the end of a command, the files that a patch changed, the start of an agent.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{patch, request};
use crate::agent::codex::format::Object;
use crate::facts::ToolFacts;
use crate::model::ToolStatus;
use crate::read::json::Raw;
use crate::tools;

/// The facts about a tool call that an event records.
#[derive(Debug)]
pub(crate) struct Activity {
    /// The id of the call.
    pub(crate) id: String,
    name: String,
    /// The exit code of the command.
    pub(super) exit_code: Option<i32>,
    /// Whether the call succeeded, if the event records it.
    pub(super) status: Option<ToolStatus>,
    /// The numbers of lines added and removed.
    pub(super) lines: Option<(u64, u64)>,
    /// The thread of the agent that the call started.
    pub(super) agent: Option<String>,
    /// Whether a person ran it, not the model.
    is_typed: bool,
}

impl Activity {
    /// Reads an event, or the item in one. Returns `None` if it is not about a tool.
    pub(crate) fn read(event: &Object<'_>) -> Option<Self> {
        let kind = event.text("type")?;
        let name = match &*kind {
            "exec_command_end" | "CommandExecution" => "exec_command".to_owned(),
            "patch_apply_end" | "FileChange" => "apply_patch".to_owned(),
            "view_image_tool_call" | "ImageView" => "view_image".to_owned(),
            "web_search_end" | "WebSearch" => "web_search".to_owned(),
            "mcp_tool_call_end" | "McpToolCall" => mcp_name(event),
            "collab_agent_spawn_end" | "sub_agent_activity" | "SubAgentActivity" => {
                "spawn_agent".to_owned()
            }
            _ => return None,
        };
        let id = event.owned("call_id").or_else(|| event.owned("id"))?;
        let exit_code = event.get("exit_code").and_then(|code| code.get().parse().ok());
        Some(Self {
            id,
            name,
            exit_code,
            status: status(event),
            lines: event.get("changes").map(patch::changed),
            agent: event.owned("agent_thread_id").or_else(|| event.owned("new_thread_id")),
            is_typed: event.text("source").as_deref() == Some("user_shell"),
        })
    }

    /// Adds the facts of the event to a call.
    pub(crate) fn complete(&self, tool: &mut ToolFacts) {
        if let Some(status) = self.status {
            tool.status = status;
        }
        tool.status = tool.status.with_exit_code(self.exit_code);
        tool.lines = self.lines.or(tool.lines);
        if let Some(agent) = &self.agent {
            tool.agent_id = Some(agent.as_str().into());
        }
    }

    /// Returns a call that only the event records; `None` if it is not a call of the model.
    pub(crate) fn tool(&self) -> Option<ToolFacts> {
        if self.is_typed || self.name == "spawn_agent" {
            return None;
        }
        let status = self.status.unwrap_or(ToolStatus::Success).with_exit_code(self.exit_code);
        Some(ToolFacts {
            id: Some(self.id.as_str().into()),
            agent_id: None,
            status,
            server: tools::server(&self.name, None).map(Into::into),
            at: None,
            lines: self.lines,
            name: self.name.as_str().into(),
        })
    }

    /// Returns the name of the tool.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Returns the arguments of a call that only an event records.
pub(super) fn arguments(event: &Object<'_>) -> Option<Box<RawValue>> {
    let value = |name: &str| event.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok());
    let object: Value = if let Some(command) = value("command") {
        let command: Value = command;
        json!({ "command": command })
    } else if let Some(changes) = value("changes") {
        let changes: Value = changes;
        let paths: Vec<&String> = changes.as_object()?.keys().collect();
        json!({ "paths": paths, "changes": changes })
    } else if let Some(arguments) = value("arguments") {
        arguments
    } else if let Some(path) = event.text("path") {
        json!({ "path": path.strip_prefix("file://").unwrap_or(&path) })
    } else {
        json!({ "query": event.text("query")? })
    };
    request::written(object)
}

/// Returns the output of a call that only an event records.
pub(super) fn output(event: &Object<'_>) -> Option<String> {
    let text = event.text("aggregated_output").or_else(|| event.text("stdout"));
    text.map(std::borrow::Cow::into_owned).or_else(|| event.get("result").map(words))
}

fn words(raw: Raw<'_>) -> String {
    let result = Object::of(raw);
    let texts = result.texts("content");
    if texts.is_empty() { raw.get().to_owned() } else { texts.join("\n") }
}

fn mcp_name(event: &Object<'_>) -> String {
    let invocation = event.object("invocation");
    let text =
        |name: &str| event.owned(name).or_else(|| invocation.owned(name)).unwrap_or_default();
    format!("mcp__{}__{}", text("server"), text("tool"))
}

fn status(event: &Object<'_>) -> Option<ToolStatus> {
    match event.text("status").as_deref() {
        Some("completed") => Some(ToolStatus::Success),
        Some("failed") => Some(ToolStatus::Error),
        Some("declined") => Some(ToolStatus::Cancelled),
        _ => None,
    }
}
