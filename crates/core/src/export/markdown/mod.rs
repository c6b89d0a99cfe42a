//! Writes a session as Markdown for any forge: prompts, replies, and folded tool calls.

mod safe;

use std::io::{self, Write};

pub(super) use self::safe::inline;
use self::safe::{markdown, write_fenced};
use super::document::{Agent, Document, Lines, buckets};
use super::escape::html;
use super::front;
use super::tool::{Headline, SectionKind, headline, sections};
use crate::clean;
use crate::model::{Fate, Message, Session, ToolCall};
use crate::number::{bytes, count, plural};
use crate::transcript::{BlockKind, blocks};

/// Writes one session.
pub fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    front::write(document, out)?;
    let session = document.session;
    writeln!(out, "\n# {}\n", inline(&session.title().0))?;
    let mut facts = vec![inline(&session.project.name), document.span()];
    facts.push(plural(session.prompts as u64, "prompt", "prompts"));
    facts.push(plural(session.tool_calls as u64, "tool call", "tool calls"));
    facts.push(format!("{} tokens", count(session.usage.total())));
    facts.extend(document.cost.short());
    writeln!(out, "{}", facts.join(" · "))?;
    Writer { document, out, depth: 0 }.messages(session, document.messages)
}

struct Writer<'a> {
    document: &'a Document<'a>,
    out: &'a mut dyn Write,
    /// The number of agents between the session and the current messages.
    depth: usize,
}

