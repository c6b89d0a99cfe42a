//! The transcript that `show` prints.

use std::collections::HashSet;

use anstyle::Style;
use backstory_core::model::{Bucket, Fate, Message, MessageId, MessageKind, Session, Usage};
use backstory_core::transcript::{Block, BlockKind, Options, blocks, shell_escape};

use super::Show;
use super::marks::Marks;
use super::turns::Extras;
use crate::context::Context;
use crate::error::Result;
use crate::output::number::{bytes, count, date};
use crate::output::{Line, Printer, markdown, style};

/// Prints a session for people.
pub(super) struct Page<'a> {
    pub(super) ctx: &'a Context,
    pub(super) printer: &'a mut Printer,
    pub(super) args: &'a Show,
    pub(super) marks: Option<Marks<'a>>,
    /// What was printed last, which decides about headings and empty lines.
    last: Last,
    /// The blocks that were printed, while a session is followed.
    seen: HashSet<(MessageId, usize)>,
    /// The tool calls that were printed while they ran.
    begun: HashSet<(MessageId, usize)>,
}

#[derive(Default)]
struct Last {
    /// The speaker and the fate of the message under the last heading.
    speaker: Option<(String, Fate)>,
    part: Option<usize>,
    /// The message of the last block.
    message: Option<MessageId>,
    /// Whether the last block is a single line about a tool.
    is_tool: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(
        ctx: &'a Context,
        printer: &'a mut Printer,
        args: &'a Show,
        marks: Option<Marks<'a>>,
    ) -> Self {
        Self {
            ctx,
            printer,
            args,
            marks,
            last: Last::default(),
            seen: HashSet::new(),
            begun: HashSet::new(),
        }
    }

    pub(super) fn session(
        &mut self,
        session: &Session,
        messages: &[Message],
        options: &Options,
        extras: &Extras,
    ) -> Result<()> {
        self.head(session, extras)?;
        let blocks = blocks(messages, options);
        if blocks.is_empty() {
            let why = if messages.is_empty() {
                "It has no messages."
            } else if options.only.is_empty() {
                "Neither you nor the agent said anything; `--info` shows the rest."
            } else {
                "Nothing in it matches `--only`."
            };
            self.printer.blank()?;
            self.printer.line(Line::new().styled(style::DIM, why))?;
        }
        for block in &blocks {
            self.block(session, block, extras)?;
        }
        Ok(())
    }

    /// Prints the blocks that were not printed before, from the message at `from` on. A tool is printed when it begins
    /// and when it has finished.
    pub(super) fn news(
        &mut self,
        session: &Session,
        messages: &[Message],
        options: &Options,
        extras: &Extras,
        from: usize,
    ) -> Result<()> {
        for message in &messages[from.min(messages.len())..] {
            for (n, block) in blocks(std::slice::from_ref(message), options).iter().enumerate() {
                let place = (message.id.clone(), n);
                if super::tool::is_running(block) {
                    if self.begun.insert(place) {
                        self.running(session, block)?;
                    }
                    continue;
                }
                if !self.seen.insert(place) {
                    continue;
                }
                self.block(session, block, extras)?;
            }
        }
        Ok(self.printer.flush()?)
    }

    /// Takes the blocks of some messages as printed.
    pub(super) fn skip(&mut self, messages: &[Message], options: &Options) {
        for message in messages {
            for n in 0..blocks(std::slice::from_ref(message), options).len() {
                self.seen.insert((message.id.clone(), n));
            }
        }
    }

