//! Which programs the shell tool ran.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::gemini::{Assembled, Placed, some_messages, tool_name};
use crate::model::{ToolCall, ToolStatus};
use crate::read::bytes::Bytes;
use crate::shell;
use crate::time::Period;

#[derive(Debug, Clone)]
pub struct Row {
    /// The program, or the whole simple command.
    pub program: String,
    pub runs: u64,
    /// Runs in a call that failed, or that ended with an exit code other than 0.
    pub failures: u64,
    pub sessions: u64,
    pub last: Option<Timestamp>,
    /// A command line it was run in.
    pub example: String,
}

#[derive(Default)]
struct Sum {
    runs: u64,
    failures: u64,
    sessions: BTreeSet<String>,
    last: Option<Timestamp>,
    example: String,
}

/// Counts the simple commands of sessions, by program or (`full`) by the whole command. The text is
/// read and split only now.
pub struct Commands {
    period: Period,
    full: bool,
    sums: BTreeMap<String, Sum>,
}

impl Commands {
    pub fn new(period: Period, full: bool) -> Self {
        Self { period, full, sums: BTreeMap::new() }
    }

    pub fn add(&mut self, assembled: &Assembled, bytes: &dyn Bytes) -> io::Result<()> {
        let mut seen: HashSet<String> = HashSet::new();
        let wanted: Vec<&Placed> = assembled.listed().filter(|p| runs_shell(p)).collect();
        let messages = some_messages(assembled, &wanted, bytes, &|_| None)?;
        for message in &messages {
            for (n, call) in message.tool_calls.iter().enumerate() {
                let key = if call.id.is_empty() {
                    format!("{}#{n}", message.id)
                } else {
                    call.id.clone()
                };
                let at = call.at.or(message.at);
                let inside =
                    at.map_or(self.period.is_everything(), |at| self.period.contains(at));
                if !is_shell(&call.name.name) || !inside || !seen.insert(key) {
                    continue;
                }
                let failed = has_failed(call);
                for command in command_text(call).iter().flat_map(|text| shell::split(text)) {
                    let key = if self.full { command.text.clone() } else { command.program };
                    let sum = self.sums.entry(key).or_default();
                    sum.runs += 1;
                    sum.failures += u64::from(failed);
                    sum.sessions.insert(assembled.session.id.clone());
                    if sum.last <= at || sum.example.is_empty() {
                        sum.example = command.text;
                    }
                    sum.last = sum.last.max(at);
                }
            }
        }
        Ok(())
    }

    /// The most runs first.
    pub fn rows(self) -> Vec<Row> {
        let row = |(program, sum): (String, Sum)| Row {
            program,
            runs: sum.runs,
            failures: sum.failures,
            sessions: sum.sessions.len() as u64,
            last: sum.last,
            example: sum.example,
        };
        let mut rows: Vec<Row> = self.sums.into_iter().map(row).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.runs), row.program.clone()));
        rows
    }
}

fn runs_shell(placed: &Placed) -> bool {
    let shell = placed.said.tools.iter().any(|tool| is_shell(&tool.name));
    shell && placed.owned
}

fn is_shell(name: &str) -> bool {
    let tool = tool_name(name, None);
    tool.canonical == "shell_exec" && !name.contains("background")
}

fn has_failed(call: &ToolCall) -> bool {
    matches!(call.status, ToolStatus::Error) || call.exit_code.is_some_and(|code| code != 0)
}

/// The command line of a shell call: `command` or `cmd`, in an object or in a string that is one.
pub fn command_text(call: &ToolCall) -> Option<String> {
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
