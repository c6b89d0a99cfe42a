//! Extracts what a person typed in a session, and the commands and failures of its tools.
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
use crate::model::{MessageKind, ToolCall, ToolStatus};
use crate::shell::{self, SimpleCommand};
use crate::tools::tool_name;

/// The typed texts, commands and failures of a session, in the order of its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Everything that a person typed.
    pub prompts: Vec<TypedText>,
    /// The simple commands that shell tools ran.
    pub runs: Vec<Run>,
    /// The tool calls that failed.
    pub failures: Vec<FailedCall>,
}

/// A prompt, slash command or shell escape as it was typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedText {
    /// The id of its message.
    pub message: String,
    /// The time of the message.
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    /// The text without space around it; never empty.
    pub text: String,
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

    /// Adds the commands and failures of tool calls, each once, however often it was recorded.
    fn tool_calls(&mut self, session: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let is_wanted = |tool: &ToolFacts| has_failed(tool) || is_shell(&tool.name);
        let has_one =
            |entry: &&MessageEntry| entry.owned && entry.facts.tools.iter().any(is_wanted);
        let wanted: Vec<&MessageEntry> = session.listed().filter(has_one).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        // The results of failed calls may be in other messages.
        let is_result = |entry: &MessageEntry| entry.facts.kind == MessageKind::ToolResult;
        let any_failed = wanted.iter().any(|entry| entry.facts.tools.iter().any(has_failed));
        let is_apart = session.is_history || (any_failed && session.listed().any(is_result));
        let messages = if is_apart {
            reader.excerpt(session, &wanted)?
        } else {
            reader.messages(session, &wanted, &|_| None)?
        };
        let (mut run, mut failed) = (HashSet::new(), HashSet::new());
        for (entry, message) in wanted.iter().zip(&messages) {
            // The facts describe the same list, unless the file has changed in the meantime.
            for (n, (call, tool)) in message.tool_calls.iter().zip(&entry.facts.tools).enumerate() {
                let key = match call.id.as_str() {
                    "" => format!("{}#{n}", message.id),
                    id => id.to_owned(),
                };
                let at = call.at.or(message.at);
                if is_shell(&tool.name) && run.insert(key.clone()) {
                    self.run(call, at);
                }
                if has_failed(tool) && failed.insert(key) {
                    let tool = call.name.name.clone();
                    self.failures.push(FailedCall { at, tool, error: first_line(call) });
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, call: &ToolCall, at: Option<Timestamp>) {
        let failed = call.has_failed();
        let run = |command| {
            let SimpleCommand { program, text } = command;
            Run { at, failed, program, text }
        };
        self.runs.extend(simple_commands(call).into_iter().map(run));
    }
}

fn has_failed(tool: &ToolFacts) -> bool {
    tool.status == ToolStatus::Error
}

/// Returns everything that was typed, with the commands of shell escapes by message.
fn typed(session: &SessionFacts, escapes: &HashMap<String, String>) -> Vec<TypedText> {
    let text = |entry: &MessageEntry| {
        let facts = &entry.facts;
        let text = match facts.kind {
            MessageKind::Prompt | MessageKind::Slash => facts.typed.as_deref(),
            MessageKind::Shell => escapes.get(&facts.id).map(String::as_str),
            _ => None,
        };
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        Some(TypedText { message: facts.id.clone(), at: facts.at, text: text.to_owned() })
    };
    session.listed().filter(|entry| !entry.facts.is_inherited).filter_map(text).collect()
}

/// Returns the commands typed with `!`, by message; only the text of the message contains them.
fn shell_escapes(
    session: &SessionFacts,
    reader: Reader<'_>,
) -> io::Result<HashMap<String, String>> {
    let is_escape = |entry: &&MessageEntry| entry.facts.kind == MessageKind::Shell;
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
    let mut value: Value = serde_json::from_str(args.get()).ok()?;
    if let Value::String(text) = &value {
        value = serde_json::from_str(text).ok()?;
    }
    let text = value.get("command").or_else(|| value.get("cmd"))?;
    text.as_str().map(str::to_owned)
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
