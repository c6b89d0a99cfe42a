//! From places to the files that matter there.
//!
//! Only names and metadata are looked at; what a file really holds is decided when it is read.
//! Nothing is fatal: what cannot be opened is listed, what is passed over has a reason.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::model::AgentId;
use crate::path_text;

/// One file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub agent: AgentId,
    pub path: PathBuf,
    pub kind: SourceKind,
    /// The agent's folder for one project, when the file stands in one.
    pub folder: Option<Arc<Path>>,
    pub size: u64,
    pub modified: Option<SystemTime>,
    /// When its metadata changed last, in nanoseconds since 1970, where the system records it.
    pub changed: Option<i64>,
    /// Which file it is, whatever its name, where the system can tell.
    pub inode: Option<u64>,
    /// What the archive knows of it; none for a file that was only found.
    pub archived: Option<Archived>,
}

/// A source's place in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    pub number: i64,
    /// Where it was read.
    pub machine: Arc<str>,
    pub state: SourceState,
}

/// What became of a file since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceState {
    Live,
    /// The agent, or somebody, deleted it.
    Gone,
    /// The agent wrote it anew, without something it held.
    Replaced,
}

impl SourceState {
    pub const ALL: [Self; 3] = [Self::Live, Self::Gone, Self::Replaced];

    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
        }
    }
}

impl Source {
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns whether it is on the disk, as far as the archive has seen.
    pub fn is_live(&self) -> bool {
        self.archived.as_ref().is_none_or(|archived| archived.state == SourceState::Live)
    }

    /// Returns whether the agent has written another file in its place.
    pub fn is_replaced(&self) -> bool {
        self.archived.as_ref().is_some_and(|archived| archived.state == SourceState::Replaced)
    }

    /// By which sources are put in one order, wherever and whenever they are read.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.path.clone(), self.modified, self.size)
    }

    /// The file name without its ending. No two names have the same, so that it can be an id.
    pub fn stem(&self) -> String {
        path_text::to_text(Path::new(self.path.file_stem().unwrap_or_default())).into_owned()
    }
}

/// What a file should be by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceKind {
    /// A conversation, or a file given by name, which its content must explain.
    Conversation,
    /// A conversation of an agent that another one started.
    Subagent,
    /// A job that ran by itself, such as skill extraction.
    Background,
    /// A history saved by hand (`/chat save`).
    SavedChat,
    /// A snapshot taken before a tool changed a file.
    Snapshot,
    /// What was typed, across sessions.
    PromptLog,
    /// Shell commands that were typed.
    ShellHistory,
    /// The full text of a long tool output.
    ToolOutput,
    Plan,
    /// A task of the task tracker.
    Task,
    /// What the agent noted about a session beside it.
    Note,
}

impl SourceKind {
    pub const ALL: [Self; 11] = [
        Self::Conversation,
        Self::Subagent,
        Self::Background,
        Self::SavedChat,
        Self::Snapshot,
        Self::PromptLog,
        Self::ShellHistory,
        Self::ToolOutput,
        Self::Plan,
        Self::Task,
        Self::Note,
    ];

    /// Returns whether the file holds a conversation of its own.
    pub fn is_session(self) -> bool {
        matches!(self, Self::Conversation | Self::Subagent | Self::Background)
    }

    /// Returns whether what it says is read, and not only kept.
    pub fn is_read(self) -> bool {
        self.is_session() || matches!(self, Self::SavedChat | Self::Snapshot | Self::PromptLog)
    }

    /// Returns whether people and models speak in it.
    pub fn is_text(self) -> bool {
        self.is_read() || self == Self::ShellHistory
    }

    /// Returns the word that the archive stores.
    pub fn key(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::SavedChat => "saved_chat",
            Self::Snapshot => "snapshot",
            Self::PromptLog => "prompt_log",
            Self::ShellHistory => "shell_history",
            Self::ToolOutput => "tool_output",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Note => "note",
        }
    }

    /// Returns what people call it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Conversation => "session",
            Self::Subagent => "subagent",
            Self::Background => "background job",
            Self::SavedChat => "saved chat",
            Self::Snapshot => "restore point",
            Self::PromptLog => "prompt log",
            Self::ShellHistory => "shell history",
            Self::ToolOutput => "tool output",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Note => "note",
        }
    }
}

/// A file or folder passed over on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    pub why: &'static str,
}

/// A place that could not be looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub what: String,
}

/// A place that was looked at, and why there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPlace {
    pub path: PathBuf,
    pub why: String,
    pub exists: bool,
}

/// All that was found.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    pub looked: Vec<SearchedPlace>,
    /// The agent's own folders, such as `~/.gemini`.
    pub roots: Vec<PathBuf>,
    pub sources: Vec<Source>,
    /// Paths of sources that a link led to.
    pub linked: BTreeSet<PathBuf>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

impl Discovery {
    /// Adds what was found in other places.
    pub fn add(&mut self, other: Self) {
        self.looked.extend(other.looked);
        self.roots.extend(other.roots);
        self.sources.extend(other.sources);
        self.linked.extend(other.linked);
        self.skipped.extend(other.skipped);
        self.problems.extend(other.problems);
    }

    /// Sorted by path and each file once, so that no order of looking changes any result.
    pub fn settle(&mut self) {
        self.looked.dedup();
        self.sources.sort_by(|a, b| a.path.cmp(&b.path));
        self.sources.dedup_by(|a, b| a.path == b.path);
        self.drop_aliases();
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.skipped.dedup();
        self.problems.sort_by(|a, b| a.path.cmp(&b.path));
        self.problems.dedup();
    }

    /// Keeps one source of a file that was found by several paths: the one that no link led to, or the
    /// first. Only links and places within each other can have that effect.
    fn drop_aliases(&mut self) {
        let places = self.looked.iter().filter(|looked| looked.exists).count();
        if places < 2 && self.linked.is_empty() {
            return;
        }
        let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
        let mut seen: HashSet<PathBuf> = HashSet::new();
        let (linked, own): (Vec<Source>, Vec<Source>) = std::mem::take(&mut self.sources)
            .into_iter()
            .partition(|source| self.linked.contains(&source.path));
        let is_first = |source: &Source| seen.insert(real_path(&source.path, &mut folders));
        self.sources = own.into_iter().chain(linked).filter(is_first).collect();
        self.sources.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// A path without links. Many files are in one folder, whose own path is looked up once.
fn real_path(path: &Path, folders: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    let is_link = || path.symlink_metadata().is_ok_and(|about| about.is_symlink());
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !is_link() => {
            let real = folders.entry(folder.to_owned());
            real.or_insert_with(|| canonical(or_here(folder))).join(name)
        }
        _ => canonical(path),
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The parent of a bare name is the current folder.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
