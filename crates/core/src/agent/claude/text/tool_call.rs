//! Reads tool calls as Claude Code records them.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agent::claude::format::content::Block;
use crate::facts::MessageFacts;
use crate::model::{SessionId, ToolCall, ToolStatus};
use crate::read::json::{self, Raw};
use crate::tools::tool_name;

/// Returns a call as requested. Its outcome is among the facts of its message.
pub(super) fn requested(
    id: &str,
    name: &str,
    input: Option<Raw<'_>>,
    facts: &MessageFacts,
) -> ToolCall {
    let known = facts.tools.iter().find(|tool| tool.id.as_deref() == Some(id));
    let (added, removed) = known.and_then(|tool| tool.lines).unzip();
    ToolCall {
        description: input.and_then(description),
        args: input.filter(|input| input.get() != "null").map(Raw::boxed),
        status: known.map_or(ToolStatus::Unfinished, |tool| tool.status),
        recorded: true,
        at: known.and_then(|tool| tool.at),
        lines_added: added,
        lines_removed: removed,
        agent_session: known.and_then(|tool| tool.agent_id.as_deref()).map(SessionId::from),
        ..call(id, name)
    }
}

/// Returns the results of tools, as calls with nothing but an outcome. `patch` is what one of them changed in
/// a file.
pub(super) fn answers(blocks: &[Block<'_>], patch: Option<Raw<'_>>) -> Vec<ToolCall> {
    let result_display = patch.and_then(diff);
    let answer = |block: &Block<'_>| match block {
        Block::ToolResult { id, is_error, content } => {
            let text = content.map(result_text).unwrap_or_default();
            let exit_code = exit_code(&text).filter(|_| *is_error);
            let (output, error) = if *is_error { (None, Some(text)) } else { (Some(text), None) };
            let status = if *is_error { ToolStatus::Error } else { ToolStatus::Success };
            let result_display = result_display.clone();
            Some(ToolCall { status, output, error, result_display, exit_code, ..call(id, "") })
        }
        _ => None,
    };
    blocks.iter().filter_map(answer).collect()
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id.into(), tool_name(name, None))
}

fn description(input: Raw<'_>) -> Option<String> {
    let mut found = None;
    json::each_field(input.get(), |key, value| {
        if &*key == b"description" {
            found = json::string(value).map(std::borrow::Cow::into_owned);
        }
    })
    .ok()?;
    found.filter(|text| !text.is_empty())
}

/// Returns a list of changed passages as a unified diff, in the form in which tool calls display one.
fn diff(patch: Raw<'_>) -> Option<Box<RawValue>> {
    let hunks: Vec<Hunk> = serde_json::from_str(patch.get()).ok()?;
    let mut text = String::new();
    for Hunk { old_start, old_lines, new_start, new_lines, lines } in &hunks {
        let _ = writeln!(text, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    let is_empty = text.is_empty();
    let shown = serde_json::json!({ "fileDiff": text }).to_string();
    (!is_empty).then(|| RawValue::from_string(shown).ok()).flatten()
}

/// One changed passage of a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
    lines: Vec<String>,
}

/// Returns the text of a result: a string, or the texts among its blocks.
fn result_text(content: Raw<'_>) -> String {
    if let Some(text) = json::string(content) {
        return text.into_owned();
    }
    let mut texts = Vec::new();
    for block in json::elements(content.get()) {
        let _ = json::each_field(block.get(), |key, value| match &*key {
            b"text" => texts.extend(json::string(value)),
            b"source" => texts.push("[image]".into()),
            _ => {}
        });
    }
    texts.join("\n")
}

/// Returns the exit code at the beginning of a failed command's result.
fn exit_code(text: &str) -> Option<i32> {
    text.strip_prefix("Exit code ")?.lines().next()?.trim().parse().ok()
}

/// Returns the path of the full text of a truncated output.
pub(super) fn full_output(output: &str) -> Option<&str> {
    let rest = output.trim_start().strip_prefix("<persisted-output>")?;
    let (_, path) = rest.split_once("Full output saved to: ")?;
    path.lines().next().map(str::trim)
}
