//! Writes the messages of a session as elements of a page.

use std::io::{self, Write};

use super::code::highlighted;
use super::image::Room;
use super::markdown::render;
use crate::clean;
use crate::export::document::{Agent, Document, Lines, buckets};
use crate::export::escape::html;
use crate::export::tool::{Headline, Section, SectionKind, headline, sections, short};
use crate::model::{Fate, Message, Session, Thought, ToolCall};
use crate::number::{bytes, count, plural};
use crate::transcript::{Block, BlockKind, blocks};

/// The place of a message among all messages of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(pub usize);

/// The number of messages that a browser lays out together in a page with all of them. Even one that is not laid out
/// takes time in every frame while the page scrolls, and there may be thousands.
const LEAF: usize = 25;

/// Writes some messages of a session, whose anchors are their places in it.
pub fn write_messages(
    document: &Document<'_>,
    places: &[Place],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut story = Story::new(document, out);
    story.places = places;
    story.session(document.session, document.messages)
}

pub(super) struct Story<'a> {
    document: &'a Document<'a>,
    /// The places of the session's messages; none if they are all of them.
    places: &'a [Place],
    out: &'a mut dyn Write,
    /// The number of agents between the session and the current messages.
    depth: usize,
    /// The number of agents written so far, for unique anchors.
    agents: usize,
    room: Room,
}

impl<'a> Story<'a> {
    pub(super) fn new(document: &'a Document<'a>, out: &'a mut dyn Write) -> Self {
        Self { document, places: &[], out, depth: 0, agents: 0, room: Room::default() }
    }

    pub(super) fn session(&mut self, session: &Session, messages: &[Message]) -> io::Result<()> {
        let mut options = self.document.blocks();
        // They are folded, so they do not get in the way.
        options.thoughts = true;
        let prefix = if self.depth == 0 { String::new() } else { format!("a{}-", self.agents) };
        let mut part = 0;
        let mut speaker = "";
        let has_leaves = self.depth == 0 && self.places.is_empty();
        let mut written = 0;
        for (n, message) in messages.iter().enumerate() {
            let blocks = blocks(std::slice::from_ref(message), &options);
            let Some(first) = blocks.first() else { continue };
            if has_leaves && written % LEAF == 0 {
                let end = if written > 0 { "</div>\n" } else { "" };
                writeln!(self.out, "{end}<div class=\"leaf\">")?;
            }
            written += 1;
            if message.part != part && session.parts.len() > 1 {
                part = message.part;
                let why = session.parts.get(part).map_or("", |part| part.why.name());
                let (n, of) = (part + 1, session.parts.len());
                writeln!(self.out, "<p class=\"mark\"><span>part {n} of {of}, {why}</span></p>")?;
            }
            let (class, who) = speaking(first);
            let is_new = who != speaker || message.kind.is_typed();
            speaker = who;
            let place = self.places.get(n).filter(|_| self.depth == 0).map_or(n, |place| place.0);
            let anchor = format!("{prefix}m{place}");
            self.open(&anchor, class, message)?;
            self.by_line(&anchor, who, is_new, message)?;
            self.blocks(message, &blocks)?;
            if self.document.options.tokens {
                self.tokens(message)?;
            }
            writeln!(self.out, "</article>")?;
        }
        if has_leaves && written > 0 {
            writeln!(self.out, "</div>")?;
        }
        if written == 0 {
            writeln!(self.out, "<p class=\"none\">Nothing was said by a person or the agent.</p>")?;
        }
        Ok(())
    }

    fn open(&mut self, anchor: &str, class: &str, message: &Message) -> io::Result<()> {
        let fate = match message.fate {
            Fate::Kept => String::new(),
            fate => format!(" gone {}", fate.name()),
        };
        writeln!(self.out, "<article id=\"{anchor}\" class=\"{class}{fate}\">")
    }

