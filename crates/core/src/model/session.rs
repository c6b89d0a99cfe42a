//! Defines a session: one conversation, however many files contain it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::agent::AgentId;
use super::usage::Usage;
use crate::clean;
use crate::id::{SessionId, ToolCallId};
use crate::project::Project;

/// A session without the text of its messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// Identifies it among all sessions.
    pub id: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// Its kind.
    pub kind: SessionKind,
    /// The session that started this one.
    pub parent: Option<SessionId>,
    /// The tool call of the parent that started it.
    pub spawned_by: Option<ToolCallId>,
    /// The session that this one is a branch of.
    pub forked_from: Option<SessionId>,
    /// Its project.
    pub project: Arc<Project>,
    /// The worktree of its project's repository that it ran in.
    pub worktree: Option<String>,
    /// The git branch that it worked on last.
    pub branch: Option<String>,
    /// The time of its start.
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    /// The time of its last update.
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The agent's own one-line summary.
    pub summary: Option<String>,
    /// The ids of records at which it ended for a time, if it has no summary.
    pub ends: Vec<Box<str>>,
    /// The agents that it started, and the tool calls that did, if it is an agent itself.
    pub agents: Vec<Box<str>>,
    /// The first prompt; in a list of sessions, only its beginning as one line.
    pub first_prompt: Option<String>,
    /// The last prompt; absent in a list of sessions.
    pub last_prompt: Option<String>,
    /// The number of prompts and slash commands, each once.
    pub prompts: usize,
    /// The number of prompts, slash commands, shell escapes and replies.
    pub turns: usize,
    /// The number of messages that the agent would load.
    pub messages_current: usize,
    /// The number of all messages.
    pub messages_full: usize,
    /// The number of model calls.
    pub calls: usize,
    /// The number of tool calls.
    pub tool_calls: usize,
    /// The models that were called, sorted by name.
    pub models: Vec<String>,
    /// The tokens used.
    pub usage: Usage,
    /// The tokens of calls that no file records, as far as the agent reports them; not part of any total.
    pub unrecorded: Option<Usage>,
    /// The number of its subagents.
    pub subagents: usize,
    /// The files that contain it.
    pub parts: Vec<Part>,
    /// The state of its files.
    pub state: State,
    /// The number of faults in its files.
    pub faults: usize,
    /// The user's own name for it.
    pub name: Option<String>,
    /// The user's own tags.
    pub tags: Vec<String>,
    /// Whether the archive has all its bytes.
    pub captured: bool,
    /// The machine it was read on.
    pub machine: String,
}

impl Session {
    /// Returns a session with only these properties.
    pub fn new(id: SessionId, agent: AgentId, project: Arc<Project>) -> Self {
        Self {
            id,
            agent,
            kind: SessionKind::Main,
            parent: None,
            spawned_by: None,
            forked_from: None,
            project,
            worktree: None,
            branch: None,
            started: None,
            updated: None,
            summary: None,
            ends: Vec::new(),
            agents: Vec::new(),
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
            unrecorded: None,
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

    /// Returns its title, one line of at most 120 characters, and the source of the title.
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
            .unwrap_or_else(|| (self.id.to_string(), TitleFrom::Id))
    }

    /// Takes out its first and last prompt, which can be long. The beginning of the first one stays: as much of it
    /// as a list needs.
    pub(crate) fn take_prompts(&mut self) -> (Option<String>, Option<String>) {
        let first = self.first_prompt.take();
        let beginning = |text: &String| clean::one_line(text).take(BEGINNING).collect();
        self.first_prompt = first.as_ref().map(beginning);
        (first, self.last_prompt.take())
    }

    /// Returns whether its first prompt is a text, as far as lists have the prompt.
    pub(crate) fn begins_with(&self, text: &str) -> bool {
        let beginning = |text| clean::one_line(text).take(BEGINNING);
        let first = self.first_prompt.as_deref().filter(|first| !first.is_empty());
        first.is_some_and(|first| beginning(first).eq(beginning(text)))
    }

    /// Returns whether it is listed by default: a conversation with any content.
    pub fn is_listed(&self) -> bool {
        self.kind == SessionKind::Main && self.turns > 0 && self.state != State::LogOnly
    }
}

/// The length of the first prompt in lists, in characters. It is more than a title has, for filters.
const BEGINNING: usize = 500;

/// The longest title, in characters.
const LONGEST_TITLE: usize = 120;

/// Converts a text to one line, cut between words if it is too long.
fn headline(text: &str) -> String {
    let mut line = clean::one_line(text);
    let out: String = line.by_ref().take(LONGEST_TITLE).collect();
    if line.next().is_some() { cut(&out) } else { out }
}

/// Cuts a text to leave room for a mark; a word that fills half of it is split.
fn cut(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_TITLE - 1).map_or(text.len(), |(end, _)| end);
    let middle = text.char_indices().nth(LONGEST_TITLE / 2).map_or(0, |(middle, _)| middle);
    let gap = text[..end].rfind(' ').filter(|gap| *gap >= middle);
    format!("{}…", text[..gap.unwrap_or(end)].trim_end())
}

