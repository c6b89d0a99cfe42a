//! The facts above a transcript.

use std::path::Path;

use backstory_core::model::{Session, State};
use jiff::Timestamp;

use super::page::Page;
use super::turns::Extras;
use crate::error::Result;
use crate::output::number::{count, date, duration, plural};
use crate::output::{Line, style};

impl Page<'_> {
    pub(super) fn head(&mut self, session: &Session, extras: &Extras) -> Result<()> {
        let (title, _) = session.title();
        self.printer.line(Line::new().styled(style::HEADING, title))?;
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
        self.fact("time", &self.times(session.started, session.updated))?;
        if session.state == State::Gone {
            self.fact("state", "deleted by the agent, kept in the archive")?;
        }
        if let Some(parent) = &session.parent {
            self.fact("started by", parent)?;
        }
        if !session.tags.is_empty() {
            self.fact("tags", &session.tags.join(", "))?;
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
        if let Some(cost) = extras.cost.short() {
            let lacks = extras.cost.lacks().map(|lacks| format!(" ({lacks})"));
            self.fact("cost", &format!("{cost}{}", lacks.unwrap_or_default()))?;
        }
        for (n, agent) in extras.loose.iter().enumerate() {
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
        Ok(())
    }

    /// Formats the start, the end and the length; the day is written once.
    fn times(&self, started: Option<Timestamp>, updated: Option<Timestamp>) -> String {
        let (Some(from), Some(to)) = (started, updated) else {
            let one = started.or(updated).map(|at| date(at, &self.ctx.zone));
            return one.unwrap_or_else(|| "time unknown".to_owned());
        };
        let [first, last] = [from, to].map(|at| at.to_zoned(self.ctx.zone.clone()));
        let end = if first.date() == last.date() {
            last.strftime("%H:%M").to_string()
        } else {
            date(to, &self.ctx.zone)
        };
        format!("{} to {end} ({})", date(from, &self.ctx.zone), duration(to.duration_since(from)))
    }

    fn fact(&mut self, name: &str, value: &str) -> Result<()> {
        let line = Line::new().styled(style::DIM, format!("{name:<11}")).text(value);
        Ok(self.printer.line(line.hang(" ".repeat(11)))?)
    }
}