impl Writer<'_> {
    fn messages(&mut self, session: &Session, messages: &[Message]) -> io::Result<()> {
        let options = self.document.blocks();
        let mut part = 0;
        let mut speaker = String::new();
        for message in messages {
            let blocks = blocks(std::slice::from_ref(message), &options);
            if blocks.is_empty() {
                continue;
            }
            if message.part != part && session.parts.len() > 1 {
                part = message.part;
                let why = session.parts.get(part).map_or("", |part| part.why.name());
                let (n, of) = (part + 1, session.parts.len());
                writeln!(self.out, "\n---\n\n*Part {n} of {of} ({why})*")?;
            }
            let who = match blocks[0].body {
                BlockKind::You(_) => "You".to_owned(),
                BlockKind::Error(_) => "✗ Error".to_owned(),
                BlockKind::Notice(_) => message.kind.name().replace('_', " "),
                BlockKind::Compress => String::new(),
                _ => message.model.clone().unwrap_or_else(|| "Agent".to_owned()),
            };
            // An agent at work writes little between its tool calls, so one heading is enough.
            let is_new = who != speaker || message.kind.is_typed() || message.fate != Fate::Kept;
            if is_new && !who.is_empty() {
                self.heading(&who, message)?;
            }
            speaker = who;
            for block in &blocks {
                writeln!(self.out)?;
                self.block(message, &block.body)?;
            }
            if self.document.options.tokens {
                self.tokens(message)?;
            }
        }
        Ok(())
    }

    /// Writes the author and the time. Below a tool call it is not a heading, which would clutter
    /// the outline.
    fn heading(&mut self, who: &str, message: &Message) -> io::Result<()> {
        let mut line = inline(who);
        if let Some(at) = message.at {
            line = format!("{line} · {}", self.document.at(at));
        }
        if message.fate != Fate::Kept {
            line = format!("{line} · {}", message.fate.name());
        }
        match (self.depth, message.kind.is_typed()) {
            (0, true) => writeln!(self.out, "\n## {line}"),
            (0, false) => writeln!(self.out, "\n### {line}"),
            _ => writeln!(self.out, "\n**{line}**"),
        }
    }

    fn block(&mut self, message: &Message, body: &BlockKind<'_>) -> io::Result<()> {
        match body {
            BlockKind::You(text) => {
                for line in markdown(text, Lines::Kept).lines() {
                    writeln!(self.out, "{}", format!("> {line}").trim_end())?;
                }
                self.attachments(message)
            }
            BlockKind::Agent(text) => {
                writeln!(self.out, "{}", markdown(text, Lines::Joined))?;
                self.attachments(message)
            }
            BlockKind::Thought(thought) => {
                let summary = if thought.subject.is_empty() { "Thought" } else { &thought.subject };
                self.fold(&format!("💭 <i>{}</i>", html(&clean::line(summary))))?;
                writeln!(self.out, "{}\n", markdown(&thought.description, Lines::Joined))?;
                writeln!(self.out, "</details>")
            }
            BlockKind::Tool { call, argument, .. } => self.tool(call, argument.as_deref()),
            BlockKind::Notice(text) => {
                let size = bytes(text.trim().len() as u64);
                self.fold(&format!("{} ({size})", message.kind.name().replace('_', " ")))?;
                write_fenced(&clean::block(text.trim()), "", self.out)?;
                writeln!(self.out, "\n</details>")
            }
            BlockKind::Error(text) => write_fenced(&clean::block(text.trim()), "", self.out),
            BlockKind::Compress => {
                let at = message.at.map(|at| format!(" · {}", self.document.at(at)));
                let at = at.unwrap_or_default();
                writeln!(self.out, "---\n\n*The conversation was compressed here{at}*")
            }
        }
    }

    fn attachments(&mut self, message: &Message) -> io::Result<()> {
        let files = message.references.iter().map(|reference| {
            format!("📄 {} ({})", inline(&reference.path), bytes(reference.bytes))
        });
        let attached = message.attachments.iter().map(|attachment| {
            let name = inline(attachment.name.as_deref().unwrap_or("attachment"));
            format!("📎 {name} ({}, {})", inline(&attachment.mime), bytes(attachment.bytes))
        });
        let all: Vec<String> = files.chain(attached).collect();
        if all.is_empty() { Ok(()) } else { writeln!(self.out, "\n{}", all.join(" · ")) }
    }

    fn tool(&mut self, call: &ToolCall, told: Option<&str>) -> io::Result<()> {
        let Headline { mark, label, argument, notes, .. } =
            headline(call, told, self.document.folder());
        let mut line = format!("{mark} <b>{}</b>", html(&label));
        if let Some(argument) = argument {
            line = format!("{line} <code>{}</code>", html(&argument));
        }
        for note in notes {
            line = format!("{line} · {note}");
        }
        let sections = sections(call, told, self.document.options.tool_output);
        let agent = self.document.agent(call.agent_session.as_deref(), self.depth)?;
        if sections.is_empty() && agent.is_none() {
            return writeln!(self.out, "<p>{line}</p>");
        }
        self.fold(&line)?;
        for section in &sections {
            let language = match section.kind {
                SectionKind::Command => "sh",
                SectionKind::Diff => "diff",
                SectionKind::Text | SectionKind::Error => "",
            };
            if sections.len() > 1 {
                writeln!(self.out, "{}:\n", inline(&section.title))?;
            }
            write_fenced(&section.text, language, self.out)?;
            writeln!(self.out)?;
        }
        if let Some(agent) = agent {
            self.agent(&agent)?;
        }
        writeln!(self.out, "</details>")
    }

    fn agent(&mut self, agent: &Agent) -> io::Result<()> {
        match agent {
            Agent::Elsewhere(file) => {
                writeln!(self.out, "[What the agent did](<{file}>)\n")
            }
            Agent::Here(of) => {
                let (session, messages) = &**of;
                let tools = plural(session.tool_calls as u64, "tool call", "tool calls");
                let tokens = count(session.usage.total());
                self.fold(&format!("<b>What the agent did</b> · {tools} · {tokens} tokens"))?;
                let depth = self.depth + 1;
                let mut inner = Writer { document: self.document, out: &mut *self.out, depth };
                inner.messages(session, messages)?;
                writeln!(self.out, "\n</details>\n")
            }
        }
    }

    fn tokens(&mut self, message: &Message) -> io::Result<()> {
        let Some(usage) = &message.usage else { return Ok(()) };
        let parts = buckets(usage);
        let parts: Vec<String> =
            parts.iter().map(|(name, tokens)| format!("{} {name}", count(*tokens))).collect();
        let mut line = format!("{} tokens", count(usage.total()));
        if !parts.is_empty() {
            line = format!("{line}: {}", parts.join(", "));
        }
        if let Some(cost) = self.document.cost_of(message) {
            line = format!("{line} · {cost}");
        }
        writeln!(self.out, "\n<sub>{line}</sub>")
    }

    /// Begins a folded section. The empty line makes Markdown resume.
    fn fold(&mut self, summary: &str) -> io::Result<()> {
        writeln!(self.out, "<details>\n<summary>{summary}</summary>\n")
    }
}
