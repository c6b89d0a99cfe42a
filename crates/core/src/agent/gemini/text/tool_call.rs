//! Reads tool calls as Gemini CLI records them.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::gemini::format::record::ToolCallFields;
use crate::agent::gemini::views::facts::time;
use crate::model::{SessionId, ToolCall, ToolStatus};
use crate::read::json::{self, Raw};
use crate::tools::{self, tool_name};

/// Converts a recorded call with its outcome.
pub(crate) fn recorded(call: &ToolCallFields<'_>) -> ToolCall {
    let text = |raw: Option<Raw<'_>>| raw.and_then(json::string).map(std::borrow::Cow::into_owned);
    let display_name = text(call.display_name);
    let name = text(call.name).unwrap_or_default();
    let id = text(call.id).unwrap_or_default();
    let (output, error) = call.result.map(|result| response(result, &id)).unwrap_or_default();
    let (added, removed) = call.result_display.and_then(lines_changed).unzip();
    ToolCall {
        id: id.into(),
        name: tool_name(&name, display_name.as_deref()),
        display_name,
        description: text(call.description).filter(|text| !text.is_empty()),
        args: call.args.and_then(arguments),
        status: status(text(call.status).as_deref(), error.is_some()),
        recorded: true,
        at: call.timestamp.and_then(time),
        exit_code: output
            .as_deref()
            .or(error.as_deref())
            .filter(|_| tools::runs_commands(&name))
            .and_then(exit_code),
        output,
        error,
        result_display: call.result_display.filter(|r| r.get() != "null").map(Raw::boxed),
        markdown: call.markdown.is_some_and(json::is_truthy),
        lines_added: added,
        lines_removed: removed,
        agent_session: text(call.agent_id).map(SessionId::from),
        is_powershell: false,
    }
}

/// Returns the arguments as an object; some writers put it into a string.
fn arguments(raw: Raw<'_>) -> Option<Box<RawValue>> {
    let inside = json::string(raw).filter(|text| text.trim_start().starts_with('{'));
    let inside = inside.and_then(|text| RawValue::from_string(text.trim().to_owned()).ok());
    inside.or_else(|| (raw.get() != "null").then(|| raw.boxed()))
}

pub(crate) fn status(recorded: Option<&str>, has_error: bool) -> ToolStatus {
    match recorded {
        Some("success") => ToolStatus::Success,
        Some("error") => ToolStatus::Error,
        Some("cancelled") => ToolStatus::Cancelled,
        None if has_error => ToolStatus::Error,
        _ => ToolStatus::Unfinished,
    }
}

/// Returns the function calls in a content, which are all that a history has of them.
pub(crate) fn requested(content: Raw<'_>) -> Vec<ToolCall> {
    functions(content, b"functionCall", |call, function| {
        json::each_field(function, |key, value| {
            if *key == *b"args" {
                call.args = arguments(value);
            }
        })
        .is_ok()
    })
}

/// Returns the function responses in a content, as calls of which only the outcome is known.
pub(crate) fn answers(content: Raw<'_>) -> Vec<ToolCall> {
    functions(content, b"functionResponse", |call, function| {
        let (output, error) = function_response(function);
        call.status = if error.is_some() { ToolStatus::Error } else { ToolStatus::Success };
        call.exit_code =
            output.as_deref().filter(|_| tools::runs_commands(&call.name.name)).and_then(exit_code);
        (call.output, call.error) = (output, error);
        true
    })
}

fn functions(
    content: Raw<'_>,
    key: &[u8],
    fill: impl Fn(&mut ToolCall, &str) -> bool,
) -> Vec<ToolCall> {
    if !content.get().starts_with('[') {
        return Vec::new();
    }
    let mut out = Vec::new();
    for part in json::elements(content.get()) {
        let mut function = None;
        let _ = json::each_field(part.get(), |name, value| {
            if *name == *key && value.get().starts_with('{') {
                function = Some(value);
            }
        });
        let Some(function) = function else { continue };
        let (mut id, mut name) = (String::new(), String::new());
        let _ = json::each_field(function.get(), |key, value| match &*key {
            b"id" => id = json::string(value).unwrap_or_default().into_owned(),
            b"name" => name = json::string(value).unwrap_or_default().into_owned(),
            _ => {}
        });
        let mut call = ToolCall::new(id.into(), tool_name(&name, None));
        if fill(&mut call, function.get()) {
            out.push(call);
        }
    }
    out
}

/// Returns the output and error of a result, which is a list of parts that contains the function
/// response. After a resume, each call has the responses to all calls of its message, so the
/// response is selected by its id.
fn response(result: Raw<'_>, id: &str) -> (Option<String>, Option<String>) {
    let mut parts = match result.get().as_bytes().first() {
        Some(b'[') => json::elements(result.get()),
        Some(b'{') => vec![result],
        _ => Vec::new(),
    };
    let answered: Vec<Option<String>> = match parts.len() {
        0 | 1 => Vec::new(),
        _ => parts.iter().map(|part| answered(*part)).collect(),
    };
    if answered.iter().any(|answered| answered.as_deref() == Some(id)) {
        let mut answered = answered.iter();
        parts.retain(|_| answered.next().is_none_or(|a| a.as_deref().is_none_or(|a| a == id)));
    }
    let (mut output, mut error) = (None, None);
    for part in parts {
        let _ = json::each_field(part.get(), |key, value| match &*key {
            b"functionResponse" if value.get().starts_with('{') => {
                let (more_output, more_error) = function_response(value.get());
                append(&mut output, more_output);
                append(&mut error, more_error);
            }
            b"text" => append(&mut output, json::string(value).map(std::borrow::Cow::into_owned)),
            _ => {}
        });
    }
    (output, error)
}