    /// Writes the author, the time and the fate. Consecutive messages of an agent name it once.
    fn by_line(
        &mut self,
        anchor: &str,
        who: &str,
        is_new: bool,
        message: &Message,
    ) -> io::Result<()> {
        let class = if is_new { "by" } else { "by again" };
        write!(self.out, "<p class=\"{class}\"><b>{}</b>", html(&clean::line(who)))?;
        if message.fate != Fate::Kept {
            write!(self.out, " <mark>{}</mark>", message.fate.name())?;
        }
        let at = message.at.map(|at| self.document.at(at)).unwrap_or_default();
        writeln!(
            self.out,
            "<button type=\"button\" class=\"copy\" hidden>copy</button>\
             <a class=\"at\" href=\"#{anchor}\"><span>#</span> {at}</a></p>"
        )
    }

    fn blocks(&mut self, message: &Message, blocks: &[Block<'_>]) -> io::Result<()> {
        let thoughts: Vec<&Thought> = blocks
            .iter()
            .filter_map(|block| match block.body {
                BlockKind::Thought(thought) => Some(thought),
                _ => None,
            })
            .collect();
        self.thoughts(&thoughts)?;
        for block in blocks {
            match &block.body {
                BlockKind::Thought(_) => {}
                BlockKind::You(text) => {
                    writeln!(self.out, "<div class=\"words\">{}</div>", render(text, Lines::Kept))?;
                    self.attachments(message)?;
                }
                BlockKind::Agent(text) => {
                    let text = render(text, Lines::Joined);
                    writeln!(self.out, "<div class=\"words\">{text}</div>")?;
                    self.attachments(message)?;
                }
                BlockKind::Tool { call, argument, .. } => self.tool(call, argument.as_deref())?,
                BlockKind::Notice(text) => {
                    let text = clean::block(text.trim());
                    writeln!(
                        self.out,
                        "<details class=\"notice\"><summary>{} <small>{}</small></summary>\
                         <pre tabindex=\"0\">{}</pre></details>",
                        message.kind.name().replace('_', " "),
                        bytes(text.len() as u64),
                        html(&text),
                    )?;
                }
                BlockKind::Error(text) => {
                    let text = clean::block(text.trim());
                    writeln!(
                        self.out,
                        "<pre class=\"error\" tabindex=\"0\">{}</pre>",
                        html(&text)
                    )?;
                }
                BlockKind::Compress => {
                    writeln!(
                        self.out,
                        "<p class=\"mark\"><span>the conversation was compressed here</span></p>"
                    )?;
                }
            }
        }
        Ok(())
    }

    fn thoughts(&mut self, thoughts: &[&Thought]) -> io::Result<()> {
        let Some(first) = thoughts.first() else { return Ok(()) };
        let subject = if first.subject.is_empty() { &first.description } else { &first.subject };
        let more = match thoughts.len() - 1 {
            0 => String::new(),
            more => format!(" <small>and {more} more</small>"),
        };
        writeln!(
            self.out,
            "<details class=\"thought\"><summary>{}{more}</summary>",
            html(&short(subject, 90))
        )?;
        for thought in thoughts {
            if !thought.subject.is_empty() {
                writeln!(self.out, "<h4>{}</h4>", html(&clean::line(&thought.subject)))?;
            }
            self.out.write_all(render(&thought.description, Lines::Joined).as_bytes())?;
        }
        writeln!(self.out, "</details>")
    }

    fn attachments(&mut self, message: &Message) -> io::Result<()> {
        if message.references.is_empty() && message.attachments.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "<ul class=\"files\">")?;
        for reference in &message.references {
            let path = clean::line(&reference.path).into_owned();
            let size = bytes(reference.bytes);
            writeln!(self.out, "<li><code>{}</code> <small>{size}</small></li>", html(&path))?;
        }
        for attachment in &message.attachments {
            let name = clean::line(attachment.name.as_deref().unwrap_or("attachment")).into_owned();
            let (name, mime) = (html(&name), clean::line(&attachment.mime).into_owned());
            let about = format!("{}, {}", html(&mime), bytes(attachment.bytes));
            match self.room.address(attachment) {
                Some(address) => writeln!(
                    self.out,
                    "<li class=\"picture\"><img src=\"{address}\" alt=\"{name}\" loading=\"lazy\">\
                     <small>{name}, {about}</small></li>"
                )?,
                None => {
                    writeln!(self.out, "<li><code>{name}</code> <small>{about}</small></li>")?;
                }
            }
        }
        writeln!(self.out, "</ul>")
    }

