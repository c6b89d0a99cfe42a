//! Tool calls in a transcript.

use backstory_core::diff::diff;
use backstory_core::export::tool::in_project;
use backstory_core::model::{Session, ToolCall, ToolStatus};
use backstory_core::transcript::{Block, BlockKind, bare_output};
use unicode_width::UnicodeWidthStr;

use super::page::Page;
use super::turns::Extras;
use crate::error::Result;
use crate::output::number::plural;
use crate::output::{Line, cut, diff as diffs, style};

/// The maximum number of lines of a diff that are shown without `--tool-output`.
const DIFF: usize = 20;

/// Returns whether a block is a tool call that has not finished.
pub(in crate::commands) fn is_running(block: &Block<'_>) -> bool {
    matches!(&block.body, BlockKind::Tool { call, .. } if call.status == ToolStatus::Unfinished)
}

impl Page<'_> {
    /// Prints a tool call, and returns whether it is only one line.
    pub(super) fn tool(
        &mut self,
        session: &Session,
        call: &ToolCall,
        argument: Option<&str>,
        output: Option<&str>,
        margin: &str,
        extras: &Extras,
    ) -> Result<bool> {
        let name = &call.name;
        let line = headline(session, call, argument, margin, self.printer.columns());
        self.printer.line(line)?;
        let inner = format!("{margin}  ");
        let mut is_bare = true;
        if call.status == ToolStatus::Error && output.is_none() {
            let why = call.error.as_deref().or(call.output.as_deref()).unwrap_or_default();
            if let Some(why) = why.lines().find(|line| !line.trim().is_empty()) {
                self.printer
                    .line(Line::new().text(&inner).styled(style::ERROR, why).hang(&inner))?;
            }
        }
        if let Some(agent) = call.agent_session.as_deref() {
            let about = extras.agents.get(agent).map_or(agent, String::as_str);
            self.printer.line(Line::new().text(&inner).styled(style::DIM, about).hang(&inner))?;
        }
        let diff = diff(call).filter(|_| name.category == "Edit" && !call.has_failed());
        if let Some(diff) = &diff {
            is_bare = false;
            let lines = diffs::lines(diff, &inner);
            let shown = if output.is_some() { lines.len() } else { DIFF };
            let more = lines.len().saturating_sub(shown);
            lines.into_iter().take(shown).try_for_each(|line| self.printer.line(line))?;
            if more > 0 {
                let text = format!(
                    "… {}; `--tool-output` shows all",
                    plural(more as u64, "more line", "more lines")
                );
                self.printer.line(Line::new().text(&inner).styled(style::DIM, text))?;
            }
        }
        // The answer to an edit repeats the diff.
        if let Some(output) = output.filter(|_| diff.is_none()) {
            let is_shell = name.canonical == "shell_exec";
            let text = if is_shell { bare_output(output) } else { output.into() };
            is_bare = text.trim().is_empty();
            self.indented(&text, &inner)?;
        }
        Ok(is_bare)
    }
}

impl Page<'_> {
    /// Prints that a tool has begun; its outcome follows when it has ended.
    pub(super) fn running(&mut self, session: &Session, block: &Block<'_>) -> Result<()> {
        let BlockKind::Tool { call, argument, .. } = &block.body else { return Ok(()) };
        let text = argument.as_deref().map(|argument| short(argument, session));
        let line = Line::new()
            .styled(style::DIM, "  … ")
            .styled(style::HEADING, &call.name.label)
            .text(text.map_or_else(String::new, |text| format!("  {text}")))
            .styled(style::DIM, "  running");
        Ok(self.printer.title(line)?)
    }
}

/// Returns one line about a tool call: its outcome, its name and what it was called with.
pub(in crate::commands) fn headline(
    session: &Session,
    call: &ToolCall,
    argument: Option<&str>,
    margin: &str,
    columns: Option<usize>,
) -> Line {
    let (mark, color) = match call.status {
        ToolStatus::Success if call.has_failed() => ("✗", style::WARNING),
        ToolStatus::Success => ("✓", style::GOOD),
        ToolStatus::Error => ("✗", style::ERROR),
        ToolStatus::Cancelled => ("⊘", style::WARNING),
        ToolStatus::Unfinished => ("…", style::DIM),
    };
    let name = &call.name;
    let label = match name.label.as_str() {
        "MCP" if name.label != name.name => format!("MCP {}", name.name),
        label => label.to_owned(),
    };
    let notes: Vec<String> = notes(call).iter().map(|note| format!("  {note}")).collect();
    let notes = notes.concat();
    let mut line = Line::new().text(margin).styled(color, mark).text(" ");
    line = line.styled(style::HEADING, &label);
    if let Some(argument) = argument.map(|argument| short(argument, session)) {
        // The notes stay; a long argument is cut.
        let used = margin.width() + 2 + label.width() + 2 + notes.width();
        let room = columns.map_or(usize::MAX, |width| width.saturating_sub(used));
        line = line.text(format!("  {}", cut(&argument, room.max(10))));
    }
    let is_bad = call.has_failed() || call.status == ToolStatus::Cancelled;
    line.styled(if is_bad { style::WARNING } else { style::DIM }, notes).hang(format!("{margin}  "))
}

/// Returns what to add after the argument: the exit code, the changed lines, the outcome.
fn notes(call: &ToolCall) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(code) = call.exit_code.filter(|code| *code != 0) {
        out.push(format!("exit code {code}"));
    }
    if let (Some(added), Some(removed)) = (call.lines_added, call.lines_removed)
        && added + removed > 0
    {
        out.push(format!("+{added} −{removed}"));
    }
    if matches!(call.status, ToolStatus::Cancelled | ToolStatus::Unfinished) {
        out.push(call.status.name().to_owned());
    }
    out
}

/// Returns the first line of an argument; a path inside the project is relative to it.
fn short(argument: &str, session: &Session) -> String {
    let mut lines = argument.lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!("{}{more}", in_project(first, session.project.path.as_deref()))
}