/// The kind of a session.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
pub enum SessionKind {
    /// A conversation with a person.
    #[default]
    Main,
    /// A session that another one started.
    Subagent,
    /// A job that ran by itself.
    Background,
    /// A saved chat, a restore point or a shared history, which repeats parts of a session.
    Checkpoint,
}

impl SessionKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Main, Self::Subagent, Self::Background, Self::Checkpoint];

    /// Returns the name for documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// The source of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleFrom {
    /// The user's own name.
    Name,
    /// The agent's summary.
    Summary,
    /// The first prompt.
    Prompt,
    /// The id.
    Id,
}

impl TitleFrom {
    /// Returns the name for documents.
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
    /// The path of the file.
    #[serde(with = "crate::path_text")]
    pub file: PathBuf,
    /// The time of its start.
    #[serde(with = "crate::time::stored")]
    pub started: Option<Timestamp>,
    /// The time of its last update.
    #[serde(with = "crate::time::stored")]
    pub updated: Option<Timestamp>,
    /// The reason why it belongs to the session.
    pub why: PartWhy,
}

/// The reason why a file is part of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartWhy {
    /// It is the first file.
    First,
    /// It continues after a compression that began a new file.
    Compress,
    /// It continues after a resume.
    Resume,
    /// It continues the session in another file, for no recorded reason.
    Continuation,
    /// It repeats messages of another part.
    Copy,
    /// It contains nothing but injected context, which a resume leaves behind.
    Stub,
    /// It contains messages that were imported from another session.
    Import,
}

impl PartWhy {
    /// Returns the name for documents.
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

/// The state of a session's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// A file still exists.
    Live,
    /// All files are gone, but the archive has them.
    Gone,
    /// Only prompt logs contain it; its own files are gone.
    LogOnly,
}

impl State {
    /// Returns the name for documents.
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
            prop_assert!(title.chars().count() <= LONGEST_TITLE);
            prop_assert_eq!(clean::line(&title), title.as_str());
            let words: String = text.chars().filter(|c| !clean::is_unsafe(*c) || c.is_whitespace()).collect();
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(words.starts_with(title.trim_end_matches('…')));
        }

        #[test]
        fn the_beginning_of_a_prompt_is_enough_for_its_title(text in "(\\PC|[ \n\t\r\u{1b}\u{202e}]){0,700}") {
            let project = Arc::new(Project { name: "p".into(), path: None, hash: None, dir: None, proof: crate::project::Proof::None });
            let mut session = Session::new("s".into(), AgentId::new("gemini"), project);
            session.first_prompt = Some(text.clone());
            session.last_prompt = Some(text.clone());
            let title = session.title();
            prop_assert_eq!(session.take_prompts(), (Some(text.clone()), Some(text)));
            prop_assert_eq!(session.title(), title);
            prop_assert!(session.first_prompt.unwrap().chars().count() <= BEGINNING);
        }
    }
}