    fn tool(&mut self, call: &ToolCall, told: Option<&str>) -> io::Result<()> {
        let Headline { mark, state, label, argument, notes } =
            headline(call, told, self.document.folder());
        let mut line = format!("<i>{mark}</i><b>{}</b>", html(&label));
        if let Some(argument) = argument {
            line = format!("{line}<code>{}</code>", html(&argument));
        }
        for note in notes {
            line = format!("{line}<small>{note}</small>");
        }
        let sections = sections(call, told, self.document.options.tool_output);
        let agent = self.document.agent(call.agent_session.as_deref(), self.depth)?;
        if sections.is_empty() && agent.is_none() {
            return writeln!(self.out, "<p class=\"tool {state}\">{line}</p>");
        }
        writeln!(self.out, "<details class=\"tool {state}\"><summary>{line}</summary>")?;
        for section in &sections {
            self.section(section, sections.len() > 1)?;
        }
        if let Some(agent) = agent {
            self.agent(&agent)?;
        }
        writeln!(self.out, "</details>")
    }

    fn section(&mut self, section: &Section<'_>, named: bool) -> io::Result<()> {
        if named {
            writeln!(self.out, "<h4>{}</h4>", html(&section.title))?;
        }
        match section.kind {
            SectionKind::Diff => {
                write!(self.out, "<pre class=\"diff\" tabindex=\"0\">")?;
                let mut in_hunk = false;
                for line in section.text.lines() {
                    in_hunk |= line.starts_with("@@");
                    let class = match line.as_bytes().first() {
                        Some(b'@') if line.starts_with("@@") => "hunk",
                        _ if !in_hunk => "head",
                        Some(b'+') => "add",
                        Some(b'-') => "del",
                        _ => "same",
                    };
                    // The line end is inside, because otherwise there would be an empty line
                    // between two of them.
                    write!(self.out, "<span class=\"{class}\">{}\n</span>", html(line))?;
                }
                writeln!(self.out, "</pre>")
            }
            SectionKind::Error => {
                writeln!(
                    self.out,
                    "<pre class=\"error\" tabindex=\"0\">{}</pre>",
                    html(&section.text)
                )
            }
            SectionKind::Command => {
                writeln!(
                    self.out,
                    "<pre tabindex=\"0\">{}</pre>",
                    highlighted(section.text.trim_end(), "sh")
                )
            }
            SectionKind::Text => {
                writeln!(self.out, "<pre tabindex=\"0\">{}</pre>", html(section.text.trim_end()))
            }
        }
    }

    fn agent(&mut self, agent: &Agent) -> io::Result<()> {
        match agent {
            Agent::Elsewhere(file) => writeln!(
                self.out,
                "<p class=\"agent-link\"><a href=\"{}\">What the agent did</a></p>",
                html(file)
            ),
            Agent::Here(of) => {
                let (session, messages) = &**of;
                writeln!(
                    self.out,
                    "<section class=\"agent\"><h4>What the agent did <small>{}, {} tokens</small></h4>",
                    plural(session.tool_calls as u64, "tool call", "tool calls"),
                    count(session.usage.total()),
                )?;
                self.agents += 1;
                self.depth += 1;
                self.session(session, messages)?;
                self.depth -= 1;
                writeln!(self.out, "</section>")
            }
        }
    }

    fn tokens(&mut self, message: &Message) -> io::Result<()> {
        let Some(usage) = &message.usage else { return Ok(()) };
        let parts = buckets(usage);
        let parts: Vec<String> =
            parts.iter().map(|(name, tokens)| format!("{} {name}", count(*tokens))).collect();
        let cost = self.document.cost_of(message).map(|cost| format!(", {cost}"));
        writeln!(
            self.out,
            "<p class=\"tokens\">{} tokens: {}{}</p>",
            count(usage.total()),
            parts.join(", "),
            cost.unwrap_or_default()
        )
    }
}

/// Returns the style class of a message and its author.
fn speaking<'a>(block: &Block<'a>) -> (&'static str, &'a str) {
    let message = block.message;
    match block.body {
        BlockKind::You(_) => ("you", "You"),
        BlockKind::Error(_) => ("failure", "Error"),
        BlockKind::Notice(_) | BlockKind::Compress => ("aside", ""),
        _ => ("agent", message.model.as_deref().unwrap_or("Agent")),
    }
}