/// Returns the id of the call that a part answers.
fn answered(part: Raw<'_>) -> Option<String> {
    let mut id = None;
    let _ = json::each_field(part.get(), |key, value| {
        if *key == *b"functionResponse" && value.get().starts_with('{') {
            let _ = json::each_field(value.get(), |key, value| {
                if *key == *b"id" {
                    id = json::string(value).map(std::borrow::Cow::into_owned);
                }
            });
        }
    });
    id
}

fn append(so_far: &mut Option<String>, more: Option<String>) {
    match (so_far.as_mut(), more) {
        (Some(text), Some(more)) => {
            text.push('\n');
            text.push_str(&more);
        }
        (None, more) => *so_far = more,
        (Some(_), None) => {}
    }
}

/// Reads `response.output` and `response.error`; older and other writers put either into `content`.
fn function_response(function: &str) -> (Option<String>, Option<String>) {
    let mut response = None;
    let _ = json::each_field(function, |key, value| {
        if *key == *b"response" {
            response = Some(value);
        }
    });
    let (mut output, mut error, mut content) = (None, None, None);
    let Some(response) = response else { return (None, None) };
    if !response.get().starts_with('{') {
        return (json::string(response).map(std::borrow::Cow::into_owned), None);
    }
    let _ = json::each_field(response.get(), |key, value| match &*key {
        b"output" => output = words(value),
        b"error" => error = words(value),
        b"content" => content = Some(value),
        _ => {}
    });
    if let Some(content) = content.filter(|_| output.is_none() && error.is_none()) {
        let mut inner_error = None;
        let _ = json::each_field(content.get(), |key, value| {
            if *key == *b"error" {
                inner_error = words(value);
            }
        });
        error = inner_error;
        if error.is_none() {
            output = words(content);
        }
    }
    (output, error)
}

/// Returns a string, or any other value as JSON.
fn words(raw: Raw<'_>) -> Option<String> {
    match raw.get() {
        "null" => None,
        text => {
            Some(json::string(raw).map_or_else(|| text.to_owned(), std::borrow::Cow::into_owned))
        }
    }
}

/// The text that precedes a command's exit code in its output.
const MARK: &str = "Exit Code: ";

/// Returns the exit code in the record of a call, decoding the output only if it contains one.
pub(crate) fn recorded_exit_code(call: &ToolCallFields<'_>, name: &str) -> Option<i32> {
    let result = call.result.filter(|_| tools::runs_commands(name))?;
    memchr::memmem::find(result.get().as_bytes(), MARK.as_bytes())?;
    let id = call.id.and_then(json::string).unwrap_or_default();
    let (output, error) = response(result, &id);
    output.as_deref().or(error.as_deref()).and_then(exit_code)
}

/// Returns the code of `Exit Code: 3`, if the output contains it.
fn exit_code(output: &str) -> Option<i32> {
    // The last one that begins a line. Searching forwards is many times faster.
    let bytes = output.as_bytes();
    let places = memchr::memmem::find_iter(bytes, MARK);
    let at = places.filter(|at| *at == 0 || bytes[at - 1] == b'\n').last()?;
    output[at + MARK.len()..].lines().next()?.trim().parse().ok()
}

/// Returns the path of the full text of an output that was cut.
pub(crate) fn full_output(output: &str) -> Option<&str> {
    let line = output.lines().next()?;
    let (_, path) = line.split_once("For full output see: ")?;
    Some(path.trim())
}

/// Returns the lines added and removed: Gemini CLI's own count, or else a count of the diff.
pub(crate) fn lines_changed(display: Raw<'_>) -> Option<(u64, u64)> {
    if !display.get().starts_with('{') {
        return None;
    }
    let (mut stat, mut diff) = (None, None);
    json::each_field(display.get(), |key, value| match &*key {
        b"diffStat" => stat = serde_json::from_str::<Value>(value.get()).ok(),
        b"fileDiff" => diff = json::string(value),
        _ => {}
    })
    .ok()?;
    if let Some(stat) = stat.filter(Value::is_object) {
        let sum = |keys: [&str; 2]| keys.iter().filter_map(|key| stat[*key].as_u64()).sum();
        return Some((
            sum(["model_added_lines", "user_added_lines"]),
            sum(["model_removed_lines", "user_removed_lines"]),
        ));
    }
    let diff = diff?;
    let body = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let (mut added, mut removed) = (0, 0);
    for line in body {
        added += u64::from(line.starts_with('+'));
        removed += u64::from(line.starts_with('-'));
    }
    Some((added, removed))
}
