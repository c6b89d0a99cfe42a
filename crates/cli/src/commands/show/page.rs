//! The page that `show` prints.

use std::path::Path;

use anstyle::Style;
use backstory_core::model::{Fate, Message, Session, ToolStatus};
use backstory_core::pricing::Bill;
use backstory_core::transcript::{Block, Options, What, blocks};

use super::Show;
use super::marks::Marks;
use crate::context::Context;
use crate::error::Result;
use crate::output::number::{bytes, count, date, plural};
use crate::output::{Line, Printer, markdown, style};

/// Prints a session for people.
pub(super) struct Page<'a> {
    pub(super) ctx: &'a Context,
    pub(super) printer: &'a mut Printer,
    pub(super) args: &'a Show,
    pub(super) marks: Option<Marks<'a>>,
    pub(super) cost: Bill,
    /// Subagents that are not linked to any call.
    pub(super) agents: Vec<String>,
}

impl Page<'_> {
    pub(super) fn session(
        &mut self,
        session: &Session,
        messages: &[Message],
        options: &Options,
    ) -> Result<()> {
        self.head(session)?;
        let blocks = blocks(messages, options);
        if blocks.is_empty() {
            let why = if messages.is_empty() {
                "It has no messages."
            } else if options.only.is_empty() {
                "Neither you nor the agent said anything; `--info` shows the rest."
            } else {
                "Nothing in it matches `--only`."
            };
            self.printer.line(Line::new().styled(style::DIM, why))?;
        }
        let mut last: Option<&Block<'_>> = None;
        for block in &blocks {
            self.block(session, block, last)?;
            last = Some(block);
        }
        Ok(())
    }

    fn head(&mut self, session: &Session) -> Result<()> {
        let (title, _) = session.title();
        self.printer.line(Line::new().styled(style::HEADING, title))?;
        let date = |at| date(at, &self.ctx.zone);
        let times = match (session.started, session.updated) {
            (Some(from), Some(to)) => format!("{} to {}", date(from), date(to)),
            (Some(at), None) | (None, Some(at)) => date(at),
            (None, None) => "time unknown".to_owned(),
        };
        let project = &session.project;
        let place = project.path.as_deref().map(|path| self.ctx.show(Path::new(path)));
        let place = place.unwrap_or_else(|| format!("{} (path not known)", project.name));
        self.fact("id", &session.id)?;
        self.fact("project", &place)?;
        if let Some(worktree) = &session.worktree {
            let worktree = self.ctx.show(Path::new(worktree));
            self.fact("worktree", &worktree)?;
        }
        if let Some(branch) = &session.branch {
            self.fact("branch", branch)?;
        }
        self.fact("time", &times)?;
        if let Some(parent) = &session.parent {
            self.fact("started by", parent)?;
        }
        let mut said = vec![plural(session.prompts as u64, "prompt", "prompts")];
        said.push(plural(session.calls as u64, "model call", "model calls"));
        said.push(plural(session.tool_calls as u64, "tool call", "tool calls"));
        if session.subagents > 0 {
            said.push(plural(session.subagents as u64, "subagent", "subagents"));
        }
        said.push(format!("{} tokens", count(session.usage.total())));
        self.fact("size", &said.join(", "))?;
        if let Some(unrecorded) = &session.unrecorded {
            let tokens = plural(unrecorded.total(), "token", "tokens");
            self.fact("unrecorded", &format!("{tokens} of calls that are in no file"))?;
        }
        if let Some(cost) = self.cost.short() {
            let lacks = self.cost.lacks().map(|lacks| format!(" ({lacks})"));
            self.fact("cost", &format!("{cost}{}", lacks.unwrap_or_default()))?;
        }
        for (n, agent) in std::mem::take(&mut self.agents).iter().enumerate() {
            self.fact(if n == 0 { "subagents" } else { "" }, agent)?;
        }
        if !session.models.is_empty() {
            self.fact("models", &session.models.join(", "))?;
        }
        if session.parts.len() > 1 {
            for (n, part) in session.parts.iter().enumerate() {
                let name = if n == 0 { "files" } else { "" };
                let file = self.ctx.show(&part.file);
                self.fact(name, &format!("{}. {file} ({})", n + 1, part.why.name()))?;
            }
        }
        Ok(self.printer.blank()?)
    }

    fn fact(&mut self, name: &str, value: &str) -> Result<()> {
        let line = Line::new().styled(style::DIM, format!("{name:<11}")).text(value);
        Ok(self.printer.line(line)?)
    }

    fn block(
        &mut self,
        session: &Session,
        block: &Block<'_>,
        last: Option<&Block<'_>>,
    ) -> Result<()> {
        let message = block.message;
        let is_new = last.is_none_or(|last| last.message.id != message.id);
        if last.is_none_or(|last| last.message.part != message.part) && session.parts.len() > 1 {
            self.part(session, message.part)?;
        }
        if is_new && !matches!(block.what, What::Compress) {
            self.speaker(block)?;
        }
        let margin = if message.fate == Fate::Kept { "  " } else { "┊ " };
        match &block.what {
            What::You(text) | What::Agent(text) => {
                self.words(text, margin)?;
                self.attachments(message, margin)?;
                self.printer.blank()?;
            }
            What::Thought(thought) => {
                let subject = match thought.subject.as_str() {
                    "" => String::new(),
                    subject => format!("{subject}: "),
                };
                let line = Line::new()
                    .text(margin)
                    .styled(style::DIM.italic(), subject)
                    .styled(style::DIM, &thought.description);
                self.printer.line(line)?;
                self.printer.blank()?;
            }
            What::Tool { call, argument, output } => {
                self.tool(call, argument.as_deref(), margin)?;
                if let Some(output) = output {
                    self.indented(output, margin)?;
                }
                self.printer.blank()?;
            }
            What::Notice(text) => {
                self.indented(text, margin)?;
                self.printer.blank()?;
            }
            What::Error(text) => {
                let line = Line::new().text(margin).styled(style::ERROR, text.trim());
                self.printer.line(line)?;
                self.printer.blank()?;
            }
            What::Compress => {
                let at = message.at.map(|at| date(at, &self.ctx.zone)).unwrap_or_default();
                let mark = format!("── the conversation was compressed here · {at} ──");
                self.printer.line(Line::new().styled(style::DIM, mark))?;
                self.printer.blank()?;
            }
        }
        Ok(())
    }

    fn part(&mut self, session: &Session, part: usize) -> Result<()> {
        let why = session.parts.get(part).map_or("", |part| part.why.name());
        let text = format!("── part {} of {} ({why}) ──", part + 1, session.parts.len());
        self.printer.line(Line::new().styled(style::DIM, text))?;
        Ok(self.printer.blank()?)
    }

    /// Prints the speaker, the time, and the fate of the message.
    fn speaker(&mut self, block: &Block<'_>) -> Result<()> {
        let message = block.message;
        let (who, style): (&str, Style) = match block.what {
            What::You(_) => ("you", style::YOU),
            What::Notice(_) => (message.kind.name(), style::DIM),
            What::Error(_) => ("error", style::ERROR),
            _ => (message.model.as_deref().unwrap_or("agent"), style::NAME),
        };
        let holds = |marks: &Marks<'_>| marks.messages.contains(&message.id);
        let sign =
            self.marks.as_ref().filter(|marks| holds(marks)).map(|_| format!("{} ", Marks::SIGN));
        let mut line =
            Line::new().styled(style::FOUND, sign.unwrap_or_default()).styled(style.bold(), who);
        if let Some(at) = message.at {
            line = line.styled(style::DIM, format!("  {}", date(at, &self.ctx.zone)));
        }
        if self.args.tokens
            && let Some(usage) = &message.usage
        {
            line = line.styled(
                style::DIM,
                format!(
                    "  {} tokens: {} fresh, {} cached, {} out, {} thoughts, {} tool",
                    count(usage.total()),
                    count(usage.input),
                    count(usage.cached),
                    count(usage.output),
                    count(usage.thoughts),
                    count(usage.tool)
                ),
            );
        }
        if message.fate != Fate::Kept {
            line = line.styled(style::WARNING, format!("  [{}]", message.fate.name()));
        }
        Ok(self.printer.line(line)?)
    }

    /// Renders Markdown on a terminal, and prints the plain text otherwise.
    fn words(&mut self, text: &str, margin: &str) -> Result<()> {
        match self.printer.width().filter(|_| self.marks.is_none()) {
            Some(width) => {
                for line in markdown::render(text, width.min(100), margin) {
                    self.printer.line(line)?;
                }
                Ok(())
            }
            None => self.indented(text, margin),
        }
    }

    fn indented(&mut self, text: &str, margin: &str) -> Result<()> {
        for line in text.trim_end().lines() {
            let start = Line::new().text(margin);
            let line = match &self.marks {
                Some(marks) => marks.mark(start, line),
                None => start.text(line),
            };
            self.printer.line(line)?;
        }
        Ok(())
    }

    fn attachments(&mut self, message: &Message, margin: &str) -> Result<()> {
        for reference in &message.references {
            let text = format!("@{} ({})", reference.path, bytes(reference.bytes));
            self.printer.line(Line::new().text(margin).styled(style::DIM, text))?;
        }
        for attachment in &message.attachments {
            let name = attachment.name.as_deref().unwrap_or("attachment");
            let text = format!("[{name}: {}, {}]", attachment.mime, bytes(attachment.bytes));
            self.printer.line(Line::new().text(margin).styled(style::DIM, text))?;
        }
        Ok(())
    }

    fn tool(
        &mut self,
        call: &backstory_core::model::ToolCall,
        argument: Option<&str>,
        margin: &str,
    ) -> Result<()> {
        let (mark, color) = match call.status {
            ToolStatus::Success if call.has_failed() => ("✗", style::WARNING),
            ToolStatus::Success => ("✓", style::GOOD),
            ToolStatus::Error => ("✗", style::ERROR),
            ToolStatus::Cancelled => ("⊘", style::WARNING),
            ToolStatus::Unfinished => ("…", style::DIM),
        };
        let mut line = Line::new().text(margin).styled(color, mark).text(" ");
        line = line.styled(style::HEADING, &call.name.label);
        if call.name.label != call.name.name && call.name.label == "MCP" {
            line = line.text(format!(" {}", call.name.name));
        }
        if let Some(argument) = argument {
            let mut lines = argument.lines();
            let first = lines.next().unwrap_or_default();
            let more = if lines.next().is_some() { " …" } else { "" };
            line = line.text(format!("  {first}{more}"));
        }
        if let Some(code) = call.exit_code.filter(|code| *code != 0) {
            line = line.styled(style::WARNING, format!("  exit code {code}"));
        }
        if let (Some(added), Some(removed)) = (call.lines_added, call.lines_removed)
            && added + removed > 0
        {
            line = line.styled(style::DIM, format!("  +{added} −{removed}"));
        }
        match call.status {
            ToolStatus::Cancelled => line = line.styled(style::WARNING, "  cancelled"),
            ToolStatus::Unfinished => line = line.styled(style::DIM, "  unfinished"),
            _ => {}
        }
        self.printer.line(line)?;
        if call.status == ToolStatus::Error && !self.args.tool_output {
            let why = call.error.as_deref().or(call.output.as_deref()).unwrap_or_default();
            if let Some(why) = why.lines().find(|line| !line.trim().is_empty()) {
                self.printer
                    .line(Line::new().text(margin).styled(style::ERROR, format!("  {why}")))?;
            }
        }
        if let Some(agent) = &call.agent_session {
            let text = format!("  its own session: backstory show {agent}");
            self.printer.line(Line::new().text(margin).styled(style::DIM, text))?;
        }
        Ok(())
    }
}
