//! Extracts what a person typed in a session, and the commands, files and failures of its tools.
//!
//! Most of it is only in the text of messages, which is read once per session; the archive stores
//! the result for reports.

use std::collections::{HashMap, HashSet};
use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::assemble::{MessageEntry, SessionFacts};
use crate::content::Reader;
use crate::facts::ToolFacts;
use crate::model::{MessageId, MessageKind, ToolCall, ToolCallId, ToolStatus};
use crate::shell::{self, SimpleCommand};
use crate::tools::tool_name;

/// The typed texts, commands, files and failures of a session, in the order of its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Everything that a person typed.
    pub prompts: Vec<TypedText>,
    /// The command lines that shell tools ran.
    pub lines: Vec<CommandLine>,
    /// The simple commands of these lines.
    pub runs: Vec<Run>,
    /// The files that file tools used.
    pub files: Vec<FileAccess>,
    /// The tool calls that failed.
    pub failures: Vec<FailedCall>,
}

/// A prompt, slash command or shell escape as it was typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedText {
    /// The id of its message.
    pub message: MessageId,
    /// The time of the message.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The text without space around it; never empty.
    pub text: String,
}

/// One call of a shell tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The whole command line.
    pub text: String,
    /// Its outcome; a command with an exit code other than 0 has failed.
    pub status: ToolStatus,
    /// The exit code, if it is recorded.
    pub exit_code: Option<i32>,
}

/// One use of a file by a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The path as the call names it.
    pub path: String,
    /// The tool's common name: `Read`, `Edit`, …
    pub tool: String,
    /// Whether the tool changes files.
    pub is_change: bool,
    /// Whether the call failed.
    pub has_failed: bool,
    /// The lines that the whole call added and removed.
    pub lines: Option<(u64, u64)>,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// Whether the call failed or ended with an exit code other than 0.
    pub failed: bool,
    /// The program.
    pub program: String,
    /// The whole simple command.
    pub text: String,
}

/// A tool call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The recorded name of the tool.
    pub tool: String,
    /// The first line of the error.
    pub error: String,
}

impl Activity {
    /// Reads the activity of a session.
    pub fn read(session: &SessionFacts, reader: Reader<'_>) -> io::Result<Self> {
        let escapes = shell_escapes(session, reader)?;
        let mut out = Self { prompts: typed(session, &escapes), ..Self::default() };
        out.tool_calls(session, reader)?;
        Ok(out)
    }

    /// Returns only the prompts and slash commands, which are known without the text.
    pub fn without_text(session: &SessionFacts) -> Self {
        Self { prompts: typed(session, &HashMap::new()), ..Self::default() }
    }

    /// Adds the commands, files and failures of tool calls.
    fn tool_calls(&mut self, session: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let is_wanted =
            |tool: &ToolFacts| has_failed(tool) || is_shell(&tool.name) || is_file_tool(&tool.name);
        each_tool_call(session, reader, is_wanted, |call, tool, at| {
            if is_shell(&tool.name) {
                self.command_line(call, at);
            }
            self.files.extend(file_accesses(call, at));
            if has_failed(tool) {
                let tool = call.name.name.clone();
                self.failures.push(FailedCall { at, tool, error: first_line(call) });
            }
        })
    }

    fn command_line(&mut self, call: &ToolCall, at: Option<Timestamp>) {
        let failed = call.has_failed();
        let run = |command| {
            let SimpleCommand { program, text } = command;
            Run { at, failed, program, text }
        };
        self.runs.extend(simple_commands(call).into_iter().map(run));
        let status = call.status.with_exit_code(call.exit_code);
        let line = |text| CommandLine { at, text, status, exit_code: call.exit_code };
        self.lines.extend(command_text(call).map(line));
    }
}

/// Reads the tool calls of a session that are wanted and passes each to `sink` with its facts and its time,
/// once, however often it was recorded.
pub(crate) fn each_tool_call(
    session: &SessionFacts,
    reader: Reader<'_>,
    is_wanted: impl Fn(&ToolFacts) -> bool,
    mut sink: impl FnMut(&ToolCall, &ToolFacts, Option<Timestamp>),
) -> io::Result<()> {
    let has_one = |entry: &&MessageEntry| entry.owned && entry.facts.tools.iter().any(&is_wanted);
    let wanted: Vec<&MessageEntry> = session.listed().filter(has_one).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    // The results may be in other messages.
    let is_result = |entry: &MessageEntry| entry.facts.kind == MessageKind::ToolResult;
    let is_apart = session.is_history || session.listed().any(is_result);
    let messages = if is_apart {
        reader.excerpt(session, &wanted)?
    } else {
        reader.messages(session, &wanted, &|_| None)?
    };
    let mut seen: HashSet<ToolCallId> = HashSet::new();
    for (entry, message) in wanted.iter().zip(&messages) {
        // The facts describe the same list, unless the file has changed in the meantime.
        for (n, (call, tool)) in message.tool_calls.iter().zip(&entry.facts.tools).enumerate() {
            let key = if call.id.is_empty() {
                format!("{}#{n}", message.id).into()
            } else {
                call.id.clone()
            };
            if is_wanted(tool) && seen.insert(key) {
                sink(call, tool, call.at.or(message.at));
            }
        }
    }
    Ok(())
}