    fn block(&mut self, session: &Session, block: &Block<'_>, extras: &Extras) -> Result<()> {
        let message = block.message;
        if self.last.part != Some(message.part) && session.parts.len() > 1 {
            self.last.part = Some(message.part);
            self.last.speaker = None;
            self.printer.blank()?;
            let why = session.parts.get(message.part).map_or("", |part| part.why.name());
            let text =
                format!("── part {} of {} ({why}) ──", message.part + 1, session.parts.len());
            self.printer.line(Line::new().styled(style::DIM, text))?;
        }
        let is_tool = matches!(block.body, BlockKind::Tool { .. });
        let has_heading = self.heading(block, extras)?;
        let is_next_tool = self.last.is_tool && is_tool;
        if !has_heading && !is_next_tool {
            self.printer.blank()?;
        }
        self.last.message = Some(message.id.clone());
        self.last.is_tool = false;
        let margin = if message.fate == Fate::Kept { "  " } else { "┊ " };
        match &block.body {
            BlockKind::You(text) if message.kind == MessageKind::Shell => {
                self.escape(text, margin)?;
            }
            BlockKind::You(text) | BlockKind::Agent(text) => {
                self.words(text, margin)?;
                self.attachments(message, margin)?;
            }
            BlockKind::Thought(thought) => {
                let subject = match thought.subject.as_str() {
                    "" => String::new(),
                    subject => format!("{subject}: "),
                };
                let line = Line::new()
                    .text(margin)
                    .styled(style::DIM.italic(), subject)
                    .styled(style::DIM, &thought.description);
                self.printer.line(line.hang(margin))?;
            }
            BlockKind::Tool { call, argument, output } => {
                let is_bare =
                    self.tool(session, call, argument.as_deref(), *output, margin, extras)?;
                self.last.is_tool = is_bare;
            }
            BlockKind::Notice(text) => self.indented(text, margin)?,
            BlockKind::Error(text) => {
                let line = Line::new().text(margin).styled(style::ERROR, text.trim());
                self.printer.line(line.hang(margin))?;
            }
            BlockKind::Compress => {
                let at = message.at.map(|at| date(at, &self.ctx.zone)).unwrap_or_default();
                let mark = format!("── the conversation was compressed here · {at} ──");
                self.printer.line(Line::new().styled(style::DIM, mark))?;
            }
        }
        Ok(())
    }

    /// Prints the speaker, the time, and the fate of the message, if they are not those of the last one. Prompts always
    /// have a heading, with the cost and length of their turn.
    fn heading(&mut self, block: &Block<'_>, extras: &Extras) -> Result<bool> {
        let message = block.message;
        if matches!(block.body, BlockKind::Compress) {
            self.last.speaker = None;
            return Ok(false);
        }
        let (who, style): (&str, Style) = match block.body {
            BlockKind::You(_) => ("you", style::YOU),
            BlockKind::Notice(_) => (message.kind.name(), style::DIM),
            BlockKind::Error(_) => ("error", style::ERROR),
            _ => (message.model.as_deref().unwrap_or("agent"), style::NAME),
        };
        let is_new = self.last.message.as_deref() != Some(&message.id);
        let is_found =
            self.marks.as_ref().is_some_and(|marks| marks.messages.contains(&message.id));
        let tokens = message.usage.as_ref().filter(|_| self.args.tokens);
        let speaker = Some((who.to_owned(), message.fate));
        let is_same = self.last.speaker == speaker
            && (!is_new
                || (!is_found && tokens.is_none() && !matches!(block.body, BlockKind::You(_))));
        if is_same {
            return Ok(false);
        }
        self.last.speaker = speaker;
        self.printer.blank()?;
        let sign = if is_found { format!("{} ", Marks::SIGN) } else { String::new() };
        let mut line = Line::new().styled(style::FOUND, sign).styled(style.bold(), who);
        if let Some(at) = message.at {
            let at = match block.body {
                BlockKind::You(_) => date(at, &self.ctx.zone),
                _ => at.to_zoned(self.ctx.zone.clone()).strftime("%H:%M").to_string(),
            };
            line = line.styled(style::DIM, format!("  {at}"));
        }
        if let Some(turn) = extras.turns.get(&message.id) {
            line = line.styled(style::DIM, turn);
        }
        if let Some(usage) = tokens {
            line = line.styled(style::DIM, format!("  {}", tokens_of(usage)));
        }
        if message.fate != Fate::Kept {
            line = line.styled(style::WARNING, format!("  [{}]", message.fate.name()));
        }
        self.printer.line(line.hang("  "))?;
        Ok(true)
    }

