//! Counts the programs that shell tools ran.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use super::reading::tool_calls;
use crate::assemble::SessionFacts;
use crate::content::Reader;
use crate::facts::ToolFacts;
use crate::model::ToolCall;
use crate::shell::{self, SimpleCommand};
use crate::time::Period;
use crate::tools::tool_name;

/// The runs of one program.
#[derive(Debug, Clone)]
pub struct Row {
    /// The program, or the whole simple command.
    pub program: String,
    /// The number of runs.
    pub runs: u64,
    /// Runs in a call that failed, or that ended with an exit code other than 0.
    pub failures: u64,
    /// The number of sessions with a run.
    pub sessions: u64,
    /// The time of the last run.
    pub last: Option<Timestamp>,
    /// A command line that contains it.
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
/// read and split only here.
pub struct Commands {
    period: Period,
    full: bool,
    sums: BTreeMap<String, Sum>,
}

impl Commands {
    /// Returns an empty count.
    pub fn new(period: Period, full: bool) -> Self {
        Self { period, full, sums: BTreeMap::new() }
    }

    /// Adds the commands of a session.
    pub fn add(&mut self, assembled: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let is_shell = |tool: &ToolFacts| is_shell(&tool.name);
        tool_calls(assembled, reader, &self.period, is_shell, |call, at| {
            let failed = call.has_failed();
            for command in simple_commands(call) {
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
        })
    }

    /// Returns the rows, most runs first.
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

fn is_shell(name: &str) -> bool {
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
fn command_text(call: &ToolCall) -> Option<String> {
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