fn has_failed(tool: &ToolFacts) -> bool {
    tool.status == ToolStatus::Error
}

/// Returns everything that was typed, with the commands of shell escapes by message.
fn typed(session: &SessionFacts, escapes: &HashMap<MessageId, String>) -> Vec<TypedText> {
    let text = |entry: &MessageEntry| {
        let facts = &entry.facts;
        let text = match facts.kind {
            MessageKind::Prompt | MessageKind::Slash => facts.typed.as_deref(),
            MessageKind::Shell => {
                facts.typed.as_deref().or(escapes.get(&facts.id).map(String::as_str))
            }
            _ => None,
        };
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        Some(TypedText { message: facts.id.clone(), at: facts.at, text: text.to_owned() })
    };
    session.listed().filter(|entry| !entry.facts.is_inherited).filter_map(text).collect()
}

/// Returns the commands typed with `!`, by message, where only the text of the message contains them.
fn shell_escapes(
    session: &SessionFacts,
    reader: Reader<'_>,
) -> io::Result<HashMap<MessageId, String>> {
    let is_escape = |entry: &&MessageEntry| {
        entry.facts.kind == MessageKind::Shell && entry.facts.typed.is_none()
    };
    let wanted: Vec<&MessageEntry> = session.listed().filter(is_escape).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let messages = reader.excerpt(session, &wanted)?.into_iter();
    Ok(messages.filter_map(|m| Some((m.id, fenced(&m.text)?.to_owned()))).collect())
}

/// Returns the content of the first fence in a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, fenced) = text.split_once("```")?;
    let (_, inside) = fenced.split_once('\n')?;
    let end = inside.find("\n```").unwrap_or(inside.len());
    Some(inside[..end].trim())
}

/// Returns the first line of an error that is not empty, cut to a readable length.
fn first_line(call: &ToolCall) -> String {
    const LONGEST: usize = 200;
    if let Some(code) = call.exit_code.filter(|_| call.status != ToolStatus::Error) {
        return format!("exit code {code}");
    }
    let text = call.error.as_deref().or(call.output.as_deref()).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("no text").chars().take(LONGEST).collect()
}

pub(crate) fn is_shell(name: &str) -> bool {
    let tool = tool_name(name, None);
    tool.canonical == "shell_exec" && !name.contains("background")
}

/// Returns the simple commands that a shell call ran.
pub fn simple_commands(call: &ToolCall) -> Vec<SimpleCommand> {
    let Some(text) = command_text(call) else { return Vec::new() };
    if call.is_powershell { shell::split_powershell(&text) } else { shell::split(&text) }
}

/// Returns the command line of a shell call: `command` or `cmd`, in an object or in a string that
/// encodes one.
pub(crate) fn command_text(call: &ToolCall) -> Option<String> {
    if !is_shell(&call.name.name) {
        return None;
    }
    argument(call.args.as_deref()?)
}

fn argument(args: &RawValue) -> Option<String> {
    let args = object(args)?;
    let text = args.get("command").or_else(|| args.get("cmd"))?;
    text.as_str().map(str::to_owned)
}

/// Returns the arguments of a call, which may be a string that encodes them.
fn object(args: &RawValue) -> Option<Value> {
    let value: Value = serde_json::from_str(args.get()).ok()?;
    match &value {
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => Some(value),
    }
}

/// The arguments that name a file.
const PATHS: [&str; 6] =
    ["file_path", "absolute_path", "path", "target_file", "notebook_path", "paths"];

/// Returns whether a tool reads or changes files.
pub(crate) fn is_file_tool(name: &str) -> bool {
    let canonical = tool_name(name, None).canonical;
    matches!(canonical, "file_read" | "file_write" | "file_edit" | "file_delete")
}

/// Returns the uses of files by a call; none if it does not use files or was only requested.
pub(crate) fn file_accesses(call: &ToolCall, at: Option<Timestamp>) -> Vec<FileAccess> {
    if !is_file_tool(&call.name.name) || call.status == ToolStatus::Cancelled {
        return Vec::new();
    }
    let access = |path| FileAccess {
        at,
        path,
        tool: call.name.label.clone(),
        is_change: call.name.canonical != "file_read",
        has_failed: call.has_failed(),
        lines: call.lines_added.zip(call.lines_removed),
    };
    paths(call).into_iter().map(access).collect()
}

/// Returns the paths that a call names.
fn paths(call: &ToolCall) -> Vec<String> {
    let args = call.args.as_deref().and_then(object).unwrap_or_default();
    let named = |name: &&str| match args.get(name)? {
        Value::String(path) => Some(vec![path.clone()]),
        Value::Array(paths) => {
            Some(paths.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => None,
    };
    let mut found: Vec<String> = PATHS.iter().find_map(named).unwrap_or_default();
    found.retain(|path| !path.is_empty());
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn the_command_of_a_shell_escape() {
        let text = "I ran the following shell command:\n```sh\ngit log\n```\n\nThis produced the following result:\n```\nx\n```";
        assert_eq!(fenced(text), Some("git log"));
        assert_eq!(fenced("nothing"), None);
    }
}
