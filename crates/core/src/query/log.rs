//! Lists the command lines that shell tools ran, in order.

use std::io;

use jiff::Timestamp;

use super::reading::tool_calls;
use crate::activity::{command_text, is_shell};
use crate::assemble::SessionFacts;
use crate::content::Reader;
use crate::facts::ToolFacts;
use crate::model::ToolStatus;
use crate::time::Period;

/// One run of a shell tool.
#[derive(Debug, Clone)]
pub struct Run {
    /// The time it finished.
    pub at: Option<Timestamp>,
    /// The session that ran it.
    pub session: String,
    /// The command line.
    pub command: String,
    /// Its outcome; a command with an exit code other than 0 has failed.
    pub status: ToolStatus,
    /// The exit code, if it is recorded.
    pub exit_code: Option<i32>,
}

/// Collects the runs of sessions.
pub struct Log {
    period: Period,
    runs: Vec<Run>,
}

impl Log {
    /// Returns an empty log.
    pub fn new(period: Period) -> Self {
        Self { period, runs: Vec::new() }
    }

    /// Adds the runs of a session.
    pub fn add(&mut self, assembled: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let is_shell = |tool: &ToolFacts| is_shell(&tool.name);
        tool_calls(assembled, reader, &self.period, is_shell, |call, at| {
            self.runs.extend(command_text(call).map(|command| Run {
                at,
                session: assembled.session.id.clone(),
                command,
                status: call.status.with_exit_code(call.exit_code),
                exit_code: call.exit_code,
            }));
        })
    }

    /// Returns the runs, oldest first; those without a time come before all others.
    pub fn runs(mut self) -> Vec<Run> {
        self.runs.sort_by_key(|run| run.at);
        self.runs
    }
}
