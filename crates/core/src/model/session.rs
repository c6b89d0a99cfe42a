//! One conversation, however many files it is spread over.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use super::agent::AgentId;
use super::usage::Usage;
use crate::clean;
use crate::project::Project;

/// A session without the text of its messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub agent: AgentId,
    pub kind: SessionKind,
    /// The session that started this one.
    pub parent: Option<String>,
    /// The tool call of the parent that started it.
    pub spawned_by: Option<String>,
    /// The session that this one is a branch of.
    pub forked_from: Option<String>,
    pub project: Arc<Project>,
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The agent's own one-line summary.
    pub summary: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    /// Messages of kind prompt and slash, each once.
    pub prompts: usize,
    /// Prompts, slash commands, shell escapes and replies.
    pub turns: usize,
    pub messages_current: usize,
    pub messages_full: usize,
    pub calls: usize,
    pub tool_calls: usize,
    /// Sorted by name.
    pub models: Vec<String>,
    pub usage: Usage,
    pub subagents: usize,
    pub parts: Vec<Part>,
    pub state: State,
    pub faults: usize,
    /// What the user calls it.
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// Whether the archive holds all its bytes.
    pub captured: bool,
    /// Where it was read.
    pub machine: String,
}

impl Session {
    /// A session of which nothing else is known yet.
    pub fn new(id: String, agent: AgentId, project: Arc<Project>) -> Self {
        Self {
            id,
            agent,
            kind: SessionKind::Main,
            parent: None,
            spawned_by: None,
            forked_from: None,
            project,
            started: None,
            updated: None,
            summary: None,
            first_prompt: None,
            last_prompt: None,
            prompts: 0,
            turns: 0,
            messages_current: 0,
            messages_full: 0,
            calls: 0,
            tool_calls: 0,
            models: Vec::new(),
            usage: Usage::default(),
            subagents: 0,
            parts: Vec::new(),
            state: State::Live,
            faults: 0,
            name: None,
            tags: Vec::new(),
            captured: false,
            machine: String::new(),
        }
    }

    /// Returns what to call it and how that was chosen: one line of at most 120 characters.
    pub fn title(&self) -> (String, TitleFrom) {
        let chosen = [
            (self.name.as_deref(), TitleFrom::Name),
            (self.summary.as_deref(), TitleFrom::Summary),
            (self.first_prompt.as_deref(), TitleFrom::Prompt),
        ];
        chosen
            .into_iter()
            .map(|(text, from)| (headline(text.unwrap_or_default()), from))
            .find(|(title, _)| !title.is_empty())
            .unwrap_or_else(|| (self.id.clone(), TitleFrom::Id))
    }

    /// Returns whether it belongs into a list that nobody narrowed: a conversation in which something was
    /// said.
    pub fn is_listed(&self) -> bool {
        self.kind == SessionKind::Main && self.turns > 0 && self.state != State::LogOnly
    }
}

/// The longest title, in characters.
const LONGEST: usize = 120;

/// Makes a text one line, the end cut off between words where it is too long.
fn headline(text: &str) -> String {
    let mut line = clean::one_line(text);
    let out: String = line.by_ref().take(LONGEST).collect();
    if line.next().is_some() { cut(&out) } else { out }
}

/// Cuts a text that is as long as a title, so that a mark has room; a word that fills half of it is cut in two.
fn cut(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST - 1).map_or(text.len(), |(end, _)| end);
    let middle = text.char_indices().nth(LONGEST / 2).map_or(0, |(middle, _)| middle);
    let gap = text[..end].rfind(' ').filter(|gap| *gap >= middle);
    format!("{}…", text[..gap.unwrap_or(end)].trim_end())
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
pub enum SessionKind {
    #[default]
    Main,
    Subagent,
    /// A job that ran by itself.
    Background,
    /// A saved chat, a restore point or a shared history: it repeats what a session did.
    Checkpoint,
}

impl SessionKind {
    pub const ALL: [Self; 4] = [Self::Main, Self::Subagent, Self::Background, Self::Checkpoint];

    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::Checkpoint => "checkpoint",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleFrom {
    Name,
    Summary,
    Prompt,
    Id,
}

impl TitleFrom {
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Summary => "summary",
            Self::Prompt => "prompt",
            Self::Id => "id",
        }
    }
}

/// One file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    #[serde(with = "crate::path_text")]
    pub file: PathBuf,
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    pub why: PartWhy,
}

/// Why a file is part of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartWhy {
    First,
    /// It goes on after a compression that began a new file.
    Compress,
    /// It goes on after a resume.
    Resume,
    Continuation,
    /// It repeats messages of another part.
    Copy,
    /// Nothing but injected context: what a resume leaves behind.
    Stub,
    /// It holds messages that were imported from another session.
    Import,
}

impl PartWhy {
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Compress => "compress",
            Self::Resume => "resume",
            Self::Continuation => "continuation",
            Self::Copy => "copy",
            Self::Stub => "stub",
            Self::Import => "import",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Live,
    /// Its files are gone; the archive has it.
    Gone,
    /// Known only from the log of prompts: its own files are gone.
    LogOnly,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::LogOnly => "log-only",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn titles_end_between_words() {
        assert_eq!(headline("  fix\n\tthe \u{1b}[31mlogin  "), "fix the [31mlogin");
        let short = "word ".repeat(24);
        assert_eq!(headline(&short), short.trim());
        assert_eq!(headline(&"word ".repeat(25)), format!("{}…", "word ".repeat(23).trim()));
        assert_eq!(headline(&"x".repeat(500)), format!("{}…", "x".repeat(119)));
        assert_eq!(
            headline(&format!("see {}", "é".repeat(500))),
            format!("see {}…", "é".repeat(115))
        );
        assert_eq!(headline(" \n "), "");
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(text in "(\\PC|[ \n\t\r\u{1b}\u{202e}]){0,300}") {
            let title = headline(&text);
            prop_assert!(title.chars().count() <= LONGEST);
            prop_assert_eq!(clean::line(&title), title.as_str());
            let words: String = text.chars().filter(|c| !clean::is_unsafe(*c) || c.is_whitespace()).collect();
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(words.starts_with(title.trim_end_matches('…')));
        }
    }
}
