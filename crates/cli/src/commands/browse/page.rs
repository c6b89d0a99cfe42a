//! A session laid out for a width: blocks of lines, of which some are folded.

use std::collections::HashMap;

use backstory_core::clean;
use backstory_core::export::tool::{self, SectionKind};
use backstory_core::model::{Fate, Message, MessageId, SessionId};
use backstory_core::number::plural;
use backstory_core::pricing::Table;
use backstory_core::transcript::{Block as Shown, BlockKind, Options, blocks};

use crate::commands::show::turns::turns;
use crate::output::{Line, markdown, style};

/// The maximum number of lines of one folded part; longer ones are cut.
const LONGEST_PART: usize = 400;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prompt,
    Reply,
    Thought,
    Tool,
    Edit,
    Notice,
    Error,
}

/// One block of a session.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// The id of its message.
    pub(super) message: MessageId,
    /// The lines that are always visible.
    pub(super) head: Vec<Line>,
    /// The lines that can be folded away.
    pub(super) body: Vec<Line>,
    /// The session of the subagent that it started.
    pub(super) agent: Option<SessionId>,
}

/// A session laid out for a width.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) blocks: Vec<Block>,
}

impl Page {
    /// Lays out messages of a session of a project in this folder.
    pub(super) fn new(
        messages: &[Message],
        project: Option<&str>,
        width: usize,
        prices: &Table,
    ) -> Self {
        let options = Options { thoughts: true, tool_output: true, info: true, only: Vec::new() };
        let costs = turns(messages, prices);
        let blocks = blocks(messages, &options);
        let blocks = blocks.iter().map(|shown| block(shown, project, width, &costs)).collect();
        Self { width, blocks }
    }
}

fn block(
    shown: &Shown<'_>,
    project: Option<&str>,
    width: usize,
    costs: &HashMap<MessageId, String>,
) -> Block {
    let message = shown.message;
    let margin = if message.fate == Fate::Kept { "  " } else { "┊ " };
    let mut out = Block {
        kind: Kind::Notice,
        message: message.id.clone(),
        head: Vec::new(),
        body: Vec::new(),
        agent: None,
    };
    match &shown.body {
        BlockKind::You(text) => {
            out.kind = Kind::Prompt;
            out.head.push(Line::new());
            let lines = clean::block(text);
            for (n, line) in lines.trim().lines().enumerate() {
                let mark = if n == 0 { "› " } else { "  " };
                let line = Line::new().styled(style::YOU.bold(), format!("{mark}{line}"));
                out.head.extend(line.hang("  ").wrapped(width));
            }
            let cost = costs.get(&message.id).map(|facts| facts.trim().to_owned());
            let mut facts: Vec<String> = cost.into_iter().collect();
            if message.fate != Fate::Kept {
                facts.push(message.fate.name().to_owned());
            }
            if !facts.is_empty() {
                out.head.push(Line::new().styled(style::DIM, format!("  {}", facts.join(" · "))));
            }
        }
        BlockKind::Agent(text) => {
            out.kind = Kind::Reply;
            // Code is not wrapped otherwise.
            let lines = markdown::render(text, width, margin).into_iter();
            out.head = lines.flat_map(|line| line.wrapped(width)).collect();
        }
        BlockKind::Thought(thought) => {
            out.kind = Kind::Thought;
            let subject = if thought.subject.is_empty() { "thought" } else { &thought.subject };
            out.head.push(Line::new().text(margin).styled(style::DIM.italic(), subject));
            out.body = indented(&thought.description, width, anstyle::Style::new().dimmed());
        }
        BlockKind::Tool { call, argument, .. } => {
            let headline = tool::headline(call, argument.as_deref(), project);
            let color = match headline.state {
                "success" => style::GOOD,
                "error" | "failed" => style::ERROR,
                _ => style::WARNING,
            };
            let mut line = Line::new().text(margin).styled(color, headline.mark).text(" ");
            line = line.styled(style::HEADING, &headline.label);
            if let Some(argument) = &headline.argument {
                line = line.text(format!(" {argument}"));
            }
            for note in &headline.notes {
                line = line.styled(style::DIM, format!("  {note}"));
            }
            if let Some(agent) = &call.agent_session {
                line = line.styled(style::NAME, "  → its session");
                out.agent = Some(agent.clone());
            }
            out.head.push(line);
            out.kind = Kind::Tool;
            for section in tool::sections(call, argument.as_deref(), false) {
                match section.kind {
                    SectionKind::Diff => {
                        out.kind = Kind::Edit;
                        let lines = section.text.lines().take(LONGEST_PART).map(diff_line);
                        out.body.extend(lines.flat_map(|line| line.wrapped(width)));
                    }
                    SectionKind::Error => {
                        out.body.extend(indented(&section.text, width, style::ERROR));
                    }
                    SectionKind::Command | SectionKind::Text => {
                        out.body.extend(indented(&section.text, width, style::DIM));
                    }
                }
            }
        }
        BlockKind::Notice(text) => {
            let what = message.kind.name().replace('_', " ");
            out.head.push(Line::new().text(margin).styled(style::DIM, format!("· {what}")));
            out.body = indented(text, width, style::DIM);
        }
        BlockKind::Error(text) => {
            out.kind = Kind::Error;
            out.head = indented(text.trim(), width, style::ERROR);
        }
        BlockKind::Compress => {
            let text = "── the conversation was compressed here ──";
            out.head.push(Line::new().styled(style::DIM, text));
        }
    }
    out
}

/// Wraps a text below its heading, and cuts it if it is very long.
fn indented(text: &str, width: usize, color: anstyle::Style) -> Vec<Line> {
    let text = clean::block(text);
    let line = |text: &str| Line::new().text("    ").styled(color, text).wrapped(width);
    let mut out: Vec<Line> = text.trim_end().lines().take(LONGEST_PART).flat_map(line).collect();
    let more = text.trim_end().lines().count().saturating_sub(LONGEST_PART);
    if more > 0 {
        let text = format!("    … {} more", plural(more as u64, "line", "lines"));
        out.push(Line::new().styled(style::DIM, text));
    }
    out
}

fn diff_line(text: &str) -> Line {
    let color = match text.as_bytes().first() {
        Some(b'+') => style::GOOD,
        Some(b'-') => anstyle::AnsiColor::Red.on_default(),
        Some(b'@') => style::NAME,
        _ => style::DIM,
    };
    Line::new().text("    ").styled(color, text)
}