    /// Prints a `!` command as a command, and its output.
    fn escape(&mut self, text: &str, margin: &str) -> Result<()> {
        let Some((command, output)) = shell_escape(text) else { return self.words(text, margin) };
        for (n, line) in command.lines().enumerate() {
            let sign = if n == 0 { "! " } else { "  " };
            let line = self.marked(Line::new().text(margin).styled(style::YOU, sign), line);
            self.printer.line(line.hang(format!("{margin}  ")))?;
        }
        self.indented(output, &format!("{margin}  "))
    }

    /// Renders Markdown on a terminal, and prints the plain text otherwise.
    fn words(&mut self, text: &str, margin: &str) -> Result<()> {
        match self.printer.columns().filter(|_| self.marks.is_none()) {
            Some(width) => {
                for line in markdown::render(text, width.min(100), margin) {
                    self.printer.line(line)?;
                }
                Ok(())
            }
            None => self.indented(text, margin),
        }
    }

    pub(super) fn indented(&mut self, text: &str, margin: &str) -> Result<()> {
        for line in text.trim_end().lines() {
            let start = Line::new().text(margin);
            let line =
                if line.trim().is_empty() { start.text("") } else { self.marked(start, line) };
            self.printer.line(line.hang(margin))?;
        }
        Ok(())
    }

    fn marked(&self, start: Line, text: &str) -> Line {
        match &self.marks {
            Some(marks) => marks.mark(start, text),
            None => start.text(text),
        }
    }

    fn attachments(&mut self, message: &Message, margin: &str) -> Result<()> {
        for reference in &message.references {
            let text = format!("@{} ({})", reference.path, bytes(reference.bytes));
            self.printer.line(Line::new().text(margin).styled(style::DIM, text).hang(margin))?;
        }
        for attachment in &message.attachments {
            let name = attachment.name.as_deref().unwrap_or("attachment");
            let text = format!("[{name}: {}, {}]", attachment.mime, bytes(attachment.bytes));
            self.printer.line(Line::new().text(margin).styled(style::DIM, text).hang(margin))?;
        }
        Ok(())
    }
}

/// Formats a total and its parts. Rare parts, cache writes and `other`, are left out where they are zero.
fn tokens_of(usage: &Usage) -> String {
    let parts = usage.by_label(|bucket| match bucket {
        Bucket::Input => ("fresh", false),
        Bucket::Cached => ("cached", false),
        Bucket::CacheWrite5m | Bucket::CacheWrite1h => ("written to the cache", true),
        Bucket::Output => ("out", false),
        Bucket::Thoughts => ("thoughts", false),
        Bucket::Tool => ("tool", false),
        Bucket::Other => ("other", true),
    });
    let parts = parts.into_iter().filter(|((_, is_rare), tokens)| !is_rare || *tokens > 0);
    let parts: Vec<_> =
        parts.map(|((name, _), tokens)| format!("{} {name}", count(tokens))).collect();
    format!("{} tokens: {}", count(usage.total()), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_of_a_reply_add_up() {
        let usage = Usage {
            input: 1,
            cached: 20,
            cache_write_5m: 300,
            cache_write_1h: 400,
            output: 5,
            thoughts: 6,
            tool: 0,
            other: 7,
        };
        let all = "739 tokens: 1 fresh, 20 cached, 700 written to the cache, 5 out, 6 thoughts, 0 tool, 7 other";
        assert_eq!(tokens_of(&usage), all);
        let few = "0 tokens: 0 fresh, 0 cached, 0 out, 0 thoughts, 0 tool";
        assert_eq!(tokens_of(&Usage::default()), few);
    }
}
